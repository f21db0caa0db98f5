#pragma once
// Owns: how well a model ranks the measured candidates of a task. Does not know: which model.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tf::replay {

// A candidate, what was measured of it and what a model says.
struct Ranked {
  double seconds = 0;  // 0: it failed
  double score = 0;    // higher: predicted to be faster
  bool late = false;   // a search that learns proposed it in its second half
};

struct Pairs {
  double within = 3;       // times the best, both
  double apart = 1;        // times the faster one, at least: less is a near tie
  bool both_late = false;  // no others
};

// Share of such pairs of different times which the scores order as the times do; equal scores count half.
// Nothing without such a pair.
std::optional<double> pairwise_accuracy(std::span<const Ranked> candidates, const Pairs& which = {});

// Of the k fastest candidates, the share among the k with the highest scores. Where fewer than k ran, of
// those. Nothing if none ran.
std::optional<double> recall_at(std::span<const Ranked> candidates, size_t k);

// The least time among the k candidates with the highest scores, over the least of all; at least 1. Nothing
// if none of them ran.
std::optional<double> best_of_top(std::span<const Ranked> candidates, size_t k);

// How many of the candidates that ran take at most so many times the best one's time, as a share. Nothing if
// none ran.
std::optional<double> share_within(std::span<const Ranked> candidates, double times);

// The k-th least time over the least; of fewer, the last one's. At least 1. Nothing if none ran.
std::optional<double> kth_over_best(std::span<const Ranked> candidates, size_t k);

}  // namespace tf::replay
