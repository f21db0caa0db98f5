#include "tuner/service/farm/farm_executor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/frontends/frontends.h"
#include "rpc/identity/credentials.h"
#include "tuner/measure/farm_runner.h"
#include "tuner/measure/fleet_runner.h"
#include "tuner/service/farm/farm_devices.h"
#include "tuner/service/farm/network_calls.h"
#include "tuner/service/farm/network_tasks.h"
#include "tuner/service/farm/run_limit.h"
#include "tuner/service/jobs/job_access.h"

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
  needs.threads = spec.threads();
  needs.selector = spec.selector();
  return needs;
}

absl::StatusOr<session::SessionOptions> options_of(const JobSpec& spec, int64_t job_id) {
  TF_ASSIGN_OR_RETURN(session::SessionOptions options, session_options(spec, job_id, spec.device_key()));
  TF_RETURN_IF_ERROR(check_measurable(options.target));
  return options;
}

// The models of all users are in one folder.
frontends::NetworkRequest request_of(const JobSpec& spec) {
  frontends::NetworkRequest request = network_request(spec);
  request.options.reads_external_data = false;
  return request;
}

// Why the tuner holds a slot, for those who list the farm's.
std::string purpose_of(const database::Job& job) {
  return printable(absl::StrCat("job ", job.id, " (", job.model_name, ")"));
}

}  // namespace

absl::Status FarmExecutor::check(const JobSpec& spec) {
  TF_ASSIGN_OR_RETURN(const session::SessionOptions options, options_of(spec, 0));
  const DeviceNeeds needs = needs_of(spec, options.target);
  TF_ASSIGN_OR_RETURN(const FarmView farm,
                      look_at_farm(options_.tracker, options_.credentials, spec.device_key(), needs));
  return check_farm(farm, spec.device_key(), options.target, needs);
}

absl::Status FarmExecutor::check_model(const database::Job& job, const JobSpec& spec) {
  TF_ASSIGN_OR_RETURN(const session::SessionOptions options, options_of(spec, 0));
  return by_its_name(job, network_tasks(job.model_path, options.target, request_of(spec)).status());
}

absl::StatusOr<SlotSupply> FarmExecutor::look(const JobSpec& spec, const std::string& person) {
  TF_ASSIGN_OR_RETURN(const session::SessionOptions options, options_of(spec, 0));
  const std::string user = options_.credentials ? options_.credentials->identity().name
                                                : options_.holder.substr(0, options_.holder.find(':'));
  TF_ASSIGN_OR_RETURN(const std::vector<FarmSlot> slots,
                      look_at_slots(options_.tracker, options_.credentials, spec.device_key(),
                                    needs_of(spec, options.target), {options_.holder, user, person}));
  return supply_of(slots, spec.device_key());
}

absl::StatusOr<std::unique_ptr<measure::FleetRunner>> FarmExecutor::lease(const Asked& asked,
                                                                          const DeviceNeeds& needs,
                                                                          const measure::FleetTarget& target,
                                                                          const RunReports& reports) const {
  measure::FarmRunnerOptions one{.tracker = options_.tracker,
                                 .credentials = options_.credentials,
                                 .device_key = asked.spec.device_key(),
                                 .arch = needs.arch,
                                 .cpu_features = needs.cpu_features,
                                 .gpu = needs.gpu,
                                 .min_threads = needs.threads,
                                 .selector = needs.selector,
                                 .priority = asked.spec.priority(),
                                 .holder = options_.holder,
                                 .run_number = options_.run_number,
                                 .on_behalf_of = person_of(asked.job.submitter),
                                 .purpose = purpose_of(asked.job),
                                 .one_lease = true};
  measure::FleetOptions fleet;
  fleet.open = [one](absl::Duration wait, const std::function<void(const std::string&)>& on_wait)
      -> absl::StatusOr<std::unique_ptr<measure::LeasedRunner>> {
    measure::FarmRunnerOptions options = one;
    options.first_wait = wait;
    options.on_wait = on_wait;
    return measure::FarmRunner::connect(std::move(options));
  };
  fleet.first_wait = kDeviceWait;
  fleet.target = target;
  fleet.on_wait = reports.waits;
  fleet.on_slots = [reports](const std::vector<measure::LeasedDevice>& devices) {
    std::vector<std::string> names;
    for (const measure::LeasedDevice& device : devices) names.push_back(device.slot_name());
    reports.slots(names);
  };
  return measure::FleetRunner::connect(std::move(fleet));
}

// A GPU's candidates are compared with what the CPU beside it computes.
absl::Status FarmExecutor::set_references(const JobSpec& spec, session::SessionOptions& options) const {
  const DeviceNeeds needs = needs_of(spec, options.target);
  if (needs.gpu.empty()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const FarmView farm,
                      look_at_farm(options_.tracker, options_.credentials, spec.device_key(), needs));
  TF_RETURN_IF_ERROR(check_farm(farm, spec.device_key(), options.target, needs));
  TF_ASSIGN_OR_RETURN(options.reference_target, target::parse_target(target_of_machine(farm.device->arch)));
  return absl::OkStatus();
}

absl::StatusOr<session::Progress> FarmExecutor::run(const database::Job& job, const JobSpec& spec,
                                                    Allotment& allotment, const std::atomic<bool>& stop,
                                                    const RunReports& reports) {
  TF_ASSIGN_OR_RETURN(session::SessionOptions options, options_of(spec, job.id));
  TF_ASSIGN_OR_RETURN(const NetworkPlan plan,
                      plan_of_network(job.model_path, options.target, options.threads, request_of(spec)));
  // Who looks at the job when it is over, and its model gone, sees what it was.
  TF_RETURN_IF_ERROR(store_.save_job_network(job.id, to_json(plan.calls)));
  TF_RETURN_IF_ERROR(set_references(spec, options));
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<measure::FleetRunner> runner,
                      lease({job, spec}, needs_of(spec, options.target), allotment.get(), reports));
  RunLimit limit(stop, *runner, limits_of_minutes(spec.minutes()));
  session::Progress last;
  measure::TrialTally uncounted;
  measure::CountedRunner counted(*runner, options_.tally ? *options_.tally : uncounted);
  const std::unique_ptr<driver::Builder> builder = builder_.share();
  allotment.follow([&runner](const measure::FleetTarget& target) { runner->set_target(target); });
  absl::StatusOr<session::Progress> result = session::tune(plan.tasks, options, *builder, counted, store_,
                                                           stop, [&](const session::Progress& progress) {
                                                             last = progress;
                                                             reports.progress(progress);
                                                           });
  allotment.follow(nullptr);
  if (!absl::IsCancelled(result.status()) || !limit.ended_by_budget()) return result;
  // No device came back: what was measured is the result.
  if (last.trials() > 0) return last;
  const absl::StatusOr<SlotSupply> supply = look(spec, person_of(job.submitter));
  return absl::DeadlineExceededError(
      absl::StrCat("no trial finished, and no device returned: ",
                   supply.ok() ? supply->why_none : std::string(supply.status().message())));
}

}  // namespace tf::service
