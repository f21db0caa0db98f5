#include "tests/bench/search/replay/pool.h"

#include <algorithm>
#include <set>

#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "tests/bench/search/replay/median.h"

namespace tf::replay {

const char* source_name(Source source) {
  switch (source) {
    case Source::kRandom:
      return "random candidates";
    case Source::kEarly:
      return "the first half of searches that learn";
    case Source::kLate:
      return "the second half of searches that learn";
    case Source::kRemembered:
      return "searches that start from other pools";
  }
  return "";
}

namespace {

// Nothing of one that failed. Recording stops early only far above the best: what it saw of such a candidate
// is its time.
std::optional<Replicate> replicate_of(const database::Measurement& record) {
  if (record.outcome != database::Outcome::kOk && record.outcome != database::Outcome::kStoppedEarly)
    return std::nullopt;
  Replicate replicate;
  for (const database::Sample& sample : record.samples) {
    if (sample.iterations > 0)
      replicate.samples.push_back(static_cast<double>(sample.total_ns) / sample.iterations * 1e-9);
  }
  if (replicate.samples.empty()) return std::nullopt;
  replicate.seconds = median(replicate.samples);
  return replicate;
}

}  // namespace

double shortest_sample(const Replicate& replicate) {
  return std::ranges::min(replicate.samples);
}

size_t how_many_seen(const Entry& entry) {
  return (entry.replicates.size() + 1) / 2;
}

const Replicate& seen_replicate(const Entry& entry, size_t index) {
  return entry.replicates[2 * index];
}

std::optional<Replicate> replicate_of_round(const Entry& entry, size_t round) {
  return round + 1 < how_many_seen(entry) ? std::optional(seen_replicate(entry, round + 1)) : std::nullopt;
}

void Pool::add(const database::Measurement& record) {
  if (record.semantics_version != static_cast<uint32_t>(schedule::kSemanticsVersion)) return;
  const auto [known, is_new] = by_schedule_.try_emplace(record.schedule);
  std::optional<Replicate> replicate = replicate_of(record);
  if (is_new) {
    Entry& entry = *entries_.emplace_back(std::make_unique<Entry>());
    entry.schedule = record.schedule;
    entry.sketch_hash = record.sketch_hash;
    entry.choices = record.choices;
    entry.code_digest = record.code_digest;
    entry.source = static_cast<Source>(std::clamp<int64_t>(record.job_id, 1, std::size(kSources)));
    entry.ran = record.outcome != database::Outcome::kCompileError;
    known->second = &entry;
  } else if (known->second->replicates.empty()) {
    return;
  }
  if (!replicate) return;
  Entry& entry = *known->second;
  const double shortest = shortest_sample(*replicate);
  entry.replicates.push_back(*std::move(replicate));
  const size_t replicates = entry.replicates.size();
  if (replicates <= 2)
    entry.seconds = shortest;
  else if (replicates % 2 == 0)
    entry.seconds = std::min(entry.seconds, shortest);
}

double Pool::best_seconds() const {
  double best = 0;
  for (const auto& entry : entries_)
    if (entry->seconds > 0 && (best == 0 || entry->seconds < best)) best = entry->seconds;
  return best;
}

const Entry* Pool::find(const std::string& schedule) const {
  const auto found = by_schedule_.find(schedule);
  return found == by_schedule_.end() ? nullptr : found->second;
}

int64_t Pool::count(Source source) const {
  return std::count_if(entries_.begin(), entries_.end(),
                       [&](const auto& entry) { return entry->source == source; });
}

absl::StatusOr<Pool> read_pool(database::Records& records, const tensor::KernelKey& problem) {
  Pool pool;
  database::Filter filter;
  filter.problem = problem;
  TF_RETURN_IF_ERROR(records.scan(filter, [&](const database::Measurement& record) {
    pool.add(record);
    return absl::OkStatus();
  }));
  return pool;
}

absl::StatusOr<std::vector<database::Measurement>> lessons_of(database::Records& records,
                                                              const tensor::KernelKey& problem) {
  std::vector<database::Measurement> lessons;
  std::set<std::string> schedules;
  database::Filter filter;
  filter.problem = problem;
  TF_RETURN_IF_ERROR(records.scan(filter, [&](const database::Measurement& record) {
    if (record.semantics_version != static_cast<uint32_t>(schedule::kSemanticsVersion))
      return absl::OkStatus();
    const bool is_first = schedules.insert(record.schedule).second;
    if (is_first && record.job_id != static_cast<int64_t>(Source::kRemembered)) lessons.push_back(record);
    return absl::OkStatus();
  }));
  return lessons;
}

}  // namespace tf::replay
