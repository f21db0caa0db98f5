#include "database/record.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/statistics/race.h"
#include "base/status.h"

namespace tf::database {
namespace {

// In the order of the enumerators, of which the first is 1, but 0 of cache modes.
constexpr std::string_view kOutcomes[] = {"ok",          "stopped_early", "compile_error", "wrong_output",
                                          "implausible", "crashed",       "timed_out",     "out_of_memory"};
constexpr std::string_view kCacheModes[] = {"unknown", "rotate", "warm"};
constexpr std::string_view kJobStates[] = {"queued", "running", "paused", "done", "failed", "cancelled"};

std::string_view name_at(std::span<const std::string_view> names, int index) {
  TF_CHECK(index >= 0 && index < std::ssize(names)) << index;
  return names[static_cast<size_t>(index)];
}

// `what` as in "outcome".
absl::StatusOr<int> index_of(std::span<const std::string_view> names, std::string_view name,
                             const char* what) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  return absl::InvalidArgumentError(absl::StrCat("there is no ", what, " \"", std::string(name), "\""));
}

}  // namespace

bool is_failure(Outcome outcome) {
  return outcome != Outcome::kOk && outcome != Outcome::kStoppedEarly;
}

std::string_view outcome_name(Outcome outcome) {
  return name_at(kOutcomes, static_cast<int>(outcome) - 1);
}

absl::StatusOr<Outcome> outcome_from_name(std::string_view name) {
  TF_ASSIGN_OR_RETURN(const int index, index_of(kOutcomes, name, "outcome"));
  return static_cast<Outcome>(index + 1);
}

std::string_view cache_mode_name(CacheMode mode) {
  return name_at(kCacheModes, static_cast<int>(mode));
}

absl::StatusOr<CacheMode> cache_mode_from_name(std::string_view name) {
  TF_ASSIGN_OR_RETURN(const int index, index_of(kCacheModes, name, "cache mode"));
  return static_cast<CacheMode>(index);
}

std::string_view takes_name(NetworkVerdict::Takes takes) {
  return takes == NetworkVerdict::Takes::kFastest ? "fastest" : "untuned";
}

std::vector<double> runs_ns(const std::vector<Sample>& samples) {
  std::vector<double> runs;
  runs.reserve(samples.size());
  for (const Sample& sample : samples) {
    if (sample.iterations > 0) runs.push_back(static_cast<double>(sample.total_ns) / sample.iterations);
  }
  return runs;
}

std::optional<double> median_ns(const std::vector<Sample>& samples) {
  std::vector<double> times = runs_ns(samples);
  if (times.empty()) return std::nullopt;
  std::ranges::sort(times);
  const size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

std::optional<Interval> interval_ns(const std::vector<Sample>& samples) {
  const Estimate bounds = estimate(runs_ns(samples));
  if (bounds.median_ns == 0) return std::nullopt;
  return Interval{bounds.low_ns, bounds.high_ns};
}

std::optional<double> Measurement::median_ns() const {
  return interleaved ? interleaved->ns : database::median_ns(samples);
}

std::optional<Interval> Measurement::interval_ns() const {
  std::optional<Interval> bounds = database::interval_ns(samples);
  if (!bounds || !interleaved) return bounds;
  const double scale = interleaved->ns / *database::median_ns(samples);
  return Interval{bounds->low_ns * scale, bounds->high_ns * scale};
}

bool met(const Measurement& one, const Measurement& other) {
  return one.interleaved && other.interleaved &&
         one.interleaved->began_unix_ns == other.interleaved->began_unix_ns;
}

bool is_surely_faster(const Measurement& one, const Measurement& other) {
  if (met(one, other)) return one.interleaved->interval_ns.high_ns < other.interleaved->interval_ns.low_ns;
  const std::optional<Interval> a = one.interval_ns(), b = other.interval_ns();
  return a && b && a->high_ns < b->low_ns;
}

std::string_view job_state_name(JobState state) {
  return name_at(kJobStates, static_cast<int>(state) - 1);
}

bool is_final(JobState state) {
  return state == JobState::kDone || state == JobState::kFailed || state == JobState::kCancelled;
}

}  // namespace tf::database
