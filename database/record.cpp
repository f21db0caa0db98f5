#include "database/record.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/statistics/race.h"

namespace tf::database {
namespace {

struct OutcomeName {
  Outcome outcome;
  std::string_view name;
};
constexpr OutcomeName kOutcomes[] = {
    {Outcome::kOk, "ok"},
    {Outcome::kStoppedEarly, "stopped_early"},
    {Outcome::kCompileError, "compile_error"},
    {Outcome::kWrongOutput, "wrong_output"},
    {Outcome::kImplausible, "implausible"},
    {Outcome::kCrashed, "crashed"},
    {Outcome::kTimedOut, "timed_out"},
    {Outcome::kOutOfMemory, "out_of_memory"},
};

struct JobStateName {
  JobState state;
  std::string_view name;
};
constexpr JobStateName kJobStates[] = {
    {JobState::kQueued, "queued"}, {JobState::kRunning, "running"}, {JobState::kPaused, "paused"},
    {JobState::kDone, "done"},     {JobState::kFailed, "failed"},   {JobState::kCancelled, "cancelled"},
};

}  // namespace

bool is_failure(Outcome outcome) {
  return outcome != Outcome::kOk && outcome != Outcome::kStoppedEarly;
}

std::string_view outcome_name(Outcome outcome) {
  for (const OutcomeName& entry : kOutcomes) {
    if (entry.outcome == outcome) return entry.name;
  }
  TF_UNREACHABLE() << static_cast<int>(outcome);
  return "";
}

absl::StatusOr<Outcome> outcome_from_name(std::string_view name) {
  for (const OutcomeName& entry : kOutcomes) {
    if (entry.name == name) return entry.outcome;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no outcome \"", std::string(name), "\""));
}

std::string_view cache_mode_name(CacheMode mode) {
  switch (mode) {
    case CacheMode::kUnknown:
      return "unknown";
    case CacheMode::kRotate:
      return "rotate";
    case CacheMode::kWarm:
      return "warm";
  }
  TF_UNREACHABLE() << static_cast<int>(mode);
  return "";
}

absl::StatusOr<CacheMode> cache_mode_from_name(std::string_view name) {
  for (CacheMode mode : {CacheMode::kUnknown, CacheMode::kRotate, CacheMode::kWarm}) {
    if (cache_mode_name(mode) == name) return mode;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no cache mode \"", std::string(name), "\""));
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
  for (const JobStateName& entry : kJobStates) {
    if (entry.state == state) return entry.name;
  }
  TF_UNREACHABLE() << static_cast<int>(state);
  return "";
}

absl::StatusOr<JobState> job_state_from_name(std::string_view name) {
  for (const JobStateName& entry : kJobStates) {
    if (entry.name == name) return entry.state;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no job state \"", std::string(name), "\""));
}

bool is_final(JobState state) {
  return state == JobState::kDone || state == JobState::kFailed || state == JobState::kCancelled;
}

}  // namespace tf::database
