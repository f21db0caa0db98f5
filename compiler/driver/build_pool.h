#pragma once
// Owns: the parent's side of build workers: child processes in which LLVM and lld run, limited in time and
// memory, so that no candidate can take the parent down. Does not know: what is in a request; search; where
// artifacts run.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compiler/driver/builder.h"

namespace tf::driver {

struct BuildPoolOptions {
  int workers = 1;
  std::vector<int> cpus;    // CPUs that workers stay on; empty: those of whoever starts them
  std::string worker_path;  // empty: `build_worker` beside the running executable
  absl::Duration timeout = absl::Seconds(30);  // of one kernel, by the parent's clock
  absl::Duration link_timeout =
      absl::Minutes(10);                    // of one model: hundreds of megabytes may go to a slow disk
  int64_t memory_bytes = int64_t{4} << 30;  // address space of one worker
};

// Thread-safe. Children are started on first use and again after a crash; they end with the pool.
//
// build() waits while all workers are busy. A worker that crashes, or that is killed at the timeout,
// gives a reply with that code (ABORTED, DEADLINE_EXCEEDED) and message: a property of the request, like
// any other reply whose code is not 0. A status means that no worker could be asked: UNAVAILABLE, or
// CANCELLED after cancel(), which kills running builds. pause() stops every worker where it is; time goes on counting against
// the builds' limits.
class BuildPool : public Builder {
 public:
  // NOT_FOUND if there is no worker program.
  static absl::StatusOr<std::unique_ptr<BuildPool>> create(BuildPoolOptions options);
};

}  // namespace tf::driver
