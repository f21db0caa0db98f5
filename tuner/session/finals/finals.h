#pragma once
// Owns: who of a task's best candidates is the best: which of them are too close to call after one trial
// each, and how further trials, in turns, decide. Pure: no clocks, no threads. Does not know how a trial is
// run.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/statistics/race.h"

namespace tf::session {

// One trial of each that is still in makes a round. Trials of one round follow each other, so what the
// machine does in the meantime is the same for all: compared are times of the same round, by their ratio. A
// candidate is out once its mean ratio to the leader's time is kClear standard errors above 1. That leaves
// the close ones for the last rounds (elimination of Kim and Nelson, "A fully sequential procedure for
// indifference-zone selection in simulation", ACM TOMACS 11, 2001, with bounds as a t-test has them). The
// limits were the cheapest with which 95% of races recorded on a restless machine end within 1% of the
// fastest, when medians of trials were compared; `search_replay races` says what it is.
class Finals {
 public:
  // Whoever has the shortest sample may have a median well behind others', if most of its trial was
  // disturbed.
  static constexpr size_t kLookedAt = 32, kFinalists = 8;
  static constexpr int kRounds = 16;

  // Which candidates take part: of the kLookedAt with the least medians those whose bounds reach the bounds
  // of the one with the shortest sample, at most kFinalists, the shortest samples first
  // (base/statistics/race.h). One or none: there is nothing to decide.
  static std::vector<size_t> finalists(std::span<const Estimate> finalists) {
    std::vector<size_t> order;
    for (size_t i = 0; i < finalists.size(); ++i)
      if (finalists[i].least_ns > 0) order.push_back(i);
    if (order.empty()) return order;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return finalists[i].median_ns; });
    order.resize(std::min(order.size(), kLookedAt));
    std::ranges::stable_sort(order, {}, [&](size_t i) { return finalists[i].least_ns; });
    const double reach_ns = finalists[order[0]].high_ns * (1 + kShared);
    std::erase_if(order, [&](size_t i) { return finalists[i].low_ns > reach_ns; });
    order.resize(std::min(order.size(), kFinalists));
    return order;
  }

  explicit Finals(size_t finalists) : finalists_(finalists) {}

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

  // That there may be yet, the present round's included.
  size_t most_trials_left() const {
    const auto in = static_cast<size_t>(
        std::ranges::count_if(finalists_, [](const Finalist& each) { return !each.out; }));
    return in < 2 ? 0 : in * static_cast<size_t>(kRounds - rounds_);
  }

  // Its trial of this round: the shortest of its samples. Without it, it is out.
  void add(size_t finalist, double least_ns) { finalists_[finalist].trials_ns.push_back(least_ns); }
  // It did not run as it should: it is out, whatever it took before, and whoever it beat.
  void fail(size_t finalist) {
    for (Finalist& each : finalists_) each.beaten_by.reset();
    finalists_[finalist] = {.out = true};
  }
  void end_round() {
    ++rounds_;
    for (Finalist& each : finalists_)
      if (each.trials_ns.size() < static_cast<size_t>(rounds_)) each.out = true;
    const size_t best = leader();
    for (size_t i = 0; i < finalists_.size(); ++i) {
      if (i == best || finalists_[i].out || rounds_ < 2) continue;
      const Lag lag = lag_of(finalists_[i], finalists_[best]);
      if (lag.mean <= lag.clear) continue;
      finalists_[i].out = true;
      finalists_[i].beaten_by = lag;
    }
  }

  // How good each is that had a trial, the winner first: its time as a share of the winner's in the rounds
  // that they had in common, or, of one who was beaten, of the leader's of that time, and 95% bounds of that
  // share. And the geometric mean of its own trials.
  struct Score {
    size_t finalist = 0;
    double ratio = 1, low = 1, high = 1;
    double ns = 0;
  };
  std::vector<Score> scores() const {
    std::vector<Score> all;
    const size_t best = leader();
    if (best >= finalists_.size() || finalists_[best].trials_ns.empty()) return all;
    all.push_back({.finalist = best, .ns = std::exp(time_of(finalists_[best]))});
    for (size_t i = 0; i < finalists_.size(); ++i) {
      const Finalist& each = finalists_[i];
      if (i == best || each.trials_ns.empty()) continue;
      const Lag lag = each.beaten_by ? *each.beaten_by : lag_of(each, finalists_[best]);
      const double mean = std::max(0.0, lag.mean);  // who could not be measured to the end has not won
      all.push_back({i, std::exp(mean), std::exp(mean - lag.clear), std::exp(mean + lag.clear),
                     std::exp(time_of(each))});
    }
    std::stable_sort(all.begin() + 1, all.end(),
                     [](const Score& a, const Score& b) { return a.ratio < b.ratio; });
    return all;
  }

 private:
  // How much slower one is than another, as the logarithm of the ratio of times of one round, and how much is
  // clear, not chance.
  struct Lag {
    double mean = 0, clear = 0;
  };
  struct Finalist {
    std::vector<double> trials_ns;  // one a round
    bool out = false;
    std::optional<Lag> beaten_by;
  };

  // Of those who are in, or else of those who were in for most rounds, the one with the least geometric mean
  // of its trials.
  size_t leader() const {
    size_t best = 0;
    for (size_t i = 1; i < finalists_.size(); ++i) {
      const Finalist &a = finalists_[i], &b = finalists_[best];
      const size_t rounds = a.trials_ns.size(), best_rounds = b.trials_ns.size();
      if (a.out != b.out ? b.out : rounds != best_rounds ? rounds > best_rounds : time_of(a) < time_of(b))
        best = i;
    }
    return best;
  }

  // The logarithm of the geometric mean of its trials.
  static double time_of(const Finalist& finalist) {
    double sum = 0;
    for (const double ns : finalist.trials_ns) sum += std::log(ns);
    return finalist.trials_ns.empty() ? HUGE_VAL : sum / static_cast<double>(finalist.trials_ns.size());
  }

  static Lag lag_of(const Finalist& one, const Finalist& other) {
    // Two or three rounds may agree by chance: the spread of ratios that is usual counts as so many more.
    constexpr double kClear = 2, kUsual = 0.02, kUsualRounds = 3;
    const size_t common = std::min(one.trials_ns.size(), other.trials_ns.size());
    const auto rounds = static_cast<double>(common);
    std::vector<double> lags;
    Lag lag;
    for (size_t round = 0; round < common; ++round) {
      lags.push_back(std::log(one.trials_ns[round] / other.trials_ns[round]));
      lag.mean += lags.back() / rounds;
    }
    double squares = kUsualRounds * kUsual * kUsual;
    for (const double each : lags) squares += (each - lag.mean) * (each - lag.mean);
    lag.clear = kClear * std::sqrt(squares / (rounds - 1 + kUsualRounds) / rounds);
    return lag;
  }

  std::vector<Finalist> finalists_;
  int rounds_ = 0;
};

}  // namespace tf::session
