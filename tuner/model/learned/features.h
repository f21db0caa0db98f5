#pragma once
// Owns: the feature vector that the learned model sees. Magnitudes are base-2 logarithms of 1 + x, so that
// trees split them by ratio; shares are in [0, 1]. Loosely after Ansor's (Zheng et al., OSDI 2020, appendix
// B), but from the schedule state, without lowering.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "tuner/model/roofline/roofline.h"

namespace tf::model {

inline constexpr size_t kInnerLoops = 10;  // loops of the main nest, innermost first, described one by one
inline constexpr size_t kFeatureCount = 48 + kResources + 3 * kInnerLoops;
// What the compiler tells of a candidate's code: registers of a thread; the binary logarithm of 1 + bytes that a thread
// spills. Not known of CPUs' code, and of what is not built yet: kMissing then.
inline constexpr size_t kCodeFeatures = 2;
inline constexpr float kMissing = -1e30F;
inline constexpr size_t kRowFeatures = kFeatureCount + kCodeFeatures;
using Features = std::array<float, kRowFeatures>;
// The roofline model's estimate: base-2 logarithm of 1 + nanoseconds.
inline constexpr size_t kRooflineFeature = 43 + 3 * kInnerLoops;

// The nest that most features describe is the one numbered `main`.
std::array<Value, kFeatureCount> features_of(std::span<const Nest> nests, size_t main,
                                             const Roofline& roofline, const target::Target& target,
                                             const RooflineOptions& options);

// Of each feature, whether it means the same in all tasks: shares, tile shapes in registers and vectors,
// operations a byte. Others tell a task's size, or its loops.
const std::array<bool, kFeatureCount>& relative_features();

// The code of a kernel for GPUs, of all its launches the most.
struct CodeFacts {
  double registers_per_thread = 0, spill_bytes = 0;
};
// Nothing: not known.
void set_code(const std::optional<CodeFacts>& code, Features& features);
bool has_code(const Features& features);

// Arithmetic of all runs of the nest.
Value arithmetic_of(const Nest& nest);

}  // namespace tf::model
