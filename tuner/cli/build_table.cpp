#include "tuner/cli/build_table.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cli/counted.h"
#include "base/cli/duration_text.h"
#include "base/cli/text_table.h"

namespace tf::tuner_cli {
namespace {

using database::Why;
using session::KernelChoice;

constexpr char kUnmeasured[] = "unmeasured";

std::string why_of(const KernelChoice& kernel) {
  return kernel.why ? std::string(why_name(*kernel.why)) : kUnmeasured;
}

std::string time_or_dash(double ns) {
  return ns > 0 ? duration_text(ns) : "-";
}

// Of a schedule that was not chosen by comparing these two, a ratio would only look like a reason.
std::string kernel_ratio(const KernelChoice& kernel) {
  if (kernel.is_untuned || kernel.untuned_ns <= 0 || kernel.build_ns <= 0) return "-";
  return absl::StrFormat("%.3f", kernel.build_ns / kernel.untuned_ns);
}

std::vector<std::string> kernel_row(const KernelChoice& kernel) {
  return {kernel.label,
          absl::StrCat(kernel.runs),
          time_or_dash(kernel.untuned_ns),
          time_or_dash(kernel.build_ns),
          kernel_ratio(kernel),
          kernel.is_untuned ? "untuned" : "tuned",
          why_of(kernel),
          kernel.build_ns > 0 ? absl::StrFormat("%.1f", kernel.flops / kernel.build_ns) : "-",
          kernel.key.substr(0, 12)};
}

// What the words that stand in the table mean.
std::string legend(const std::vector<KernelChoice>& kernels) {
  static const std::pair<std::string_view, std::string_view> kMeanings[] = {
      {"verified", "the fastest; the whole network is faster with the fastest schedules"},
      {"faster", "faster than the untuned schedule"},
      {"unchecked", "the untuned schedule was not measured on this device"},
      {"fastest", "no schedule looks faster than the untuned one"},
      {"unproven", "no schedule is significantly faster than the untuned one"},
      {"no_gain", "the whole network is not measurably faster with the fastest schedules"},
      {kUnmeasured, "there are no records; the build takes the untuned schedule"},
  };
  std::string text;
  for (const auto& [word, meaning] : kMeanings) {
    const bool is_used =
        std::ranges::any_of(kernels, [&](const KernelChoice& kernel) { return why_of(kernel) == word; });
    if (is_used) absl::StrAppendFormat(&text, "  %-10s  %s\n", word, meaning);
  }
  return text;
}

// Nothing unless all kernels have both times.
std::string sum_text(const std::vector<KernelChoice>& kernels) {
  double build_ns = 0, untuned_ns = 0;
  for (const KernelChoice& kernel : kernels) {
    if (kernel.build_ns <= 0 || kernel.untuned_ns <= 0) return "";
    build_ns += static_cast<double>(kernel.runs) * kernel.build_ns;
    untuned_ns += static_cast<double>(kernel.runs) * kernel.untuned_ns;
  }
  return absl::StrCat("kernels add up to ", duration_text(build_ns), ", untuned ", duration_text(untuned_ns),
                      " (not a measurement of the network)\n");
}

}  // namespace

std::string build_table(const std::vector<KernelChoice>& kernels, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const KernelChoice& kernel : kernels) rows.push_back(kernel_row(kernel));
  return absl::StrCat(text_table({{"kernel", Cells::kShortened},
                                  {"runs", Cells::kLeftOut, Side::kRight},
                                  {"untuned", Cells::kWhole, Side::kRight},
                                  {"build", Cells::kWhole, Side::kRight},
                                  {"ratio", Cells::kWhole, Side::kRight},
                                  {"takes"},
                                  {"why"},
                                  {"GFLOP/s", Cells::kLeftOut, Side::kRight},
                                  {"key", Cells::kLeftOut}},
                                 std::move(rows), width),
                      legend(kernels), sum_text(kernels));
}

nlohmann::json build_json(const std::vector<KernelChoice>& kernels) {
  nlohmann::json rows = nlohmann::json::array();
  for (const KernelChoice& kernel : kernels) {
    rows.push_back({{"label", kernel.label},
                    {"key", kernel.key},
                    {"runs", kernel.runs},
                    {"flops", kernel.flops},
                    {"untuned_ns", kernel.untuned_ns},
                    {"build_ns", kernel.build_ns},
                    {"untuned", kernel.is_untuned},
                    {"why", why_of(kernel)}});
  }
  return rows;
}

std::string trial_text(const session::NetworkTrial& trial) {
  const bool is_tuned = trial.verdict.takes == database::NetworkVerdict::Takes::kFastest;
  const std::string times =
      trial.rounds > 0 ? absl::StrFormat("untuned %s, tuned %s in %s; ", duration_text(trial.untuned_ns),
                                         duration_text(trial.tuned_ns), counted(trial.rounds, "round"))
                       : "";
  return absl::StrCat("whole network: ", times, trial.verdict.why, "; builds take ",
                      is_tuned ? "the fastest records" : "untuned schedules", "\n");
}

}  // namespace tf::tuner_cli
