#pragma once
// Owns: the loops of a stage that is computed by itself, with sizes that suit it. Does not know: what is
// computed before or after it.

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/step.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::schedule {

// The axis along which elements lie next to each other where they come from, if the stage only moves them (a
// copy, a transpose, a concatenation) and none of them lie so along `axis`; -1 if that is none of its own.
std::optional<int> gathered_along(const tensor::Workload& workload, const tensor::Stage& stage, int axis,
                                  const tensor::PortLayouts& ports);

// Whether the stage is work enough to wake threads for.
bool worth_threads(const tensor::Stage& stage, int threads);

// Vectors along the axis that is innermost in `layout`, in squares where elements are only moved to another
// order; in parallel if that is worth it. `name` is the stage's.
void append_flat_stage(const tensor::Workload& workload, const tensor::Stage& stage, const std::string& name,
                       const tensor::Layout& layout, const tensor::PortLayouts& ports,
                       const target::Target& target, int threads, std::vector<Step>& steps);

}  // namespace tf::schedule
