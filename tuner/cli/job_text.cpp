#include "tuner/cli/job_text.h"

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/cli/age_text.h"
#include "base/cli/counted.h"
#include "base/cli/text_table.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "tuner/cli/progress_text.h"

namespace tf::tuner_cli {

namespace {

using service::state_of;

std::string state_name(const service::JobUpdate& job) {
  return std::string(database::job_state_name(state_of(job)));
}

// As {"batch": [1, 64, 1]}: from, to, multiples of.
nlohmann::json open_dims_json(const tunefarm::tune::v1::JobSpec& spec) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& dim : spec.open_dims()) out[dim.name()] = {dim.least(), dim.most(), dim.multiple_of()};
  return out;
}

nlohmann::json anchors_json(const tunefarm::tune::v1::JobSpec& spec) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& anchor : spec.anchors())
    out.push_back(std::map<std::string, int64_t>(anchor.sizes().begin(), anchor.sizes().end()));
  return out;
}

nlohmann::json to_json(const service::JobUpdate& job) {
  const tunefarm::tune::v1::JobSpec& spec = job.spec();
  nlohmann::json out = {
      {"job", job.job_id()},
      {"state", state_name(job)},
      {"detail", job.detail()},
      {"model", spec.model_name()},
      {"model_digest", job.model_digest()},
      {"target", spec.target()},
      {"device", spec.device_key()},
      {"slots", std::vector<std::string>(job.slots().begin(), job.slots().end())},
      {"submitter", job.submitter()},
      {"trials", job.trials()},
      {"created_unix_ns", job.created_unix_ns()},
      {"started_unix_ns", job.started_unix_ns()},
      {"finished_unix_ns", job.finished_unix_ns()},
      // What it was asked for.
      {"selector", spec.selector()},
      {"priority", spec.priority()},
      {"most_slots", spec.slots()},
      {"threads", spec.threads()},
      {"allow", std::vector<std::string>(spec.allowed_numerics().begin(), spec.allowed_numerics().end())},
      {"dims", std::map<std::string, int64_t>(spec.dims().begin(), spec.dims().end())},
      {"open_dims", open_dims_json(spec)},
      {"anchors", anchors_json(spec)},
      {"inputs", std::map<std::string, std::string>(spec.inputs().begin(), spec.inputs().end())},
      {"strategy", spec.strategy()},
      {"seed", spec.seed()},
      {"budget",
       {{"trials", spec.trials()},
        {"minutes", spec.minutes()},
        {"until_gain_percent", spec.until_gain_percent()}}},
      {"progress", nullptr}};  // a key that is there or not is a trap for scripts
  if (job.has_progress()) {
    session::Progress progress = job.progress();
    if (database::is_final(state_of(job))) progress.clear_remaining_s();
    out["progress"] = nlohmann::json::parse(progress_json(progress, 0));
  }
  return out;
}

std::string budget_text(const tunefarm::tune::v1::JobSpec& spec) {
  std::vector<std::string> limits;
  if (spec.trials() > 0) limits.push_back(counted(spec.trials(), "trial"));
  if (spec.minutes() > 0) limits.push_back(absl::StrFormat("%g min", spec.minutes()));
  if (spec.until_gain_percent() > 0)
    limits.push_back(absl::StrFormat("gain of %g%%", spec.until_gain_percent()));
  return absl::StrJoin(limits, ", ");
}

std::string cell(const std::string& text, const char* if_empty = "-") {
  return text.empty() ? if_empty : text;
}

bool has_most(const service::JobUpdate& job) {
  return job.slots_size() >= service::kMostSlots;
}

std::vector<std::string> row_of(const service::JobUpdate& job, int64_t now_unix_ns) {
  return {absl::StrCat(job.job_id()),
          state_name(job),
          absl::StrCat(job.spec().priority()),
          cell(job.submitter()),
          cell(job.spec().model_name()),
          cell(job.spec().device_key(), "(embedded)"),
          job.slots().empty() ? "-" : absl::StrCat(job.slots_size(), has_most(job) ? " (limit)" : ""),
          cell(job.spec().target()),
          absl::StrCat(job.trials()),
          cell(budget_text(job.spec())),
          age_text((now_unix_ns - job.created_unix_ns()) / 1'000'000'000),
          job.detail()};
}

}  // namespace

std::string jobs_table(const std::vector<service::JobUpdate>& jobs, int64_t now_unix_ns, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const service::JobUpdate& job : jobs) rows.push_back(row_of(job, now_unix_ns));
  return text_table({{"job", Cells::kWhole, Side::kRight},
                     {"state"},
                     {"prio", Cells::kLeftOut, Side::kRight},
                     {"submitter", Cells::kLeftOut},
                     {"model", Cells::kShortened},
                     {"device", Cells::kShortened},
                     {"slots", Cells::kWhole, Side::kRight},
                     {"target", Cells::kLeftOut},
                     {"trials", Cells::kWhole, Side::kRight},
                     {"budget", Cells::kLeftOut},
                     {"age", Cells::kWhole, Side::kRight},
                     {"detail", Cells::kShortened}},
                    std::move(rows), width);
}

std::string job_json(const service::JobUpdate& job) {
  return json_text(to_json(job));
}

std::string state_text(const service::JobUpdate& job) {
  const std::string& detail = job.detail();
  if (detail.starts_with("waits: ") || detail.starts_with("waits for ")) return detail;
  const std::string state = state_name(job);
  if (detail.starts_with(state)) return detail;  // "cancelled while it was paused"
  return absl::StrCat(state, detail.empty() ? "" : ": ", detail);
}

std::string slots_text(const service::JobUpdate& job) {
  const auto& slots = job.slots();
  constexpr int kNamed = 8;
  if (slots.empty()) return "";
  const int named = slots.size() <= kNamed ? slots.size() : kNamed - 1;
  std::string text = absl::StrCat("measures on ", counted(slots.size(), "device slot"), ": ",
                                  absl::StrJoin(slots.begin(), slots.begin() + named, ", "));
  if (named < slots.size()) absl::StrAppend(&text, " and ", slots.size() - named, " others");
  if (has_most(job)) absl::StrAppend(&text, " (a job has ", service::kMostSlots, " at most)");
  return printable(text, text.size());
}

std::string left_job_text(int64_t id, database::JobState state) {
  switch (state) {
    case database::JobState::kQueued:
      return absl::StrCat("job ", id, " is queued and will run without this command");
    case database::JobState::kPaused:
      return absl::StrCat("job ", id, " is paused; `tuner resume ", id, "` continues it");
    case database::JobState::kRunning:
      return absl::StrCat("job ", id, " continues");
    default:
      return absl::StrCat("job ", id, " is ", std::string(database::job_state_name(state)));
  }
}

std::string change_json(const service::JobUpdate& job) {
  nlohmann::json out = to_json(job);
  out["unchanged"] = job.unchanged();
  return json_text(out);
}

std::string change_text(const service::JobUpdate& job, const std::string& then) {
  const std::string state = state_name(job);
  if (job.unchanged()) return absl::StrCat("job ", job.job_id(), " is already ", state);
  if (state_of(job) == database::JobState::kRunning)
    return absl::StrCat("job ", job.job_id(), " ", then, " when its running trials finish");
  return absl::StrCat("job ", job.job_id(), " is ", state);
}

}  // namespace tf::tuner_cli
