#include "compiler/schedule/structure.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/access.h"

namespace tf::schedule {
namespace {

using tensor::Expr;
using tensor::Stage;
using tensor::Workload;

std::set<const tensor::BufferNode*> buffers_read(const Stage& stage) {
  std::set<const tensor::BufferNode*> buffers;
  tensor::for_each(stage.body, [&](const Expr& e) {
    if (const auto* load = tensor::as<tensor::Load>(e)) buffers.insert(load->buffer.get());
    return true;
  });
  return buffers;
}

// Whether every load of `buffer` in the stage is at the stage's own axes, one for one.
bool reads_in_place(const Stage& stage, const tensor::BufferNode* buffer) {
  bool in_place = true;
  tensor::for_each(stage.body, [&](const Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr || load->buffer.get() != buffer) return true;
    in_place = in_place && load->indices.size() == stage.axes.size();
    for (size_t i = 0; in_place && i < load->indices.size(); ++i) {
      // An axis of extent 1 may be written as 0.
      const bool one = tensor::as_int(stage.axes[i].extent) == 1 && tensor::as_int(load->indices[i]) == 0;
      in_place = one || load->indices[i].get() == stage.axes[i].var.get();
    }
    return true;
  });
  return in_place;
}

// The stages from the anchor to the output, if they form element-wise steps over the same axes.
bool find_epilogue(const Workload& workload, int anchor, Structure& structure) {
  std::set<const tensor::BufferNode*> downstream = {
      workload.stages[static_cast<size_t>(anchor)].output.get()};
  for (int i = anchor + 1; i <= structure.output; ++i) {
    const Stage& stage = workload.stages[static_cast<size_t>(i)];
    bool reads = false;
    for (const tensor::BufferNode* buffer : buffers_read(stage)) {
      if (!downstream.contains(buffer)) continue;
      reads = true;
      if (!reads_in_place(stage, buffer)) return false;
    }
    if (reads) downstream.insert(stage.output.get());
    // Element-wise stages that do not depend on the anchor are inlined all the same.
    if (i != structure.output) structure.epilogue.push_back(i);
  }
  return downstream.contains(workload.stages[static_cast<size_t>(structure.output)].output.get());
}

}  // namespace

Structure structure_of(const Workload& workload) {
  Structure structure;
  const auto count = static_cast<int>(workload.stages.size());
  for (int i = 0; i < count; ++i) {
    const Stage& stage = workload.stages[static_cast<size_t>(i)];
    if (!stage.reduce_axes.empty()) structure.reductions.push_back(i);
    if (stage.output.get() == workload.outputs.front().get()) structure.output = i;
  }
  if (structure.reductions.size() != 1 || workload.outputs.size() != 1) return structure;
  const int anchor = structure.reductions.front();
  if (workload.stages[static_cast<size_t>(anchor)].axes.empty() || structure.output != count - 1)
    return structure;
  if (!find_epilogue(workload, anchor, structure)) {
    structure.epilogue.clear();
    return structure;
  }
  for (int i = 0; i < anchor; ++i) structure.producers.push_back(i);
  structure.anchor = anchor;
  return structure;
}

int64_t extent_of(const tensor::Axis& axis) {
  return tensor::as_int(axis.extent).value_or(1);
}

bool computes_nothing(const Workload& workload) {
  auto is_empty = [](const tensor::Axis& axis) { return extent_of(axis) == 0; };
  return std::ranges::any_of(workload.stages, [&](const Stage& stage) {
    return std::ranges::any_of(stage.axes, is_empty) || std::ranges::any_of(stage.reduce_axes, is_empty);
  });
}

int dimension_of(const tensor::Load& load, const tensor::VarNode* var) {
  for (size_t dim = 0; dim < load.indices.size(); ++dim)
    if (load.indices[dim].get() == var) return static_cast<int>(dim);
  return -1;
}

bool reads_one_operand(const Stage& stage) {
  std::set<const tensor::BufferNode*> operands;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    if (const auto* load = tensor::as<tensor::Load>(e)) operands.insert(load->buffer.get());
    return true;
  });
  return operands.size() == 1;
}

bool slides_over_one_channel(const Stage& stage) {
  constexpr int64_t kLargestWindow = 32;
  return stage.axes.size() == 4 && stage.reduce_axes.size() == 2 && !reads_one_operand(stage) &&
         extent_of(stage.reduce_axes[0]) * extent_of(stage.reduce_axes[1]) <= kLargestWindow;
}

