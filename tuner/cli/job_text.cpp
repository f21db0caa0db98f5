#include "tuner/cli/job_text.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/age_text.h"
#include "base/counted.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/text_table.h"
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
                        {"slots", view.slots},
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
    out["most_slots"] = spec->slots;
    out["threads"] = spec->threads;
    out["allow"] = spec->allowed_numerics;
    out["dims"] = spec->dims;
    out["strategy"] = spec->strategy;
    out["seed"] = spec->seed;
    out["budget"] = {{"trials", spec->trials},
                     {"minutes", spec->minutes},
                     {"until_gain_percent", spec->until_gain_percent}};
  }
  out["progress"] = nullptr;  // a key that is there or not is a trap for scripts
  if (view.progress) {
    session::Progress progress = *view.progress;
    if (database::is_final(view.job.state)) progress.clear_remaining_s();
    out["progress"] = nlohmann::json::parse(progress_json(progress, 0));
  }
  return out;
}

std::string budget_text(const service::JobSpec& spec) {
  std::vector<std::string> limits;
  if (spec.trials > 0) limits.push_back(counted(spec.trials, "trial"));
  if (spec.minutes > 0) limits.push_back(absl::StrFormat("%g min", spec.minutes));
  if (spec.until_gain_percent > 0) limits.push_back(absl::StrFormat("gain of %g%%", spec.until_gain_percent));
  return absl::StrJoin(limits, ", ");
}

std::string cell(const std::string& text, const char* if_empty = "-") {
  return text.empty() ? if_empty : text;
}

bool has_most(const std::vector<std::string>& slots) {
  return slots.size() >= service::kMostSlots;
}

std::vector<std::string> row_of(const service::JobView& view, int64_t now_unix_ns) {
  const database::Job& job = view.job;
  const absl::StatusOr<service::JobSpec> spec = service::job_spec_from_json(job.options);
  return {absl::StrCat(job.id),
          std::string(database::job_state_name(job.state)),
          spec.ok() ? absl::StrCat(spec->priority) : "-",
          cell(job.submitter),
          cell(job.model_name),
          cell(job.device, "(embedded)"),
          view.slots.empty() ? "-" : absl::StrCat(view.slots.size(), has_most(view.slots) ? " (limit)" : ""),
          cell(job.target),
          absl::StrCat(view.trials),
          cell(spec.ok() ? budget_text(*spec) : ""),
          age_text((now_unix_ns - job.created_unix_ns) / 1'000'000'000),
          job.detail};
}

}  // namespace

std::string jobs_table(const std::vector<service::JobView>& views, int64_t now_unix_ns, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const service::JobView& view : views) rows.push_back(row_of(view, now_unix_ns));
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

std::string job_json(const service::JobView& view) {
  return json_text(to_json(view));
}

std::string state_text(const service::JobView& view) {
  const std::string& detail = view.job.detail;
  if (detail.starts_with("waits: ") || detail.starts_with("waits for ")) return detail;
  const std::string state(database::job_state_name(view.job.state));
  if (detail.starts_with(state)) return detail;  // "cancelled while it was paused"
  return absl::StrCat(state, detail.empty() ? "" : ": ", detail);
}

std::string slots_text(const std::vector<std::string>& slots) {
  constexpr size_t kNamed = 8;
  if (slots.empty()) return "";
  const size_t named = slots.size() <= kNamed ? slots.size() : kNamed - 1;
  std::string text =
      absl::StrCat("measures on ", counted(static_cast<int64_t>(slots.size()), "device slot"), ": ",
                   absl::StrJoin(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < slots.size()) absl::StrAppend(&text, " and ", slots.size() - named, " others");
  if (has_most(slots)) absl::StrAppend(&text, " (a job has ", service::kMostSlots, " at most)");
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

std::string change_json(const service::JobView& view) {
  nlohmann::json out = to_json(view);
  out["unchanged"] = view.unchanged;
  return json_text(out);
}

std::string change_text(const service::JobView& view, const std::string& then) {
  const std::string state(database::job_state_name(view.job.state));
  if (view.unchanged) return absl::StrCat("job ", view.job.id, " is already ", state);
  if (view.job.state == database::JobState::kRunning)
    return absl::StrCat("job ", view.job.id, " ", then, " when its running trials finish");
  return absl::StrCat("job ", view.job.id, " is ", state);
}

}  // namespace tf::tuner_cli
