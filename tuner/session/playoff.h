#pragma once
// Owns: who of a task's best candidates is the best: which of them are too close to call after one trial
// each, and how further trials, in turns, decide. Pure: no clocks, no threads. Does not know how a trial is
// run.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/race.h"

namespace tf::session {

// One trial of each that is still in makes a round. Trials of one round follow each other, so what the
// machine does in the meantime is the same for all, and only what each trial has in common with itself is
// noise: a candidate is out once it was slower than the leader in all of three rounds, or its fastest trial
// is slower than the leader's slowest after two. That leaves the close ones for the last rounds (successive
// halving, Karnin et al., "Almost optimal exploration in multi-armed bandits", ICML 2013).
class Playoff {
 public:
  static constexpr size_t kFinalists = 4;
  static constexpr int kRounds = 5;

  // Which contenders take part, fastest first: those whose bounds reach the fastest one's, at most
  // kFinalists. One or none: there is nothing to decide.
  static std::vector<size_t> finalists(std::span<const Estimate> contenders) {
    std::vector<size_t> order;
    for (size_t i = 0; i < contenders.size(); ++i)
      if (contenders[i].median_ns > 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return contenders[a].median_ns < contenders[b].median_ns; });
    size_t count = 0;
    while (count < order.size() && count < kFinalists &&
           contenders[order[count]].low_ns <= contenders[order[0]].high_ns * (1 + kShared))
      ++count;
    order.resize(count);
    return order;
  }

  explicit Playoff(size_t finalists) : finalists_(finalists) {}

  // Whose trials make the next round; none once it is decided.
  std::vector<size_t> next_round() const {
    std::vector<size_t> in;
    for (size_t i = 0; i < finalists_.size(); ++i)
      if (!finalists_[i].out) in.push_back(i);
    if (in.size() < 2 || rounds_ >= kRounds) return {};
    // Each goes first in turn: who comes after whom may matter.
    std::rotate(in.begin(),
                in.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(rounds_) % in.size()), in.end());
    return in;
  }

  // Its trial of this round: the median of its samples. Without it, it is out.
  void add(size_t finalist, double median_ns) { finalists_[finalist].trials_ns.push_back(median_ns); }
  void end_round() {
    ++rounds_;
    for (Finalist& each : finalists_)
      if (each.trials_ns.size() < static_cast<size_t>(rounds_)) each.out = true;
    const size_t leader = winner();
    for (size_t i = 0; i < finalists_.size(); ++i)
      if (i != leader && is_beaten(finalists_[i], finalists_[leader])) finalists_[i].out = true;
  }

  // The one with the least median of its trials, of those who had most rounds.
  size_t winner() const {
    size_t best = 0;
    for (size_t i = 1; i < finalists_.size(); ++i) {
      const Finalist &a = finalists_[i], &b = finalists_[best];
      if (b.out != a.out ? b.out : time_of(a) < time_of(b)) best = i;
    }
    return best;
  }

 private:
  struct Finalist {
    std::vector<double> trials_ns;  // one a round
    bool out = false;
  };

  static double time_of(const Finalist& finalist) { return estimate(finalist.trials_ns).median_ns; }

  bool is_beaten(const Finalist& one, const Finalist& leader) const {
    if (one.out || rounds_ < 2) return false;
    const auto fastest = std::min_element(one.trials_ns.begin(), one.trials_ns.end());
    const auto slowest = std::max_element(leader.trials_ns.begin(), leader.trials_ns.end());
    if (*fastest > *slowest) return true;
    if (rounds_ < 3) return false;
    return std::equal(one.trials_ns.begin(), one.trials_ns.end(), leader.trials_ns.begin(),
                      [](double mine, double leaders) { return mine > leaders; });
  }

  std::vector<Finalist> finalists_;
  int rounds_ = 0;
};

}  // namespace tf::session
