#include "tuner/cli/progress_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "base/json_text.h"

namespace tf::tuner_cli {
namespace {

double gflops(double flops, double ns) {
  return ns > 0 ? flops / ns : 0;
}

std::string best_text(const session::TaskProgress& task) {
  if (task.best_ns <= 0) return absl::StrCat(task.label, " -");
  return absl::StrFormat("%s %s (%.0f GFLOP/s)", task.label, duration_text(task.best_ns),
                         gflops(task.flops, task.best_ns));
}

// Of all kernels that the network uses; 0 until each has a time.
double network_sum_ns(const session::Progress& progress, double session::TaskProgress::*time_ns) {
  double sum_ns = 0;
  for (const session::TaskProgress& task : progress.tasks) {
    if (task.weight <= 0) continue;
    if (task.*time_ns <= 0) return 0;
    sum_ns += task.weight * task.*time_ns;
  }
  return sum_ns;
}

nlohmann::json trial_json(const session::NetworkTrial& trial) {
  nlohmann::json out = {{"all_untuned", trial.all_untuned},
                        {"visits", trial.visits},
                        {"kernels", trial.kernels},
                        {"kernels_tuned", trial.tuned},
                        {"kernels_faster", trial.faster},
                        {"kernels_lost", trial.lost},
                        {"kernels_put_back", trial.put_back},
                        {"kernels_untried", trial.untried},
                        {"kernels_other_layouts", trial.other_layouts},
                        {"kernels_unmeasured", trial.unmeasured},
                        {"kernels_failed", trial.failed}};
  if (trial.all_untuned) return out;
  out["untuned_ns"] = trial.untuned_ns;
  out["tuned_ns"] = trial.tuned_ns;
  out["ratio"] = trial.ratio.median_ns;
  out["ratio_interval"] = nlohmann::json::array({trial.ratio.low_ns, trial.ratio.high_ns});
  return out;
}

// The times, or that there are none.
std::string ratio_text(const session::NetworkTrial& trial) {
  if (trial.all_untuned)
    return "the network itself, by what was measured here: every kernel is the untuned one, and there is "
           "nothing to compare\n";
  return absl::StrFormat(
      "the network itself, %d times in turns: untuned %s, tuned %s (medians); turn by turn, tuned takes %.3f "
      "of untuned (%.3f to %.3f)\n"
      "of %s, %d %s a schedule of %s own, %d of which %s surely faster there than the untuned one\n",
      trial.visits, duration_text(trial.untuned_ns), duration_text(trial.tuned_ns), trial.ratio.median_ns,
      trial.ratio.low_ns, trial.ratio.high_ns, counted(trial.kernels, "task"), trial.tuned,
      trial.tuned == 1 ? "has" : "have", trial.tuned == 1 ? "its" : "their", trial.faster,
      trial.faster == 1 ? "is" : "are");
}

// For programs.
const char* phase_name(session::Phase phase) {
  switch (phase) {
    case session::Phase::kMeasuring:
      return "measuring";
    case session::Phase::kRecalling:
      return "recalling";
    case session::Phase::kPlayOff:
      return "play-off";
    case session::Phase::kOver:
      return "over";
  }
  return "";
}

// How fast it tries new ones, or why it tries none.
std::string pace_text(const session::Progress& progress) {
  if (progress.phase == session::Phase::kRecalling) return "looking through what is known";
  if (progress.phase == session::Phase::kPlayOff) return "play-off of the fastest";
  return absl::StrFormat("%.1f/s", progress.trials_per_second);
}

// As in "2 wrong answers".
std::string failed_by_text(database::Outcome outcome, int64_t count) {
  switch (outcome) {
    case database::Outcome::kCompileError:
      return counted(count, "compile error");
    case database::Outcome::kWrongOutput:
      return counted(count, "wrong answer");
    case database::Outcome::kImplausible:
      return counted(count, "implausible time");
    case database::Outcome::kCrashed:
      return absl::StrCat(count, count == 1 ? " crash" : " crashes");
    case database::Outcome::kTimedOut:
      return counted(count, "timeout");
    case database::Outcome::kOutOfMemory:
      return absl::StrCat(count, " out of memory");
    case database::Outcome::kOk:
    case database::Outcome::kStoppedEarly:
      break;
  }
  return absl::StrCat(count, " otherwise");
}

// A line, or nothing if none failed.
std::string failures_text(const session::Progress& progress) {
  if (progress.failures == 0) return "";
  std::vector<std::string> ways;
  for (const auto& [outcome, count] : progress.failed_by) ways.push_back(failed_by_text(outcome, count));
  return absl::StrCat(progress.failures, " of ", counted(progress.trials, "trial"), " failed",
                      ways.empty() ? "" : ": ", absl::StrJoin(ways, ", "), "\n");
}

// Nothing of what is due any moment or beyond reckoning: what is left of a search that goes on by what it
// expects is a guess.
std::string left_text(const std::optional<double>& remaining_s) {
  constexpr double kMost = 99 * 3600;
  if (!remaining_s || !(*remaining_s >= 0.5)) return "";
  return *remaining_s > kMost ? "  >99 h left" : absl::StrCat("  ", clock_text(*remaining_s), " left");
}

}  // namespace

std::string duration_text(double ns) {
  if (ns < 1e3) return absl::StrFormat("%.0f ns", ns);
  if (ns < 1e6) return absl::StrFormat("%.1f us", ns / 1e3);
  if (ns < 1e9) return absl::StrFormat("%.3f ms", ns / 1e6);
  return absl::StrFormat("%.3f s", ns / 1e9);
}

std::string bounds_text(double low, double high) {
  if (low > 0.5 && high < 2) return absl::StrFormat("%+.1f%% %+.1f%%", 100 * (low - 1), 100 * (high - 1));
  return absl::StrFormat("%.3gx to %.*fx", low, high < 100 ? 1 : 0, high);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, std::round(seconds)));
  if (whole < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string progress_line(const session::Progress& progress, int64_t trial_limit) {
  std::string out = trial_limit > 0 ? absl::StrFormat("%d/%d trials", progress.trials, trial_limit)
                                    : counted(progress.trials, "trial");
  const bool is_over = progress.phase == session::Phase::kOver;
  if (progress.failures > 0) absl::StrAppend(&out, ", ", progress.failures, " failed");
  absl::StrAppend(&out, "  ", pace_text(progress), is_over ? "" : left_text(progress.remaining_s));
  const double network_ns = network_sum_ns(progress, &session::TaskProgress::best_ns);
  const double untuned_ns = network_sum_ns(progress, &session::TaskProgress::untuned_ns);
  if (network_ns > 0) absl::StrAppend(&out, "  network best ", duration_text(network_ns));
  if (network_ns > 0 && untuned_ns > 0)
    absl::StrAppendFormat(&out, " (%.3f of untuned)", network_ns / untuned_ns);
  if (progress.expected_gain && !is_over)
    absl::StrAppendFormat(&out, "  %.1f%% to gain a minute", 100 * *progress.expected_gain);
  const int current = progress.current_task;
  if (current >= 0 && current < static_cast<int>(progress.tasks.size())) {
    absl::StrAppendFormat(&out, "  [%d/%d] %s", current + 1, static_cast<int>(progress.tasks.size()),
                          best_text(progress.tasks[current]));
  }
  return out;
}

std::string progress_json(const session::Progress& progress, int64_t job_id,
                          const std::optional<session::NetworkTrial>& trial) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const session::TaskProgress& task : progress.tasks) {
    tasks.push_back({{"label", task.label},
                     {"weight", task.weight},
                     {"flops", task.flops},
                     {"trials", task.trials},
                     {"best_ns", task.best_ns},
                     {"untuned_ns", task.untuned_ns},
                     {"exhausted", task.exhausted},
                     {"given_up", task.given_up}});
  }
  nlohmann::json out = {{"phase", phase_name(progress.phase)},
                        {"trials", progress.trials},
                        {"failures", progress.failures},
                        {"not_measured", progress.not_measured},
                        {"withdrawn", progress.withdrawn},
                        {"twins", progress.twins},
                        {"trials_per_second", progress.trials_per_second},
                        {"elapsed_s", progress.elapsed_s},
                        {"device_busy_share", progress.device_busy_share},
                        {"current_task", progress.current_task},
                        {"nothing_new", progress.nothing_new},
                        {"undecided", progress.undecided},
                        {"tasks", std::move(tasks)}};
  if (progress.expected_gain) out["expected_gain"] = *progress.expected_gain;
  if (progress.remaining_s) out["remaining_s"] = *progress.remaining_s;
  if (job_id != 0) out["job"] = job_id;
  if (trial) out["network"] = trial_json(*trial);
  return json_text(out);
}

