#pragma once
// Owns: the feature vector that the learned model sees. Magnitudes are base-2 logarithms of 1 + x, so that
// trees split them by ratio; shares are in [0, 1]. Loosely after Ansor's (Zheng et al., OSDI 2020, appendix
// B), but from the schedule state, without lowering.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "tuner/model/roofline/roofline.h"

namespace tf::model {

inline constexpr size_t kInnerLoops = 10;  // loops of the main nest, innermost first, described one by one
inline constexpr size_t kFeatureCount = 48 + kResources + 3 * kInnerLoops;
using Features = std::array<float, kFeatureCount>;
// The roofline model's estimate: base-2 logarithm of 1 + nanoseconds.
inline constexpr size_t kRooflineFeature = 43 + 3 * kInnerLoops;

// The nest that most features describe is the one numbered `main`.
std::array<Value, kFeatureCount> features_of(std::span<const Nest> nests, size_t main,
                                             const Roofline& roofline, const target::Target& target,
                                             const RooflineOptions& options);

// Of each feature, whether it means the same in all tasks: shares, tile shapes in registers and vectors,
// operations a byte. Others tell a task's size, or its loops.
const std::array<bool, kFeatureCount>& relative_features();

// Arithmetic of all runs of the nest.
Value arithmetic_of(const Nest& nest);

}  // namespace tf::model
