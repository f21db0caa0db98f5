#pragma once
// Owns: watching a job of a running tuner until it ends, and the exit code that its end means. Does not know:
// other commands.

#include <cstdint>
#include <string>

#include "tuner/service/job_client.h"

namespace tf::tuner_cli {

// Shows the job's progress until it is final. The first Ctrl-C leaves the job to the tuner, says that it can
// be seen again with the command `again`, and exits 130. Otherwise: 0 done, 3 no matching device, 1 failed or
// cancelled.
int follow_job(service::JobClient& client, int64_t id, bool json, const std::string& again);

}  // namespace tf::tuner_cli
