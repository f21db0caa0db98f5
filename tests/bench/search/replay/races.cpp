#include "tests/bench/search/replay/races.h"

#include <algorithm>
#include <span>

#include "tests/bench/search/replay/finals.h"
#include "tests/bench/search/replay/sampling_policy.h"
#include "tuner/space/sampling.h"

namespace tf::replay {
namespace {

// The trials of a race, and what each candidate really takes.
class Trials {
 public:
  Trials(bool across_replicates, space::Random& random)
      : across_replicates_(across_replicates), random_(random) {}

  // As a session measures: against the best, and in a final re-measurement.
  Spent race(const Entry& entry, const Best& best) {
    return sample(draw(entry), SamplingPolicy::kRacing, best);
  }
  const Entry* run_finals(std::span<const Arrival> arrivals) {
    return replay::run_finals(arrivals, [this](const Entry& entry, size_t) { return draw(entry); }).winner;
  }
  double seconds(const Entry& entry) const {
    return across_replicates_ ? entry.seconds : shortest_sample(entry.replicates.front());
  }

 private:
  Replicate draw(const Entry& entry) {
    const Replicate& replicate =
        seen_replicate(entry, across_replicates_ ? space::below(random_, how_many_seen(entry)) : 0);
    Replicate trial;
    for (size_t i = 0; i < replicate.samples.size(); ++i)
      trial.samples.push_back(replicate.samples[space::below(random_, replicate.samples.size())]);
    return trial;
  }

  const bool across_replicates_;
  space::Random& random_;
};

// The first `count` of a random order.
std::vector<const Entry*> draw_field(std::vector<const Entry*> entries, size_t count, space::Random& random) {
  count = std::min(count, entries.size());
  for (size_t i = 0; i < count; ++i)
    std::swap(entries[i], entries[i + space::below(random, entries.size() - i)]);
  entries.resize(count);
  return entries;
}

RaceOutcome run_race(const std::vector<const Entry*>& field, Trials trials) {
  double fastest = trials.seconds(*field.front());
  const Entry* raced = nullptr;
  Best best;
  std::vector<Arrival> arrivals;
  for (const Entry* entry : field) {
    fastest = std::min(fastest, trials.seconds(*entry));
    const Spent spent = trials.race(*entry, best);
    if (spent.told.lower_bound) continue;
    arrivals.push_back({entry, spent.seen});
    if (best.seconds > 0 && spent.told.seconds >= best.seconds) continue;
    best = {spent.told.seconds, spent.told.noise};
    raced = entry;
  }
  // The first of a race has nobody to be stopped by.
  return {.raced = trials.seconds(*raced) / fastest,
          .finals = trials.seconds(*trials.run_finals(arrivals)) / fastest};
}

}  // namespace

std::vector<RaceOutcome> run_races(const Pool& pool, const RaceOptions& options) {
  std::vector<const Entry*> entries;
  for (const auto& entry : pool.entries()) {
    if (entry->seconds > 0) entries.push_back(entry.get());
  }
  std::vector<RaceOutcome> outcomes;
  if (entries.size() < 2) return outcomes;
  space::Random random(options.seed);
  for (int i = 0; i < options.races; ++i)
    outcomes.push_back(
        run_race(draw_field(entries, options.candidates, random), Trials(options.across_replicates, random)));
  return outcomes;
}

}  // namespace tf::replay
