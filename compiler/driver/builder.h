#pragma once
// Owns: the interface of what compiles kernels and links models by request. Implementations: BuildPool (build workers in
// child processes), the tuner's SharedBuilder. Does not know: search, or where artifacts run.

#include "absl/status/statusor.h"

namespace tunefarm::kernel::v1 {
class BuildReply;
class BuildRequest;
}  // namespace tunefarm::kernel::v1

namespace tf::driver {

// Thread-safe. build() blocks; to keep N workers busy, call it from N threads.
class Builder {
 public:
  virtual ~Builder() = default;

  // A reply with code != 0 is a property of the request (compile_error), to be recorded; a status means "could not
  // build" (a worker that could not start) and may be retried. Requests name no files, so the builder may be on another
  // machine.
  virtual absl::StatusOr<tunefarm::kernel::v1::BuildReply> build(
      const tunefarm::kernel::v1::BuildRequest& request) = 0;

  // How many build() calls make progress at the same time; at least 1.
  virtual int slots() const = 0;

  // Holds building up, here and now, and lets it go on: for measuring on CPUs that builders use too. Neither
  // waits.
  virtual void pause() {}
  virtual void resume() {}

  // Makes running and later build() calls return CANCELLED soon.
  virtual void cancel() = 0;
};

}  // namespace tf::driver
