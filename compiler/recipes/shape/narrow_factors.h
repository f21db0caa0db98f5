#pragma once
// Owns: storing the factors of products narrower than the definition's f32: which anchors have such factors,
// the steps, and what the default schedule takes of what is allowed. Does not know: tiles.

#include <optional>
#include <string>
#include <vector>

#include "compiler/recipes/shape/dot_products.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/recipes/steps.h"
#include "compiler/schedule/numerics.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::recipes {

// An anchor that sums products of an f32 constant, which it alone reads, and something else of f32.
struct NarrowFactors {
  int weights = -1;                          // the constant's number among the inputs
  const tensor::BufferNode* data = nullptr;  // the other factor; null if it is more than one element
};
std::optional<NarrowFactors> narrow_factors(const tensor::Workload& workload, int anchor);

// The ways to store the factors that the kernel allows, the one that the default schedule
// takes first. kDefined is always among them.
//
// bf16: where the target multiplies groups of bf16, both factors, if each of the other's elements is used
// often enough to convert it; else weights alone. f16: weights alone. Weights alone pay where each is used a
// few times: then reading them is what takes the time.
std::vector<Storage> storages(const tensor::KernelSpec& kernel, const Structure& structure);

// How weights alone are stored where reading them is what takes the time, f16 before bf16, which is less
// exact; kDefined where it is not, or nothing narrower is allowed.
Storage read_storage(const tensor::KernelSpec& kernel, const Structure& structure);

// The steps: weights, and if `both` the other factor, which is the result of the stored producer `producer`
// or, if that is empty, an input of which a converted copy is made. Comes while the anchor still reads them,
// under its own name.
struct Narrowing {
  Storage storage = Storage::kDefined;
  bool both = false;
  std::string producer;
  bool parallel = false;
};
void append_narrowing(const tensor::KernelSpec& kernel, const Structure& structure,
                      const Narrowing& narrowing, Steps& steps);

}  // namespace tf::recipes
