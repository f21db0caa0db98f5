#pragma once
// Owns: of which elements of a stage the neighbours in memory are computed from neighbours in memory. Does not know: schedules.

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::recipes {

// Of a port in its layout, of any other buffer row-major.
std::optional<std::vector<size_t>> memory_order(const tensor::KernelSpec& kernel,
                                                const tensor::BufferNode& buffer);

struct Neighbours {
  // So many elements in a row are stored side by side, and loaded side by side or from one place, whatever the row; no condition
  // changes within it. 0: all elements are one row. 1: there are none.
  int64_t run = 1;
  int64_t least_bytes = 4, most_bytes = 4;  // of one element, stored or loaded
};

// Of a stage without a reduction, with its body as rewritten so far.
Neighbours neighbours_of(const tensor::KernelSpec& kernel, const tensor::Stage& stage);

// An input whose neighbours in memory are not those of the stage's result: read along another of its axes.
struct TurnedInput {
  int input = 0;  // position among the workload's inputs
  int along = 0;  // the stage's axis along which that memory runs
};

// Of a stage without a reduction, as above, the row-major inputs that it loads once, far from each other for neighbours along its
// last axis with more than one element.
std::vector<TurnedInput> turned_inputs(const tensor::KernelSpec& kernel, const tensor::Stage& stage);

}  // namespace tf::recipes
