#pragma once
// Owns: storing the factors of products narrower than the definition's f32: which anchors have such factors,
// the steps, and what the default schedule takes of what is allowed. Does not know: tiles.

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/numerics.h"
#include "compiler/schedule/step.h"
#include "compiler/schedule/structure.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::schedule {

// An anchor that sums products of an f32 constant, which it alone reads, and something else of f32.
struct NarrowFactors {
  int weights = -1;                          // the constant's number among the inputs
  const tensor::BufferNode* data = nullptr;  // the other factor; null if it is more than one element
};
std::optional<NarrowFactors> narrow_factors(const tensor::Workload& workload, int anchor);

// The ways to store the factors that `allowed` and the workload leave, the one that the default schedule
// takes first. kDefined is always among them.
//
// bf16: where the target multiplies groups of bf16, both factors, if each of the other's elements is used
// often enough to convert it; else weights alone. f16: weights alone. Weights alone pay where each is used a
// few times: then reading them is what takes the time.
std::vector<Storage> storages(const tensor::Workload& workload, const Structure& structure,
                              const tensor::PortLayouts& ports, const target::Target& target,
                              const Numerics& allowed);

// How weights alone are stored where reading them is what takes the time, f16 before bf16, which is less
// exact; kDefined where it is not, or nothing narrower is allowed.
Storage read_storage(const tensor::Workload& workload, const Structure& structure,
                     const target::Target& target, const Numerics& allowed);

// The steps: weights, and if `both` the other factor, which is the result of the stored producer `producer`
// or, if that is empty, an input of which a converted copy is made. Comes while the anchor still reads them,
// under its own name.
struct Narrowing {
  Storage storage = Storage::kDefined;
  bool both = false;
  std::string producer;
  int64_t lanes = 1;  // of the copy's vectors
  bool parallel = false;
};
void append_narrowing(const tensor::Workload& workload, int anchor, const tensor::PortLayouts& ports,
                      const Narrowing& narrowing, std::vector<Step>& steps);

}  // namespace tf::schedule
