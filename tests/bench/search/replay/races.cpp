#include "tests/bench/search/replay/races.h"

#include <algorithm>

#include "tests/bench/search/replay/sampling_policy.h"
#include "tuner/session/playoff.h"
#include "tuner/space/sampling.h"

namespace tf::replay {
namespace {

// One trial's samples, drawn anew.
Entry draw_trial(const Entry& entry, space::Random& random) {
  Entry trial = entry;
  for (double& sample : trial.samples) sample = entry.samples[space::below(random, entry.samples.size())];
  return trial;
}

// The first `count` of a random order.
std::vector<const Entry*> draw_field(std::vector<const Entry*> entries, size_t count, space::Random& random) {
  count = std::min(count, entries.size());
  for (size_t i = 0; i < count; ++i)
    std::swap(entries[i], entries[i + space::below(random, entries.size() - i)]);
  entries.resize(count);
  return entries;
}

// The session's play-off among those who were not stopped, from what racing saw of them.
const Entry* play_off(const std::vector<const Entry*>& arrived, const std::vector<Estimate>& seen,
                      space::Random& random) {
  const std::vector<size_t> finalists = session::Playoff::finalists(seen);
  session::Playoff playoff(finalists.size());
  for (auto round = playoff.next_round(); !round.empty(); round = playoff.next_round()) {
    for (const size_t i : round) {
      const Entry trial = draw_trial(*arrived[finalists[i]], random);
      playoff.add(i, measure(trial, SamplingPolicy::kRacing, {}).seen.median_ns);
    }
    playoff.end_round();
  }
  return arrived[finalists[playoff.winner()]];
}

RaceOutcome run_race(const std::vector<const Entry*>& field, space::Random& random) {
  const Entry* fastest = field.front();
  const Entry* raced = nullptr;
  Best best;
  std::vector<const Entry*> arrived;
  std::vector<Estimate> seen;
  for (const Entry* entry : field) {
    if (entry->seconds < fastest->seconds) fastest = entry;
    const Spent spent = measure(draw_trial(*entry, random), SamplingPolicy::kRacing, best);
    if (spent.stopped_early) continue;
    arrived.push_back(entry);
    seen.push_back(spent.seen);
    if (best.seconds > 0 && spent.seconds >= best.seconds) continue;
    best = {spent.seconds, spent.seen.noise};
    raced = entry;
  }
  // The first of a race has nobody to be stopped by.
  return {.raced = raced->seconds / fastest->seconds,
          .played_off = play_off(arrived, seen, random)->seconds / fastest->seconds};
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
    outcomes.push_back(run_race(draw_field(entries, options.candidates, random), random));
  return outcomes;
}

}  // namespace tf::replay