std::string trial_text(const session::NetworkTrial& trial) {
  std::string out = ratio_text(trial);
  if (trial.put_back > 0)
    absl::StrAppendFormat(
        &out, "for %s, what was tuned was not surely faster there: builds take the untuned schedule\n",
        counted(trial.put_back, "task"));
  if (trial.untried > 0)
    absl::StrAppendFormat(&out,
                          "for %s, what was tuned was not surely faster there: builds take another schedule, "
                          "which was not tried there yet\n",
                          counted(trial.untried, "task"));
  if (trial.lost > 0)
    absl::StrAppendFormat(
        &out, "%d of them %s in the tuned build that was timed: a build takes others from now on\n",
        trial.lost, trial.lost == 1 ? "is" : "are");
  if (trial.failed > 0)
    absl::StrAppendFormat(&out, "with %s the network crashed or hung: builds take others from now on\n",
                          counted(trial.failed, "schedule"));
  if (trial.other_layouts > 0)
    absl::StrAppendFormat(&out, "%s %s between other layouts than without tuning and %s not compared\n",
                          counted(trial.other_layouts, "task"), trial.other_layouts == 1 ? "lies" : "lie",
                          trial.other_layouts == 1 ? "was" : "were");
  if (trial.unmeasured > 0)
    absl::StrAppendFormat(
        &out, "for %s, the untuned schedule was never measured: there is nothing to compare with\n",
        counted(trial.unmeasured, "task"));
  // Layouts and what lies between kernels may cost more than faster kernels gain.
  if (trial.ratio.low_ns >= 1)
    absl::StrAppend(&out, "it is slower than without tuning: build it without --db, or tune it for longer\n");
  return out;
}

