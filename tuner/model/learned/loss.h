#pragma once
// Owns: the losses that a cost model can be fitted by. Does not know: what is fitted.

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/model/learned/cost_model.h"

namespace tf::model {

// First and second derivatives of the loss by each score.
struct Gradient {
  std::vector<float> first, second;
};

// For each example some others of its task, drawn by the seed; a pair whose order is known, i before j, costs
// w · log(1 + exp(score j - score i)). The weight grows with how far apart the two are, up to a factor of
// two, and with how near the best the faster one is: the order of slow candidates decides nothing. Failures
// are slower than everything else.
Gradient pair_gradient(std::span<const Example> examples, std::span<const float> scores, uint64_t seed);

// Of each task of the examples, in the order of their numbers: the share of pairs within three times its best
// that the scores order right, ties half. A task without such pairs has a half.
std::vector<double> order_accuracies(std::span<const Example> examples, std::span<const float> scores);

// Squared errors of the speed, weighted by it: fast candidates decide.
Gradient speed_gradient(std::span<const Example> examples, std::span<const float> scores);

}  // namespace tf::model