std::string stage_name(int index) {
  return absl::StrCat("t", index);
}
std::string input_name(int index) {
  return absl::StrCat("p", index);
}

std::optional<int> memory_axis(const tensor::BufferNode& buffer, const tensor::Layout& layout) {
  auto is_long = [&](int axis) {
    return tensor::as_int(buffer.extents[static_cast<size_t>(axis)]).value_or(1) > 1;
  };
  for (size_t i = layout.axes.size(); i-- > 0;) {
    if (is_long(layout.axes[i].axis)) return layout.axes[i].axis;
  }
  for (int axis = buffer.rank(); axis-- > 0;) {
    if (is_long(axis)) return axis;
  }
  return std::nullopt;
}

int vector_axis(const Stage& output, const tensor::Layout& layout) {
  return memory_axis(*output.output, layout).value_or(0);
}

std::vector<ConstantLayout> constant_layouts(const Workload& workload, int anchor, const VectorBlock& block,
                                             int64_t reduce_block, int64_t group) {
  const Stage& stage = workload.stages[static_cast<size_t>(anchor)];
  const tensor::VarNode* vector_var = stage.axes[static_cast<size_t>(block.axis)].var.get();
  const tensor::VarNode* reduce_var =
      stage.reduce_axes.empty() ? nullptr : stage.reduce_axes.front().var.get();
  std::vector<ConstantLayout> layouts;
  for (size_t input = 0; input < workload.inputs.size(); ++input) {
    if (!workload.inputs[input].constant) continue;
    const tensor::BufferNode* buffer = workload.inputs[input].buffer.get();
    const tensor::Load* found = nullptr;
    bool single = true;
    tensor::for_each(stage.body, [&](const Expr& e) {
      const auto* load = tensor::as<tensor::Load>(e);
      if (load != nullptr && load->buffer.get() == buffer) {
        single = found == nullptr || found == load;
        found = load;
      }
      return true;
    });
    if (found == nullptr || !single || buffer->rank() < 2) continue;
    int vector_dim = -1, reduce_dim = -1;
    for (int dim = 0; dim < buffer->rank(); ++dim) {
      const Expr& index = found->indices[static_cast<size_t>(dim)];
      if (index.get() == vector_var) vector_dim = dim;
      if (reduce_var != nullptr && index.get() == reduce_var) reduce_dim = dim;
      if (index.get() != vector_var && analysis::uses(index, vector_var))
        vector_dim = -2;  // strided: no layout helps
    }
    if (vector_dim < 0) continue;
    OpenLayout layout;
    layout.axes.push_back({vector_dim, 0});
    for (int dim = 0; dim < buffer->rank(); ++dim) {
      if (dim != vector_dim) layout.axes.push_back({dim, 0});
    }
    if (reduce_block > group && reduce_dim >= 0) layout.axes.push_back({reduce_dim, reduce_block / group});
    layout.push_back(vector_dim, block.vectors);
    layout.axes.push_back({vector_dim, block.lanes});
    if (group > 1 && reduce_dim >= 0) layout.axes.push_back({reduce_dim, group});
    layouts.push_back({static_cast<int>(input), std::move(layout)});
  }
  return layouts;
}

namespace {

// A widened element, as dot products take them: what the cast is of, or what `storage` will make one of.
struct Widened {
  const tensor::Load* load = nullptr;
  tensor::Element element = tensor::Element::kFloat32;
};
Widened widened(const Expr& factor, Storage storage) {
  const auto* load = tensor::as<tensor::Load>(factor);
  const bool narrowed = storage == Storage::kBFloat16 && load != nullptr;
  if (narrowed && load->type().element == tensor::Element::kFloat32)
    return {load, tensor::Element::kBFloat16};
  const auto* cast = tensor::as<tensor::Cast>(factor);
  load = cast != nullptr ? tensor::as<tensor::Load>(cast->a) : nullptr;
  return load != nullptr ? Widened{load, load->type().element} : Widened{};
}

// Whether groups of neighbours along the dimension are neighbours in memory, in the layout of the input that
// the buffer is or copies (a padded image has its image's).
bool lies_in_groups(const Workload& workload, const tensor::BufferNode* buffer, int dim, int64_t group,
                    const tensor::PortLayouts& ports) {
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    const tensor::BufferNode* input = workload.inputs[i].buffer.get();
    if (workload.inputs[i].constant || input->rank() != buffer->rank()) continue;
    const tensor::Layout& layout = ports.input(workload, i);
    if (layout.is_row_major()) return dim + 1 == buffer->rank();
    return layout.axes.back().axis == dim && layout.axes.back().block % group == 0;
  }
  return false;
}

