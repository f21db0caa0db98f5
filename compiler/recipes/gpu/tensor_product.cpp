#include "compiler/recipes/gpu/tensor_product.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/gpu/tensor_tile.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/tensor_units/tensor_unit.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Workload;
using tensor_units::TensorUnit;

// A factor of the product: a buffer by its name in schedules, and the dimensions of its matrix.
struct Factor {
  std::string name;
  const tensor::Load* load = nullptr;
  int line = 0, term = 0;  // dimensions: m or n, and k
  bool is_constant = false;
  tensor::Element element = tensor::Element::kFloat32;  // that the instruction multiplies
  int rank() const { return static_cast<int>(load->indices.size()); }
  int64_t element_bytes() const { return tensor::element_bytes(element); }
  bool is_narrowed() const { return element != load->type().element; }
};

struct TensorShape {
  const TensorUnit* unit = nullptr;
  Factor a, b;
};

int dimension_of(const tensor::Load& load, const tensor::Var& axis) {
  const auto found =
      std::ranges::find_if(load.indices, [&](const tensor::Expr& e) { return e.same_as(axis); });
  return found == load.indices.end() ? -1 : static_cast<int>(found - load.indices.begin());
}

std::string name_of(const Workload& workload, const tensor::Buffer& buffer) {
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.same_as(buffer)) return input_name(static_cast<int>(i));
  for (size_t i = 0; i < workload.stages.size(); ++i)
    if (workload.stages[i].output.same_as(buffer)) return stage_name(static_cast<int>(i));
  return "";
}

using Narrowed = std::optional<tensor::Element>;

std::optional<Factor> factor_of(const Workload& workload, const tensor::Stage& anchor, const tensor::Expr& e,
                                const tensor::Var& line, const Narrowed& narrow) {
  const auto* cast = tensor::as<tensor::Cast>(e);
  Factor factor{.load = tensor::as<tensor::Load>(cast ? cast->a : e)};
  if (!factor.load) return std::nullopt;
  factor.name = name_of(workload, factor.load->buffer);
  factor.line = dimension_of(*factor.load, line);
  factor.term = dimension_of(*factor.load, anchor.reduce_axes[0].var);
  if (factor.line < 0 || factor.term < 0) return std::nullopt;
  factor.is_constant = std::ranges::any_of(workload.inputs, [&](const tensor::Input& input) {
    return input.constant && input.buffer.same_as(factor.load->buffer);
  });
  factor.element = factor.load->type().element;
  if (narrow && factor.element == tensor::Element::kFloat32) factor.element = *narrow;
  return factor;
}

ProductExtents extents_of(const tensor::Stage& anchor) {
  const size_t rank = anchor.axes.size();
  ProductExtents extents{.m = extent_of(anchor.axes[rank - 2]),
                         .n = extent_of(anchor.axes[rank - 1]),
                         .k = extent_of(anchor.reduce_axes[0])};
  for (size_t axis = 0; axis + 2 < rank; ++axis) extents.count *= extent_of(anchor.axes[axis]);
  return extents;
}

