#pragma once
// Owns: watching a job of a running tuner until it ends, and the exit code that its end means. Does not know:
// other commands.

#include <cstdint>
#include <string>

#include "tuner/service/grpc/job_client.h"

namespace tf::tuner_cli {

struct FollowOptions {
  bool json = false;
  std::string server;  // the tuner's HOST:PORT
  std::string again;   // the command that shows the job again
};

// Shows the job's progress until it is final, and says on stderr when the tuner does not answer, for which it
// waits a minute, and when it does again. The first Ctrl-C leaves the job to the tuner, says how it can be
// seen again, and exits 130. Otherwise: 0 done, 3 no matching device, 1 failed or cancelled.
int follow_job(service::JobClient& client, int64_t id, const FollowOptions& options);

}  // namespace tf::tuner_cli
