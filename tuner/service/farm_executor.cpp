#include "tuner/service/farm_executor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "tuner/measure/farm_runner.h"
#include "tuner/service/farm_devices.h"
#include "tuner/service/job_access.h"
#include "tuner/service/network_tasks.h"
#include "tuner/service/run_limit.h"

namespace tf::service {
namespace {

// A queue slot is better used by trying again than by waiting for a device.
constexpr absl::Duration kDeviceWait = absl::Seconds(10);

// People know their network by its name, not by where it is kept.
absl::Status by_its_name(const database::Job& job, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrReplaceAll(status.message(), {{job.model_path, job.model_name}}));
}

DeviceNeeds needs_of(const JobSpec& spec, const target::Target& target) {
  DeviceNeeds needs = service::needs_of(target);
  needs.threads = static_cast<uint32_t>(spec.threads);
  needs.selector = spec.selector;
  return needs;
}

absl::StatusOr<session::SessionOptions> options_of(const JobSpec& spec, int64_t job_id) {
  TF_ASSIGN_OR_RETURN(session::SessionOptions options, session_options(spec, job_id, spec.device_key));
  TF_RETURN_IF_ERROR(check_measurable(options.target));
  return options;
}

}  // namespace

absl::Status FarmExecutor::check(const JobSpec& spec) {
  TF_ASSIGN_OR_RETURN(const session::SessionOptions options, options_of(spec, 0));
  const DeviceNeeds needs = needs_of(spec, options.target);
  TF_ASSIGN_OR_RETURN(const FarmView farm,
                      look_at_farm(options_.tracker, options_.credentials, spec.device_key, needs));
  return check_farm(farm, spec.device_key, options.target, needs);
}

absl::Status FarmExecutor::check_model(const database::Job& job, const JobSpec& spec) {
  TF_ASSIGN_OR_RETURN(const session::SessionOptions options, options_of(spec, 0));
  return by_its_name(job, network_tasks(job.model_path, options.target, spec.dims).status());
}

absl::StatusOr<session::Progress> FarmExecutor::run(const database::Job& job, const JobSpec& spec,
                                                    const std::atomic<bool>& stop,
                                                    const RunReports& reports) {
  TF_ASSIGN_OR_RETURN(session::SessionOptions options, options_of(spec, job.id));
  TF_ASSIGN_OR_RETURN(NetworkTasks network, network_tasks(job.model_path, options.target, spec.dims));
  const std::vector<session::Task>& tasks = network.tasks;
  options.flips = std::move(network.flips);
  DeviceNeeds needs = needs_of(spec, options.target);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<measure::FarmRunner> runner,
                      measure::FarmRunner::connect({.tracker = options_.tracker,
                                                    .credentials = options_.credentials,
                                                    .device_key = spec.device_key,
                                                    .arch = std::move(needs.arch),
                                                    .cpu_features = std::move(needs.cpu_features),
                                                    .min_threads = needs.threads,
                                                    .selector = std::move(needs.selector),
                                                    .priority = spec.priority,
                                                    .holder = options_.holder,
                                                    .run_number = options_.run_number,
                                                    .on_behalf_of = person_of(job.submitter),
                                                    .first_wait = kDeviceWait,
                                                    .on_wait = reports.waits}));
  RunLimits limits;
  if (spec.minutes > 0) limits.budget = absl::Minutes(spec.minutes);
  RunLimit limit(stop, *runner, limits);
  session::Progress last;
  measure::TrialTally uncounted;
  measure::CountedRunner counted(*runner, options_.tally ? *options_.tally : uncounted);
  const std::unique_ptr<measure::Builder> builder = builder_.share();
  absl::StatusOr<session::Progress> result =
      session::tune(tasks, options, *builder, counted, store_, stop, [&](const session::Progress& progress) {
        last = progress;
        reports.progress(progress);
      });
  if (!absl::IsCancelled(result.status()) || !limit.ended_by_budget()) return result;
  // The time is over, and the device of the last trials stays away: what was measured is the result.
  if (last.trials > 0) return last;
  return absl::DeadlineExceededError(absl::StrCat("nothing was measured in ", spec.minutes,
                                                  " minutes: the device with the key \"", spec.device_key,
                                                  "\" stays away; see `tracker devices`"));
}

}  // namespace tf::service