int64_t group_of(tensor::Element a, tensor::Element b, const target::Target& target) {
  auto is_byte = [](tensor::Element e) {
    return e == tensor::Element::kInt8 || e == tensor::Element::kUInt8;
  };
  const bool x86 = target.arch == target::Arch::kX86_64, arm = target.arch == target::Arch::kAArch64;
  if (is_byte(a) && is_byte(b)) {
    if (x86) return target.has("avx512vnni") || target.has("avxvnni") ? 4 : 1;
    return arm && target.has("dotprod") && (a == b || target.has("i8mm")) ? 4 : 1;
  }
  if (a != tensor::Element::kBFloat16 || b != a) return 1;
  return (x86 && target.has("avx512bf16")) || (arm && target.has("bf16")) ? 2 : 1;
}

// The factors of an anchor's products: what does not move with the vector axis, and what does and is a
// constant or packed. Nothing if they are not such.
struct DotFactors {
  Widened rows, columns;
  bool constant = false;  // the columns
};
std::optional<DotFactors> dot_factors(const Workload& workload, int anchor, int axis, Columns packed,
                                      Storage storage) {
  const Stage& stage = workload.stages[static_cast<size_t>(anchor)];
  const auto* product = tensor::as<tensor::Binary>(stage.body);
  if (stage.combiner != tensor::Combiner::kSum || product == nullptr || product->op != tensor::BinaryOp::kMul)
    return std::nullopt;
  Widened rows = widened(product->a, storage), columns = widened(product->b, storage);
  if (rows.load == nullptr || columns.load == nullptr) return std::nullopt;
  const tensor::VarNode* lane = stage.axes[static_cast<size_t>(axis)].var.get();
  if (dimension_of(*columns.load, lane) < 0) std::swap(rows, columns);
  const bool moves =
      std::ranges::any_of(rows.load->indices, [&](const Expr& index) { return analysis::uses(index, lane); });
  if (dimension_of(*columns.load, lane) < 0 || moves) return std::nullopt;
  auto is_constant = [&](const tensor::Load* load) {
    return std::ranges::any_of(workload.inputs, [&](const tensor::Input& input) {
      return input.constant && input.buffer.get() == load->buffer.get();
    });
  };
  const bool constant = is_constant(columns.load);
  if (is_constant(rows.load) || (!constant && packed == Columns::kAsGiven)) return std::nullopt;
  return DotFactors{rows, columns, constant};
}

}  // namespace

int64_t dot_group(const Workload& workload, int anchor, int axis, const tensor::PortLayouts& ports,
                  const target::Target& target, Columns packed, Storage storage) {
  const std::optional<DotFactors> f = dot_factors(workload, anchor, axis, packed, storage);
  if (!f) return 1;
  const Stage& stage = workload.stages[static_cast<size_t>(anchor)];
  const int64_t group = group_of(f->rows.element, f->columns.element, target);
  const tensor::VarNode* term = stage.reduce_axes.front().var.get();
  const int dim = dimension_of(*f->rows.load, term);
  const int64_t terms = tensor::as_int(stage.reduce_axes.front().extent).value_or(1);
  if (group == 1 || dim < 0 || terms == 0 || terms % group != 0 || dimension_of(*f->columns.load, term) < 0)
    return 1;
  return lies_in_groups(workload, f->rows.load->buffer.get(), dim, group, ports) ? group : 1;
}

std::optional<Offset> dot_offset(const Workload& workload, int anchor, int axis,
                                 const target::Target& target) {
  const std::optional<DotFactors> f =
      dot_factors(workload, anchor, axis, Columns::kPacked, Storage::kDefined);
  if (!f || tensor::is_float(f->rows.element) || f->rows.element != f->columns.element ||
      target.arch != target::Arch::kX86_64)
    return std::nullopt;
  std::string name;
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.same_as(f->rows.load->buffer)) name = input_name(static_cast<int>(i));
  for (size_t i = 0; i < workload.stages.size(); ++i)
    if (workload.stages[i].output.same_as(f->rows.load->buffer)) name = stage_name(static_cast<int>(i));
  return Offset{"", std::move(name), f->rows.element == tensor::Element::kInt8 ? 128 : -128};
}

}  // namespace tf::schedule
