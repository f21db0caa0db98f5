#include "tuner/session/session.h"

#include "base/status.h"
#include "tuner/session/loop/tuning_loop.h"

namespace tf::session {

absl::StatusOr<Progress> tune(const std::vector<Task>& tasks, const SessionOptions& options,
                              driver::Builder& builder, measure::Runner& runner, database::Store& store,
                              const std::atomic<bool>& stop,
                              const std::function<void(const Progress&)>& report) {
  if (tasks.empty()) return absl::InvalidArgumentError("nothing to tune: the network has no tunable kernel");
  TuningLoop loop(tasks, options, builder, runner, store, report);
  const auto run = [&]() -> absl::StatusOr<Progress> {
    TF_RETURN_IF_ERROR(loop.prepare(tasks, stop));
    return loop.run(stop);
  };
  absl::StatusOr<Progress> progress = run();
  // Who stops or fails waits for no calibration kernel that is still being built. After any other end the
  // caller goes on with the builder.
  if ((stop || !progress.ok()) && loop.is_calibrating()) builder.cancel();
  return progress;
}

}  // namespace tf::session
