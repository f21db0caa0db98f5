#pragma once
// Owns: the feature vector of a candidate for GPUs, in the same places as a CPU's: what means the same in all tasks stands
// where relative_features() says so, and the estimate at kRooflineFeature. Does not know: training.

#include <array>
#include <span>

#include "compiler/target/target.h"
#include "tuner/model/gpu/gpu_model.h"
#include "tuner/model/learned/features.h"

namespace tf::model {

// Most describe the launch numbered `main`.
std::array<Value, kFeatureCount> gpu_features(std::span<const GpuLaunch> launches, size_t main,
                                              const target::Target& target, const GpuPace& pace,
                                              const GpuCost& all);

}  // namespace tf::model
