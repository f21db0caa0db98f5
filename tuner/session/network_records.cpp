#include "tuner/session/network_records.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unix_time.h"
#include "compiler/records/records_source.h"
#include "compiler/schedule/schedule.h"
#include "tuner/session/record_times.h"

namespace tf::session {
namespace {

using database::Measurement;

// One more measurement of the schedule: what it is stays, all else is of this day.
Measurement row_of(const Measurement& known, const KernelTimes& times) {
  Measurement row;
  row.problem = known.problem;
  row.schedule = known.schedule;
  row.semantics_version = known.semantics_version;
  row.sketch_hash = known.sketch_hash;
  row.choices = known.choices;
  row.numerics = known.numerics;
  row.untuned = known.untuned;
  row.cache_mode = database::CacheMode::kNetwork;
  for (const double ns : times.visits_ns)
    row.samples.push_back({std::max<int64_t>(1, static_cast<int64_t>(ns)), times.calls});
  return row;
}

std::vector<double> calls_ns(const KernelTimes& times) {
  std::vector<double> each_ns = times.visits_ns;
  for (double& ns : each_ns) ns /= times.calls;
  return each_ns;
}

}  // namespace

Estimate ratio_of_calls(const KernelTimes& times, const KernelTimes& others) {
  return ratio_of(calls_ns(times), calls_ns(others));
}

database::BestQuery NetworkRecords::query_of(const database::Problem& problem) const {
  return {.problem = problem,
          .device_class = options_.device_class,
          .allowed_numerics = options_.allowed_numerics,
          .semantics_version = schedule::kSemanticsVersion};
}

absl::StatusOr<Measurement> NetworkRecords::record_of(const driver::ScheduleChoice& choice) const {
  TF_ASSIGN_OR_RETURN(const Digest digest, Digest::from_hex(choice.record));
  return store_.find_record(digest);
}

absl::StatusOr<std::optional<Measurement>> NetworkRecords::untuned_of(
    const database::Problem& problem) const {
  database::BestQuery query = query_of(problem);
  query.of = database::BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> untuned, store_.top(query, 1));
  if (untuned.empty()) return std::nullopt;
  return std::move(untuned.front());
}

// The untuned schedule's first time in there is the scale of all who meet it: each one's ratio to it was
// taken in its own trial, and holds beside those of others.
absl::Status NetworkRecords::record(const Rivals& rivals, const KernelTimes& tuned,
                                    const KernelTimes& untuned, const database::DeviceState& device) const {
  const auto insert = [&](Measurement row) {
    row.device = device;
    row.job_id = options_.job_id;
    row.finished_unix_ns = now_unix_ns();
    return store_.insert(row).status();
  };
  TF_ASSIGN_OR_RETURN(std::optional<Measurement> scale, in_network(rivals.untuned));
  if (!scale || !scale->interleaved) {
    scale = row_of(rivals.untuned, untuned);
    const double ns = *scale->median_ns();
    scale->interleaved = {.began_unix_ns = now_unix_ns(), .ns = ns, .interval_ns = {ns, ns}};
    TF_RETURN_IF_ERROR(insert(*scale));
  }
  const double ns = scale->interleaved->ns;
  const Estimate ratio = ratio_of_calls(tuned, untuned);
  Measurement row = row_of(rivals.tuned, tuned);
  row.interleaved = {.began_unix_ns = scale->interleaved->began_unix_ns,
                     .ns = ns * ratio.median_ns,
                     .interval_ns = {ns * ratio.low_ns, ns * ratio.high_ns}};
  return insert(std::move(row));
}

absl::Status NetworkRecords::record_failure(const driver::ScheduleChoice& choice, const absl::Status& why,
                                            const database::DeviceState& device) const {
  TF_ASSIGN_OR_RETURN(const Measurement known, record_of(choice));
  Measurement row = row_of(known, {});
  row.cache_mode = known.cache_mode;
  row.outcome = absl::IsDeadlineExceeded(why) ? database::Outcome::kTimedOut : database::Outcome::kCrashed;
  row.detail = absl::StrCat("in its network: ", std::string(why.message()));
  row.device = device;
  row.job_id = options_.job_id;
  row.finished_unix_ns = now_unix_ns();
  return store_.insert(row).status();
}

bool NetworkRecords::is_from_here(const Measurement& record) const {
  return !record.lease && session::is_from_here(record, here_.fingerprint);
}

absl::StatusOr<bool> NetworkRecords::has_lost(const Measurement& record) const {
  TF_ASSIGN_OR_RETURN(const std::optional<Measurement> untuned, untuned_of(record.problem));
  if (!untuned || untuned->schedule == record.schedule) return false;
  TF_ASSIGN_OR_RETURN(const std::optional<Measurement> ours, in_network(record));
  if (!ours) return false;
  TF_ASSIGN_OR_RETURN(const std::optional<Measurement> theirs, in_network(*untuned));
  return theirs && database::met(*ours, *theirs) && !database::is_surely_faster(*ours, *theirs);
}

absl::StatusOr<std::optional<Measurement>> NetworkRecords::in_network(const Measurement& of) const {
  database::BestQuery query = query_of(of.problem);
  query.schedule = of.schedule;
  query.timed = database::BestQuery::Timed::kInNetwork;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> found, store_.top(query, 1));
  if (found.empty() || !(found.front().problem == of.problem)) return std::nullopt;
  return std::move(found.front());
}

absl::StatusOr<std::optional<driver::ScheduleChoice>> NetworkSource::find(
    const driver::ScheduleQuery& query) {
  constexpr size_t kLooks = 16;  // of the fastest, how many may have lost or be from elsewhere
  TF_ASSIGN_OR_RETURN(const database::Problem problem, records::problem_of(query));
  const database::BestQuery asked = records_.query_of(problem);
  std::vector<Measurement> found;
  if (which_ == Which::kBest) {
    TF_ASSIGN_OR_RETURN(const std::optional<Measurement> best, records_.store().best(asked));
    if (best) found.push_back(*best);
  } else {
    TF_ASSIGN_OR_RETURN(found, records_.store().top(asked, kLooks));
  }
  for (const Measurement& record : found) {
    if (!records_.is_from_here(record)) continue;
    if (which_ == Which::kFastest) {
      TF_ASSIGN_OR_RETURN(const bool lost, records_.has_lost(record));
      if (lost) continue;
    }
    return records::choice_of(record, query);
  }
  return std::nullopt;
}

}  // namespace tf::session
