#include "tuner/cli/progress_text.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/cli/age_text.h"
#include "base/cli/counted.h"
#include "base/cli/duration_text.h"
#include "base/cli/text_table.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "tuner/cli/build_table.h"
#include "tuner/service/jobs/summary.h"

namespace tf::tuner_cli {
namespace {

double gflops(double flops, double ns) {
  return ns > 0 ? flops / ns : 0;
}

std::string best_text(const session::TaskProgress& task) {
  if (task.best_ns() <= 0) return absl::StrCat(task.label(), " -");
  return absl::StrFormat("%s %s (%.0f GFLOP/s)", task.label(), duration_text(task.best_ns()),
                         gflops(task.flops(), task.best_ns()));
}

// Of all kernels that the network uses; 0 until each has a time.
double network_sum_ns(const session::Progress& progress, double (session::TaskProgress::*time_ns)() const) {
  double sum_ns = 0;
  for (const session::TaskProgress& task : progress.tasks()) {
    if (task.weight() <= 0) continue;
    if ((task.*time_ns)() <= 0) return 0;
    sum_ns += task.weight() * (task.*time_ns)();
  }
  return sum_ns;
}

// Of many times the least was lucky: until finalists are re-measured this is a hope.
std::string sum_of_kernels(const session::Progress& progress) {
  const double network_ns = network_sum_ns(progress, &session::TaskProgress::best_ns);
  const double untuned_ns = network_sum_ns(progress, &session::TaskProgress::untuned_ns);
  if (network_ns <= 0) return "";
  const std::string change =
      untuned_ns > 0 ? absl::StrFormat("%+.0f%%, ", 100 * (network_ns / untuned_ns - 1)) : "";
  return absl::StrCat("  kernels add up to ", duration_text(network_ns), " (", change, "unverified)");
}

nlohmann::json trial_json(const session::NetworkTrial& trial) {
  nlohmann::json out = {
      {"takes", takes_name(trial.verdict.takes)}, {"why", trial.verdict.why}, {"rounds", trial.rounds}};
  if (trial.rounds == 0) return out;
  out["untuned_ns"] = trial.untuned_ns;
  out["tuned_ns"] = trial.tuned_ns;
  out["ratio"] = trial.ratio.median_ns;
  out["ratio_interval"] = nlohmann::json::array({trial.ratio.low_ns, trial.ratio.high_ns});
  return out;
}

// How fast it tries new ones, or why it tries none.
std::string pace_text(const session::Progress& progress) {
  if (progress.phase() == session::PHASE_FINALS) return "re-measuring finalists";
  const std::string devices = progress.slots() > 1 ? absl::StrCat(" on ", progress.slots(), " devices") : "";
  return absl::StrFormat("%.1f/s%s", progress.trials_per_second(), devices);
}

// A line, or nothing if none failed.
std::string failures_text(const session::Progress& progress) {
  if (progress.failures() == 0) return "";
  std::set<std::string> ways;
  for (const auto& [outcome, count] : progress.failed_by())
    ways.insert(absl::StrCat(absl::StrReplaceAll(printable(outcome), {{"_", " "}}), " (", count, ")"));
  return absl::StrCat(progress.failures(), " of ", counted(progress.trials(), "trial"), " failed",
                      ways.empty() ? "" : ": ", absl::StrJoin(ways, ", "), "\n");
}

// Nothing of what is due any moment or beyond reckoning: what is left of a search that goes on by what it
// expects is a guess.
std::string left_text(const session::Progress& progress) {
  constexpr double kMost = 99 * 3600;
  if (!progress.has_remaining_s() || !(progress.remaining_s() >= 0.5)) return "";
  return progress.remaining_s() > kMost
             ? "  >99 h left"
             : absl::StrCat("  ", age_text(std::llround(progress.remaining_s())), " left");
}

}  // namespace

std::string bounds_text(double low, double high) {
  if (low > 0.5 && high < 2) return absl::StrFormat("%+.1f%% %+.1f%%", 100 * (low - 1), 100 * (high - 1));
  return absl::StrFormat("%.3gx to %.*fx", low, high < 100 ? 1 : 0, high);
}

std::string progress_line(const session::Progress& progress, int64_t trial_limit) {
  std::string out = trial_limit > 0 ? absl::StrFormat("%d/%d trials", progress.trials(), trial_limit)
                                    : counted(progress.trials(), "trial");
  const bool is_over = progress.phase() == session::PHASE_OVER;
  if (progress.failures() > 0) absl::StrAppend(&out, ", ", progress.failures(), " failed");
  absl::StrAppend(&out, "  ", pace_text(progress), is_over ? "" : left_text(progress));
  if (!is_over) absl::StrAppend(&out, sum_of_kernels(progress));
  if (progress.has_expected_gain() && !is_over)
    absl::StrAppendFormat(&out, "  est. gain %.1f%%/min", 100 * progress.expected_gain());
  const int current = progress.current_task();
  if (!is_over && current >= 0 && current < static_cast<int>(progress.tasks().size())) {
    absl::StrAppendFormat(&out, "  [%d/%d] %s", current + 1, static_cast<int>(progress.tasks().size()),
                          best_text(progress.tasks(current)));
  }
  return out;
}

std::string progress_json(const session::Progress& progress, int64_t job_id,
                          const std::optional<session::NetworkTrial>& trial,
                          const std::vector<session::KernelChoice>& build) {
  google::protobuf::util::JsonPrintOptions all_fields;
  all_fields.always_print_primitive_fields = true;
  all_fields.preserve_proto_field_names = true;
  std::string text;
  TF_CHECK(google::protobuf::util::MessageToJsonString(progress, &text, all_fields).ok());
  nlohmann::json out = nlohmann::json::parse(text);
  if (job_id != 0) out["job"] = job_id;
  if (trial) out["network"] = trial_json(*trial);
  if (!build.empty()) out["build"] = build_json(build);
  return json_text(out);
}

bool has_results(const session::Progress& progress) {
  return progress.trials() > 0 || progress.nothing_new() ||
         std::ranges::any_of(progress.tasks(), [](const session::TaskProgress& task) {
           return task.best_ns() > 0 || !task.given_up().empty();
         });
}

std::string task_table(const session::Progress& progress, size_t width) {
  std::vector<std::vector<std::string>> used, unused;
  double total_ns = 0;
  bool is_complete = true, has_begun = false;
  for (const session::TaskProgress& task : progress.tasks()) {
    const bool is_measured = task.best_ns() > 0, is_used = task.weight() > 0;
    (is_used ? used : unused)
        .push_back({task.label(), is_measured ? duration_text(task.best_ns()) : "-",
                    absl::StrCat(task.trials()), is_used ? absl::StrFormat("%g", task.weight()) : "-",
                    is_measured ? absl::StrFormat("%.1f", gflops(task.flops(), task.best_ns())) : "-"});
    is_complete = is_complete && (is_measured || !is_used);
    has_begun = has_begun || task.trials() > 0;
    total_ns += task.best_ns() * task.weight();
  }
  const auto table = [&](std::vector<std::vector<std::string>> rows) {
    return text_table({{"kernel", Cells::kShortened},
                       {"best", Cells::kWhole, Side::kRight},
                       {"trials", Cells::kWhole, Side::kRight},
                       {"runs", Cells::kWhole, Side::kRight},
                       {"GFLOP/s", Cells::kLeftOut, Side::kRight}},
                      std::move(rows), width);
  };
  std::string out = table(std::move(used));
  if (total_ns > 0) {
    absl::StrAppend(&out, "kernels add up to ", duration_text(total_ns), " (unverified",
                    is_complete ? "" : "; without kernels that have no time yet", ")\n");
  } else {
    absl::StrAppend(&out, has_begun ? "no trial has succeeded yet\n" : "nothing was measured yet\n");
  }
  if (!unused.empty())
    absl::StrAppend(&out, "\nkernels for other layouts, which a build may choose:\n",
                    table(std::move(unused)));
  return out + notes_text(progress);
}

std::string notes_text(const session::Progress& progress) {
  std::string notes;
  for (const session::TaskProgress& task : progress.tasks())
    if (!task.given_up().empty())
      absl::StrAppend(&notes, "gave up ", task.label(), ": ", task.given_up(), "\n");
  absl::StrAppend(&notes, failures_text(progress));
  if (progress.nothing_new())
    absl::StrAppend(&notes, "search exhausted: it proposes only candidates that were already measured\n");
  if (progress.undecided())
    absl::StrAppend(&notes, "warning: the budget ended before all finalists were re-measured; some best ",
                    "schedules rest on a single measurement: increase --minutes\n");
  if (const std::string absence = service::absence_text(progress); !absence.empty())
    absl::StrAppend(&notes, absence, "\n");
  return notes;
}

}  // namespace tf::tuner_cli