// The best guess first.
std::vector<TensorShape> tensor_shapes(const tensor::KernelSpec& kernel, const Structure& structure,
                                       const TensorMethod& method) {
  if (!structure.anchor || kernel.target.arch != target::Arch::kCuda) return {};
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  const auto* product = tensor::as<tensor::Binary>(anchor.body);
  if (anchor.reduce_axes.size() != 1 || anchor.axes.size() < 2 || anchor.combiner != tensor::Combiner::kSum ||
      !product || product->op != tensor::BinaryOp::kMul)
    return {};
  const tensor::Var &m = anchor.axes[anchor.axes.size() - 2].var, &n = anchor.axes.back().var;
  const ProductExtents extents = extents_of(anchor);
  for (const auto& [left, right] : {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
    const auto a = factor_of(kernel.workload, anchor, left, m, method.narrow),
               b = factor_of(kernel.workload, anchor, right, n, method.narrow);
    if (!a || !b || a->load->buffer.same_as(b->load->buffer) ||
        method.narrow.has_value() != (a->is_narrowed() && b->is_narrowed()))
      continue;
    std::vector<TensorShape> shapes;
    for (const TensorUnit* unit : in_order(
             units_for(kernel.target, a->element, b->element, anchor.output->element, method.tf32), extents))
      shapes.push_back({unit, *a, *b});
    if (!shapes.empty()) return shapes;
  }
  return {};
}

// The order in which a factor lies in shared memory, empty: its own. For a unit that reads it there, in lines of 128 bytes.
OpenLayout shared_layout(const Factor& factor, const TensorUnit& unit, bool transposes) {
  const int last = factor.rank() - 1;
  if (unit.reads_shared) {
    const int along = transposes ? factor.term : last,
              across = along == factor.term ? factor.line : factor.term;
    return lines_layout(factor.rank(), along, across, factor.element);
  }
  OpenLayout layout;
  for (int d = 0; transposes && d <= last; ++d)
    if (d != factor.term) layout.push_back(d, 0);
  if (transposes) layout.push_back(factor.term, 0);
  return layout;
}

// A factor: a block's copy in shared memory, made by all its threads, and, unless the unit reads that, a warp's of it in
// fragments. Lines stand such that eight neighbours lie in different banks.
void append_factor(const Factor& factor, const TensorUnit& unit, const std::string& reduction,
                   const OpenTensorTile& tile, Steps& steps) {
  const std::string copy = factor.name + ".pack";
  const int last = factor.rank() - 1;
  const int64_t vector = kCopyBytes / factor.element_bytes();
  // Lines of memory must run along the terms, unless ldmatrix or the unit turns them, as it does with 16 bits.
  const bool transposes = factor.element_bytes() != 2 && factor.term != last;
  const OpenLayout layout = shared_layout(factor, unit, transposes);
  if (factor.is_narrowed() && factor.is_constant) steps.push_back(Narrow{factor.name, factor.element});
  steps.push_back(CacheRead{factor.name, reduction, layout, tensor::Scope::kGlobal});
  if (factor.is_narrowed() && !factor.is_constant) steps.push_back(Narrow{copy, factor.element});
  if (!unit.reads_shared) {
    steps.push_back(CacheRead{copy, reduction, {}, tensor::Scope::kGlobal});
    steps.push_back(ComputeAt{copy + ".pack", reduction, "r0.1", tensor::Scope::kFragment});
  }
  steps.push_back(ComputeAt{copy, reduction, "r0.0", tensor::Scope::kShared});
  const std::string axis = axis_name(static_cast<size_t>(last));
  steps.push_back(Split{copy, axis, {Size(vector)}, Tail::kGuard});
  std::vector<std::string> loops;
  for (int d = 0; d < last; ++d) loops.push_back(axis_name(static_cast<size_t>(d)));
  loops.push_back(axis + ".0");
  steps.push_back(Fuse{copy, loops});
  const std::string all = absl::StrJoin(loops, "*");
  append_threads(copy, all, unit, tile, steps);
  steps.push_back(Annotate{copy, axis + ".1", transposes ? Annotation::kUnroll : Annotation::kVectorize});
  if (!transposes && !unit.reads_shared)
    steps.push_back(StorageAlign{copy, last - 1, Size(vector), Size(vector)});
}

Steps tensor_steps(const Workload& workload, const Structure& structure, const TensorShape& shape,
                   const OpenTensorTile& tile) {
  const size_t rank = workload.stages[static_cast<size_t>(*structure.anchor)].axes.size();
  Steps steps;
  append_inlining(structure.epilogue, steps);
  const std::string output = stage_name(structure.output);
  std::string reduction = stage_name(*structure.anchor);
  if (reduction == output) {
    steps.push_back(CacheWrite{output});
    reduction += ".acc";
  }
  const std::string count = rank > 2 ? append_fuse(output, rank - 2, steps) : "";
  const std::string lane =
      append_lanes(output, count, axis_name(rank - 2), axis_name(rank - 1), *shape.unit, tile, steps);
  steps.push_back(ComputeAt{reduction, output, lane, tensor::Scope::kFragment});
  const std::string first = append_sums(reduction, rank, *shape.unit, tile, steps);
  for (const Factor* factor : {&shape.a, &shape.b})
    append_factor(*factor, *shape.unit, reduction, tile, steps);
  append_inlining(structure.producers, steps);
  steps.push_back(Pipeline{reduction, "r0.0", tile.stages, tile.bulk});
  steps.push_back(Raster{output, tile.group});
  steps.push_back(Tensorize{reduction, first, std::string(shape.unit->name)});
  return steps;
}

// Without a tile, the usual one, as small as the product asks for.
std::vector<Sketch> tensor_products(const tensor::KernelSpec& kernel,
                                    const std::optional<TensorTile>& tile_given) {
  const Structure structure = structure_of(kernel.workload);
  std::vector<Sketch> sketches;
  const auto add = [&](const TensorMethod& method) {
    const std::vector<TensorShape> shapes = tensor_shapes(kernel, structure, method);
    if (shapes.empty()) return;
    const ProductExtents extents = extents_of(anchor_of(kernel.workload, structure));
    for (const TensorShape& shape : shapes) {
      const TensorUnit& unit = *shape.unit;
      const TensorTile fit = tile_given ? fitted(*tile_given, unit, extents) : default_tile(unit, extents);
      Sketch sketch(absl::StrCat("tensor product", method.suffix,
                                 unit.reads_shared ? absl::StrCat(", wgmma n", unit.n) : ""),
                    kernel);
      const OpenTensorTile tile = opened(fit, unit, kernel.target, sketch);
      sketch.steps.steps = tensor_steps(kernel.workload, structure, shape, tile);
      sketches.push_back(std::move(sketch));
    }
  };
  for (const TensorMethod& method : tensor_methods(kernel)) add(method);
  return sketches;
}

}  // namespace

std::vector<Sketch> tensor_product_on_gpu(const tensor::KernelSpec& kernel, const TensorTile& by_default) {
  return tensor_products(kernel, by_default);
}

std::vector<Sketch> tensor_product_on_gpu(const tensor::KernelSpec& kernel) {
  return tensor_products(kernel, std::nullopt);
}

}  // namespace tf::recipes
