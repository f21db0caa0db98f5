#include "tuner/service/farm_executor.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "tuner/measure/farm_runner.h"
#include "tuner/service/farm_devices.h"
#include "tuner/service/network_tasks.h"

namespace tf::service {
namespace {

// A queue slot is better used by trying again than by waiting for a device.
constexpr absl::Duration kDeviceWait = absl::Seconds(10);
// What a drain gives the trials under way; a trial whose farm is away never ends by itself.
constexpr absl::Duration kDrainGrace = absl::Seconds(30);

// People know their network by its name, not by where it is kept.
absl::Status by_its_name(const database::Job& job, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrReplaceAll(status.message(), {{job.model_path, job.model_name}}));
}

// Cancels the runner when a stop has not been obeyed for kDrainGrace.
class DrainLimit {
 public:
  DrainLimit(const std::atomic<bool>& stop, measure::Runner& runner)
      : thread_([this, &stop, &runner] { watch(stop, runner); }) {}
  ~DrainLimit() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void watch(const std::atomic<bool>& stop, measure::Runner& runner) {
    std::unique_lock lock(mutex_);
    absl::Time limit = absl::InfiniteFuture();
    while (!over_) {
      if (stop && limit == absl::InfiniteFuture()) limit = absl::Now() + kDrainGrace;
      if (absl::Now() >= limit) return runner.cancel();
      changed_.wait_for(lock, std::chrono::milliseconds(200));
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace

absl::Status FarmExecutor::check(const database::Job& job, const JobSpec& spec) {
  TF_ASSIGN_OR_RETURN(session::SessionOptions options, session_options(spec, 0, spec.device_key));
  const absl::Status network = network_tasks(job.model_path, options.target, spec.dims).status();
  if (!network.ok()) return by_its_name(job, network);
  TF_ASSIGN_OR_RETURN(std::vector<FarmDevice> devices, farm_devices(options_.tracker));
  return check_farm(devices, spec.device_key, options.target);
}

absl::StatusOr<session::Progress> FarmExecutor::run(
    const database::Job& job, const JobSpec& spec, const std::atomic<bool>& stop,
    const std::function<void(const session::Progress&)>& report) {
  TF_ASSIGN_OR_RETURN(session::SessionOptions options, session_options(spec, job.id, spec.device_key));
  TF_ASSIGN_OR_RETURN(std::vector<session::Task> tasks,
                      network_tasks(job.model_path, options.target, spec.dims));
  DeviceNeeds needs = needs_of(options.target);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<measure::FarmRunner> runner,
                      measure::FarmRunner::connect({.tracker = options_.tracker,
                                                    .device_key = spec.device_key,
                                                    .arch = std::move(needs.arch),
                                                    .cpu_features = std::move(needs.cpu_features),
                                                    .min_threads = static_cast<uint32_t>(spec.threads),
                                                    .holder = options_.holder,
                                                    .first_wait = kDeviceWait}));
  DrainLimit limit(stop, *runner);
  return session::tune(tasks, options, builder_, *runner, store_, stop, report);
}

}  // namespace tf::service
