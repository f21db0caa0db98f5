#include "tuner/cli/job_text.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "tuner/cli/progress_text.h"

namespace tf::tuner_cli {

namespace {

nlohmann::json to_json(const service::JobView& view) {
  nlohmann::json out = {{"job", view.job.id},
                        {"state", database::job_state_name(view.job.state)},
                        {"detail", view.job.detail},
                        {"model", view.job.model_name},
                        {"model_digest", view.job.model_digest},
                        {"target", view.job.target},
                        {"device", view.job.device},
                        {"submitter", view.job.submitter},
                        {"trials", view.trials},
                        {"created_unix_ns", view.job.created_unix_ns},
                        {"started_unix_ns", view.job.started_unix_ns},
                        {"finished_unix_ns", view.job.finished_unix_ns}};
  // What it was asked for; who wrote a job of long ago may have said nothing of it.
  if (const absl::StatusOr<service::JobSpec> spec = service::job_spec_from_json(view.job.options);
      spec.ok()) {
    out["selector"] = spec->selector;
    out["priority"] = spec->priority;
    out["threads"] = spec->threads;
    out["allow"] = spec->allowed_numerics;
    out["budget"] = {{"trials", spec->trials},
                     {"minutes", spec->minutes},
                     {"until_gain_percent", spec->until_gain_percent}};
  }
  if (view.progress) out["progress"] = nlohmann::json::parse(progress_json(*view.progress, 0));
  return out;
}

}  // namespace

std::string job_json(const service::JobView& view) {
  return json_text(to_json(view));
}

std::string change_json(const service::JobView& view) {
  nlohmann::json out = to_json(view);
  out["unchanged"] = view.unchanged;
  return json_text(out);
}

std::string change_text(const service::JobView& view, const std::string& then) {
  const std::string state(database::job_state_name(view.job.state));
  if (view.unchanged) return absl::StrCat("job ", view.job.id, " is ", state, " already");
  if (view.job.state == database::JobState::kRunning)
    return absl::StrCat("job ", view.job.id, " finishes what it is measuring, then ", then);
  return absl::StrCat("job ", view.job.id, " is ", state);
}

}  // namespace tf::tuner_cli
