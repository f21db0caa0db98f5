#pragma once
// Owns: recognising the shape of a workload: one reduction with element-wise stages before and after it, or
// anything else. Default schedules, templates and sketch rules all start from it.

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/step.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::schedule {

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

// The extent of a bound axis.
int64_t extent_of(const tensor::Axis& axis);

// Whether a stage has no elements or sums none: an axis of extent 0.
bool computes_nothing(const tensor::Workload& workload);

// The dimension that is indexed by exactly this variable; -1 if none is.
int dimension_of(const tensor::Load& load, const tensor::VarNode* var);

bool reads_one_operand(const tensor::Stage& stage);
// A weighted sum over a small window of one channel, as depthwise convolutions are: its inner loops are few
// operations on what neighbours read too.
bool slides_over_one_channel(const tensor::Stage& stage);

std::string stage_name(int index);
std::string input_name(int index);

// The axis of the buffer along which memory runs: the innermost physical one with more than one element.
// Nothing if no axis has more.
std::optional<int> memory_axis(const tensor::BufferNode& buffer, const tensor::Layout& layout);

// The output axis whose neighbours lie next to each other in memory: that of its buffer; 0 if there is none.
// rank must be positive.
int vector_axis(const tensor::Stage& output, const tensor::Layout& layout);

// How constants that the anchor reads are best stored: the dimension that moves with the anchor's axis `axis`
// is blocked by `vectors` * `lanes` and made innermost, so that the vectors of a tile stand side by side; if
// `reduce_block` > 1, the dimension that moves with the first reduce axis is blocked by it just outside; if
// `group` > 1, so many of its elements, for one dot product, stand together inside. One entry a constant that
// has such a dimension.
struct ConstantLayout {
  int input = 0;
  OpenLayout layout;
};
struct VectorBlock {
  int axis = 0;
  Size vectors = 1;
  int64_t lanes = 1;
};
std::vector<ConstantLayout> constant_layouts(const tensor::Workload& workload, int anchor,
                                             const VectorBlock& block, int64_t reduce_block, int64_t group);

// What f32 factors of an anchor's products are stored as (numerics.h: it costs accuracy).
enum class Storage : uint8_t { kDefined, kBFloat16, kFloat16 };

// Whether what moves with the vector axis is read as it is given, or from a copy in the order of tiles.
enum class Columns : uint8_t { kAsGiven, kPacked };

// How many neighbours of the first reduce axis a dot-product instruction of the target takes at once (4
// bytes, 2 bf16), if the anchor sums products of such elements, of which one factor moves with `axis` and is
// a constant or packed, and the other lies in groups of neighbours in memory, apart from it; 1 otherwise.
// Factors of f32 count as what `storage` makes of them.
int64_t dot_group(const tensor::Workload& workload, int anchor, int axis, const tensor::PortLayouts& ports,
                  const target::Target& target, Columns columns, Storage storage = Storage::kDefined);

// Where dot_group's instruction multiplies factors of different signs only (x86), and the anchor's are of the
// same: the step that moves the one that does not move with `axis`. Its stage is left to whoever says what
// sums.
std::optional<Offset> dot_offset(const tensor::Workload& workload, int anchor, int axis,
                                 const target::Target& target);

}  // namespace tf::schedule
