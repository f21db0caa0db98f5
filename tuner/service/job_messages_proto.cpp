#include "tuner/service/job_messages_proto.h"

namespace tf::service {

namespace pb = tunefarm::tune::v1;

pb::JobSpec to_proto(const JobSpec& spec) {
  pb::JobSpec out;
  out.set_model_name(spec.model_name);
  out.set_target(spec.target);
  out.set_device_key(spec.device_key);
  out.set_selector(spec.selector);
  out.set_priority(spec.priority);
  out.set_slots(static_cast<uint32_t>(spec.slots));
  out.set_threads(static_cast<uint32_t>(spec.threads));
  out.set_trials(spec.trials);
  out.set_minutes(spec.minutes);
  out.set_until_gain_percent(spec.until_gain_percent);
  for (const std::string& name : spec.allowed_numerics) out.add_allowed_numerics(name);
  out.mutable_dims()->insert(spec.dims.begin(), spec.dims.end());
  out.set_seed(spec.seed);
  out.set_strategy(spec.strategy);
  return out;
}

JobSpec from_proto(const pb::JobSpec& spec) {
  JobSpec out;
  out.model_name = spec.model_name();
  out.target = spec.target();
  out.device_key = spec.device_key();
  out.selector = spec.selector();
  out.priority = spec.priority();
  out.slots = static_cast<int>(spec.slots());
  out.threads = static_cast<int>(spec.threads());
  out.trials = spec.trials();
  out.minutes = spec.minutes();
  out.until_gain_percent = spec.until_gain_percent();
  out.allowed_numerics.assign(spec.allowed_numerics().begin(), spec.allowed_numerics().end());
  out.dims.insert(spec.dims().begin(), spec.dims().end());
  out.seed = spec.seed();
  if (!spec.strategy().empty()) out.strategy = spec.strategy();
  return out;
}

pb::JobUpdate to_proto(const JobView& view) {
  pb::JobUpdate out;
  out.set_job_id(view.job.id);
  out.set_state(static_cast<pb::JobState>(view.job.state));  // the numbers are the same
  out.set_detail(view.job.detail);
  out.set_status_code(view.job.status_code);
  if (absl::StatusOr<JobSpec> spec = job_spec_from_json(view.job.options); spec.ok()) {
    *out.mutable_spec() = to_proto(*spec);
  }
  out.mutable_spec()->set_model_name(view.job.model_name);
  out.set_model_digest(view.job.model_digest);
  out.set_created_unix_ns(view.job.created_unix_ns);
  out.set_started_unix_ns(view.job.started_unix_ns);
  out.set_finished_unix_ns(view.job.finished_unix_ns);
  out.set_trials(view.trials);
  out.set_submitter(view.job.submitter);
  *out.mutable_slots() = {view.slots.begin(), view.slots.end()};
  out.set_unchanged(view.unchanged);
  if (view.progress) *out.mutable_progress() = *view.progress;
  return out;
}

}  // namespace tf::service
