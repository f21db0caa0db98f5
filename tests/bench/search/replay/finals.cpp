#include "tests/bench/search/replay/finals.h"

#include <vector>

#include "base/check.h"
#include "tests/bench/search/replay/sampling_policy.h"
#include "tuner/session/finals/finals.h"

namespace tf::replay {
namespace {

// One trial of each who is in; none if one of them has no replicate left.
std::optional<std::vector<Spent>> play_round(std::span<const Arrival* const> players, size_t round,
                                             const ReplicateOfRound& replicate) {
  std::vector<Spent> trials;
  for (const Arrival* player : players) {
    const std::optional<Replicate> trial = replicate(*player->entry, round);
    if (!trial) return std::nullopt;
    trials.push_back(sample_in_full(*trial));
  }
  return trials;
}

}  // namespace

ReplayedFinals run_finals(std::span<const Arrival> arrivals, const ReplicateOfRound& replicate) {
  TF_CHECK(!arrivals.empty());
  std::vector<Estimate> seen;
  for (const Arrival& arrival : arrivals) seen.push_back(arrival.seen);
  const std::vector<size_t> finalists = session::Finals::finalists(seen);
  TF_CHECK(!finalists.empty());
  ReplayedFinals replayed{.winner = arrivals[finalists.front()].entry};
  session::Finals finals(finalists.size());
  size_t rounds = 0;
  for (auto in = finals.next_round(); !in.empty(); in = finals.next_round(), ++rounds) {
    std::vector<const Arrival*> players;
    for (const size_t each : in) players.push_back(&arrivals[finalists[each]]);
    const auto trials = play_round(players, rounds, replicate);
    if (!trials) break;
    for (size_t i = 0; i < in.size(); ++i) {
      finals.add(in[i], (*trials)[i].seen.least_ns);
      ++replayed.trials;
      replayed.device_seconds += kOverheadSeconds + (*trials)[i].device_seconds;
    }
    finals.end_round();
  }
  if (rounds > 0) replayed.winner = arrivals[finalists[finals.scores().front().finalist]].entry;
  return replayed;
}

}  // namespace tf::replay