bool has_results(const session::Progress& progress) {
  return progress.trials > 0 || progress.nothing_new ||
         std::ranges::any_of(progress.tasks, [](const session::TaskProgress& task) {
           return task.best_ns > 0 || !task.given_up.empty();
         });
}

std::string task_table(const session::Progress& progress) {
  int width = 4;
  for (const session::TaskProgress& task : progress.tasks)
    width = std::max(width, static_cast<int>(task.label.size()));
  std::string used =
      absl::StrFormat("%-*s %12s %9s %7s %5s\n", width, "task", "best", "GFLOP/s", "trials", "times");
  std::string unused, given_up;
  double total_ns = 0;
  bool complete = true, begun = false;
  for (const session::TaskProgress& task : progress.tasks) {
    const bool measured = task.best_ns > 0, is_used = task.weight > 0;
    absl::StrAppendFormat(is_used ? &used : &unused, "%-*s %12s %9s %7d", width, task.label,
                          measured ? duration_text(task.best_ns) : "-",
                          measured ? absl::StrFormat("%.1f", gflops(task.flops, task.best_ns)) : "-",
                          task.trials);
    absl::StrAppend(is_used ? &used : &unused, is_used ? absl::StrFormat(" %5g\n", task.weight) : "\n");
    complete = complete && (measured || !is_used);
    begun = begun || task.trials > 0;
    total_ns += task.best_ns * task.weight;
    if (!task.given_up.empty()) absl::StrAppend(&given_up, "gave up ", task.label, ": ", task.given_up, "\n");
  }
  const char* of_what = complete       ? ""
                        : total_ns > 0 ? "  (without the tasks that have no best yet)"
                        : begun        ? "  (no trial has given a time yet)"
                                       : "  (nothing was measured yet)";
  absl::StrAppendFormat(&used, "%-*s %12s%s\n", width, "all",
                        complete || total_ns > 0 ? duration_text(total_ns) : "-", of_what);
  if (!unused.empty())
    absl::StrAppend(
        &used, "\nkernels between other layouts, measured to choose layouts by when the model is built:\n",
        unused);
  std::string why =
      progress.nothing_new ? "nothing new to try: all that the search proposes is known already\n" : "";
  if (progress.undecided)
    absl::StrAppend(&why, "the time was over, or the device away, before all play-offs were held: some of ",
                    "these are the best of single trials, which may have been lucky\n");
  return absl::StrCat(used, given_up, failures_text(progress), why);
}

}  // namespace tf::tuner_cli
