#pragma once
// Owns: recognising the shape of a workload: one reduction with element-wise stages before and after it, or
// anything else. All recipes start from it.

#include <optional>
#include <string>
#include <vector>

#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::recipes {

// Indices are positions in workload.stages; stage k is called "t<k>" in schedules.
struct Structure {
  std::vector<int> reductions;  // all stages with reduce axes
  // Set if there is exactly one reduction, one output, and everything from the reduction to the output is
  // element-wise over the output's own axes: the case that register tiling handles.
  std::optional<int> anchor;
  std::vector<int> producers;  // element-wise stages that the anchor reads (padding, scaling), in order
  std::vector<int> epilogue;   // element-wise stages between anchor and output, neither included
  int output = 0;              // the stage of the (first) output
};

Structure structure_of(const tensor::Workload& workload);

// The stages of a structure; the anchor's must be there.
const tensor::Stage& anchor_of(const tensor::Workload& workload, const Structure& structure);
const tensor::Stage& output_of(const tensor::Workload& workload, const Structure& structure);

// The extent of a bound axis.
int64_t extent_of(const tensor::Axis& axis);

// Whether a stage has no elements or sums none: an axis of extent 0.
bool computes_nothing(const tensor::Workload& workload);

bool reads_one_operand(const tensor::Stage& stage);
// A weighted sum over a small window of one channel, as depthwise convolutions are: its inner loops are few
// operations on what neighbours read too.
bool slides_over_one_channel(const tensor::Stage& stage);

std::string stage_name(int index);
std::string input_name(int index);

// The axis of the buffer along which memory runs: the innermost physical one with more than one element.
// Nothing if no axis has more.
std::optional<int> memory_axis(const tensor::BufferNode& buffer, const tensor::Layout& layout);

// The axes as they lie in memory, the outermost first; nothing where the layout has blocks.
std::optional<std::vector<size_t>> memory_order(const tensor::Layout& layout, int rank);

// Where the loaded element lies in its buffer, in elements; null where the layout has blocks.
tensor::Expr element_offset(const tensor::Load& load, const tensor::Layout& layout);

// The output axis whose neighbours lie next to each other in memory: that of its buffer; 0 if there is none.
// rank must be positive.
int vector_axis(const tensor::Stage& output, const tensor::Layout& layout);
int vector_axis(const tensor::KernelSpec& kernel, const Structure& structure);  // of the structure's output

}  // namespace tf::recipes
