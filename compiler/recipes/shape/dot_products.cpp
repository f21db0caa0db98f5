#include "compiler/recipes/shape/dot_products.h"

#include <algorithm>

#include "compiler/analysis/access.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
using tensor::Expr;
using tensor::Stage;
using tensor::Workload;
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
bool lies_in_groups(const tensor::KernelSpec& kernel, const tensor::BufferNode* buffer, int dim,
                    int64_t group) {
  const Workload& workload = kernel.workload;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    const tensor::BufferNode* input = workload.inputs[i].buffer.get();
    if (workload.inputs[i].constant || input->rank() != buffer->rank()) continue;
    const tensor::Layout& layout = kernel.ports.input(workload, i);
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
std::optional<DotFactors> dot_factors(const tensor::KernelSpec& kernel, const Structure& structure,
                                      Columns packed, Storage storage) {
  const Workload& workload = kernel.workload;
  const Stage& stage = anchor_of(workload, structure);
  const auto* product = tensor::as<tensor::Binary>(stage.body);
  if (stage.combiner != tensor::Combiner::kSum || product == nullptr || product->op != tensor::BinaryOp::kMul)
    return std::nullopt;
  Widened rows = widened(product->a, storage), columns = widened(product->b, storage);
  if (rows.load == nullptr || columns.load == nullptr) return std::nullopt;
  const tensor::VarNode* lane = stage.axes[static_cast<size_t>(vector_axis(kernel, structure))].var.get();
  if (analysis::dimension_of(*columns.load, lane) < 0) std::swap(rows, columns);
  const bool moves =
      std::ranges::any_of(rows.load->indices, [&](const Expr& index) { return analysis::uses(index, lane); });
  if (analysis::dimension_of(*columns.load, lane) < 0 || moves) return std::nullopt;
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

int64_t dot_group(const tensor::KernelSpec& kernel, const Structure& structure, Columns packed,
                  Storage storage) {
  const std::optional<DotFactors> f = dot_factors(kernel, structure, packed, storage);
  if (!f) return 1;
  const Stage& stage = anchor_of(kernel.workload, structure);
  const int64_t group = group_of(f->rows.element, f->columns.element, kernel.target);
  const tensor::VarNode* term = stage.reduce_axes.front().var.get();
  const int dim = analysis::dimension_of(*f->rows.load, term);
  const int64_t terms = tensor::as_int(stage.reduce_axes.front().extent).value_or(1);
  if (group == 1 || dim < 0 || terms == 0 || terms % group != 0 ||
      analysis::dimension_of(*f->columns.load, term) < 0)
    return 1;
  return lies_in_groups(kernel, f->rows.load->buffer.get(), dim, group) ? group : 1;
}

std::optional<Offset> dot_offset(const tensor::KernelSpec& kernel, const Structure& structure) {
  const Workload& workload = kernel.workload;
  const std::optional<DotFactors> f = dot_factors(kernel, structure, Columns::kPacked, Storage::kDefined);
  if (!f || tensor::is_float(f->rows.element) || f->rows.element != f->columns.element ||
      kernel.target.arch != target::Arch::kX86_64)
    return std::nullopt;
  std::string name;
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.same_as(f->rows.load->buffer)) name = input_name(static_cast<int>(i));
  for (size_t i = 0; i < workload.stages.size(); ++i)
    if (workload.stages[i].output.same_as(f->rows.load->buffer)) name = stage_name(static_cast<int>(i));
  return Offset{"", std::move(name), f->rows.element == tensor::Element::kInt8 ? 128 : -128};
}

}  // namespace tf::recipes
