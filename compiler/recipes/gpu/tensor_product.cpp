#include "compiler/recipes/gpu/tensor_product.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/whole_division.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/schedule/numerics.h"
#include "compiler/tensor_units/tensor_unit.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Workload;
using tensor_units::Digit;
using tensor_units::TensorUnit;

constexpr int64_t kCopyBytes = 16;  // that a thread copies at once

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

// How f32 is multiplied: as it is, which no instruction does; stored in 16 bits; by its upper 19 bits.
struct Method {
  const char* family;
  Narrowed narrow;
  bool tf32 = false;
};

// The instruction of the target with the most terms.
const TensorUnit* unit_for(const target::Target& target, tensor::Element a, tensor::Element b,
                           tensor::Element c, bool tf32) {
  const TensorUnit* best = nullptr;
  for (const TensorUnit& unit : tensor_units::tensor_units())
    if (unit.a_element == a && unit.b_element == b && unit.c_element == c && unit.takes_tf32 == tf32 &&
        tensor::element_bytes(a) <= 4 && target.has(unit.feature) &&
        (!best || unit.m * unit.k > best->m * best->k))
      best = &unit;
  return best;
}

std::optional<TensorShape> tensor_shape(const tensor::KernelSpec& kernel, const Structure& structure,
                                        const Method& method) {
  if (!structure.anchor || kernel.target.arch != target::Arch::kCuda) return std::nullopt;
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  const auto* product = tensor::as<tensor::Binary>(anchor.body);
  if (anchor.reduce_axes.size() != 1 || anchor.axes.size() < 2 || anchor.combiner != tensor::Combiner::kSum ||
      !product || product->op != tensor::BinaryOp::kMul)
    return std::nullopt;
  const tensor::Var &m = anchor.axes[anchor.axes.size() - 2].var, &n = anchor.axes.back().var;
  for (const auto& [left, right] : {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
    const auto a = factor_of(kernel.workload, anchor, left, m, method.narrow),
               b = factor_of(kernel.workload, anchor, right, n, method.narrow);
    if (!a || !b || a->load->buffer.same_as(b->load->buffer) ||
        method.narrow.has_value() != (a->is_narrowed() && b->is_narrowed()))
      continue;
    const TensorUnit* unit =
        unit_for(kernel.target, a->element, b->element, anchor.output->element, method.tf32);
    if (unit) return TensorShape{unit, *a, *b};
  }
  return std::nullopt;
}

struct OpenTensorTile {
  Size warps_m, warps_n, tiles_m, tiles_n, steps, stages, group;
};

// Counts of the digits of one coordinate of c, the largest steps first; the number of the lanes' digit among them.
std::pair<std::vector<Size>, size_t> digits_of(std::vector<Digit> digits) {
  std::ranges::sort(digits, std::greater(), &Digit::step);
  std::vector<Size> counts;
  size_t lanes = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    counts.emplace_back(digits[i].count);
    if (digits[i].source == Digit::kLane) lanes = i;
  }
  return {counts, lanes};
}

// The output's loops: blocks, warps, lanes, then what a lane holds of c. Returns the loop over lanes.
std::string append_lanes(const std::string& output, size_t rank, const TensorShape& shape,
                         const OpenTensorTile& tile, Steps& steps) {
  const std::string m = axis_name(rank - 2), n = axis_name(rank - 1);
  const auto [rows, lane_rows] = digits_of(shape.unit->c.row);
  const auto [columns, lane_columns] = digits_of(shape.unit->c.column);
  const auto split = [&](const std::string& axis, Size warps, Size tiles, const std::vector<Size>& digits) {
    std::vector<Size> factors = {warps, tiles};
    factors.insert(factors.end(), digits.begin(), digits.end());
    steps.push_back(Split{output, axis, std::move(factors), Tail::kGuard});
  };
  split(m, tile.warps_m, tile.tiles_m, rows);
  split(n, tile.warps_n, tile.tiles_n, columns);
  constexpr size_t kFirstDigit = 3;
  const auto digit = [&](const std::string& axis, size_t i) {
    return absl::StrCat(axis, ".", kFirstDigit + i);
  };
  std::vector<std::string> order;
  if (rank > 2) {
    order.push_back(append_fuse(output, rank - 2, steps));
    steps.push_back(Annotate{output, order[0], Annotation::kGridZ});
  }
  const std::vector<std::string> lanes = {digit(m, lane_rows), digit(n, lane_columns)};
  for (const std::string& loop :
       {m + ".0", n + ".0", m + ".1", n + ".1", lanes[0], lanes[1], m + ".2", n + ".2"})
    order.push_back(loop);
  const size_t held = order.size() - 2;
  for (size_t i = 0; i < rows.size(); ++i)
    if (i != lane_rows) order.push_back(digit(m, i));
  for (size_t i = 0; i < columns.size(); ++i)
    if (i != lane_columns) order.push_back(digit(n, i));
  steps.push_back(Reorder{output, order});
  steps.push_back(Fuse{output, lanes});
  const std::string lane = absl::StrJoin(lanes, "*");
  steps.push_back(Annotate{output, m + ".0", Annotation::kGridY});
  steps.push_back(Annotate{output, n + ".0", Annotation::kGridX});
  steps.push_back(Annotate{output, m + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{output, n + ".1", Annotation::kThreadZ});
  steps.push_back(Annotate{output, lane, Annotation::kThreadX});
  for (size_t i = held; i + 1 < order.size(); ++i)
    steps.push_back(Annotate{output, order[i], Annotation::kUnroll});
  steps.push_back(Annotate{output, order.back(), Annotation::kVectorize});
  return lane;
}

// The sums: steps of shared memory, then of the instruction, then its tiles. Returns the first of its loops.
std::string append_sums(const std::string& reduction, size_t rank, const TensorShape& shape,
                        const OpenTensorTile& tile, Steps& steps) {
  const std::string m = axis_name(rank - 2), n = axis_name(rank - 1);
  steps.push_back(Split{reduction, "r0", {tile.steps, Size(shape.unit->k)}, Tail::kGuard});
  steps.push_back(Split{reduction, m, {Size(shape.unit->m)}, Tail::kGuard});
  steps.push_back(Split{reduction, n, {Size(shape.unit->n)}, Tail::kGuard});
  std::vector<std::string> order = {"r0.0", "r0.1"};
  for (size_t axis = 0; axis + 2 < rank; ++axis) order.push_back(axis_name(axis));
  for (const std::string& loop : {m + ".0", n + ".0", m + ".1", n + ".1", std::string("r0.2")})
    order.push_back(loop);
  steps.push_back(Reorder{reduction, order});
  for (const std::string& loop : {std::string("r0.1"), m + ".0", n + ".0"})
    steps.push_back(Annotate{reduction, loop, Annotation::kUnroll});
  return m + ".1";
}

// A factor: a block's copy in shared memory, made by all its threads, and a warp's of that, in fragments. Lines stand such
// that eight neighbours lie in different banks.
void append_factor(const Factor& factor, const std::string& reduction, const OpenTensorTile& tile,
                   Steps& steps) {
  const std::string copy = factor.name + ".pack";
  const int last = factor.rank() - 1;
  const int64_t vector = kCopyBytes / factor.element_bytes();
  // Lines of memory must run along the terms, unless ldmatrix turns them, as it does with 16 bits.
  const bool transposes = factor.element_bytes() != 2 && factor.term != last;
  OpenLayout layout;
  for (int d = 0; transposes && d <= last; ++d)
    if (d != factor.term) layout.push_back(d, 0);
  if (transposes) layout.push_back(factor.term, 0);
  if (factor.is_narrowed() && factor.is_constant) steps.push_back(Narrow{factor.name, factor.element});
  steps.push_back(CacheRead{factor.name, reduction, layout, tensor::Scope::kGlobal});
  if (factor.is_narrowed() && !factor.is_constant) steps.push_back(Narrow{copy, factor.element});
  steps.push_back(CacheRead{copy, reduction, {}, tensor::Scope::kGlobal});
  steps.push_back(ComputeAt{copy + ".pack", reduction, "r0.1", tensor::Scope::kFragment});
  steps.push_back(ComputeAt{copy, reduction, "r0.0", tensor::Scope::kShared});
  const std::string axis = axis_name(static_cast<size_t>(last));
  steps.push_back(Split{copy, axis, {Size(vector)}, Tail::kGuard});
  std::vector<std::string> loops;
  for (int d = 0; d < last; ++d) loops.push_back(axis_name(static_cast<size_t>(d)));
  loops.push_back(axis + ".0");
  steps.push_back(Fuse{copy, loops});
  const std::string all = absl::StrJoin(loops, "*");
  steps.push_back(Split{copy, all, {tile.warps_m, tile.warps_n, Size(tensor_units::kLanes)}, Tail::kGuard});
  steps.push_back(Annotate{copy, all + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{copy, all + ".2", Annotation::kThreadZ});
  steps.push_back(Annotate{copy, all + ".3", Annotation::kThreadX});
  steps.push_back(Annotate{copy, axis + ".1", transposes ? Annotation::kUnroll : Annotation::kVectorize});
  if (!transposes) steps.push_back(StorageAlign{copy, last - 1, Size(vector), Size(vector)});
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
  const std::string lane = append_lanes(output, rank, shape, tile, steps);
  steps.push_back(ComputeAt{reduction, output, lane, tensor::Scope::kFragment});
  const std::string first = append_sums(reduction, rank, shape, tile, steps);
  for (const Factor* factor : {&shape.a, &shape.b}) append_factor(*factor, reduction, tile, steps);
  append_inlining(structure.producers, steps);
  steps.push_back(Pipeline{reduction, "r0.0", tile.stages});
  steps.push_back(Raster{output, tile.group});
  steps.push_back(Tensorize{reduction, first, std::string(shape.unit->name)});
  return steps;
}

// No larger than the product.
TensorTile fitted(TensorTile tile, const TensorUnit& unit, const tensor::Stage& anchor) {
  const int64_t m = extent_of(anchor.axes[anchor.axes.size() - 2]), n = extent_of(anchor.axes.back()),
                k = extent_of(anchor.reduce_axes[0]);
  const auto shrink = [](int64_t& first, int64_t& second, int64_t unit_extent, int64_t extent) {
    while (first * second > 1 && first * second / 2 * unit_extent >= extent)
      (second > 1 ? second : first) /= 2;
  };
  shrink(tile.warps_m, tile.tiles_m, unit.m, m);
  shrink(tile.warps_n, tile.tiles_n, unit.n, n);
  while (tile.steps > 1 && tile.steps / 2 * unit.k >= k) tile.steps /= 2;
  return tile;
}

// Smaller where a GPU would else have work for few of its units; how many it has is not part of the target.
TensorTile spread(TensorTile tile, const TensorUnit& unit, const tensor::Stage& anchor) {
  constexpr int64_t kBlocks = 64;
  int64_t batch = 1;
  for (size_t axis = 0; axis + 2 < anchor.axes.size(); ++axis) batch *= extent_of(anchor.axes[axis]);
  const int64_t m = extent_of(anchor.axes[anchor.axes.size() - 2]), n = extent_of(anchor.axes.back());
  const auto blocks = [&] {
    return batch * ceil_div(m, tile.warps_m * tile.tiles_m * unit.m) *
           ceil_div(n, tile.warps_n * tile.tiles_n * unit.n);
  };
  while (blocks() < kBlocks && (tile.tiles_n > 2 || tile.tiles_m > 1)) {
    if (tile.tiles_n >= 2 * tile.tiles_m)
      tile.tiles_n /= 2;
    else
      tile.tiles_m /= 2;
  }
  return tile;
}

// Without a tile, the usual one, as small as the product asks for.
std::vector<Sketch> tensor_products(const tensor::KernelSpec& kernel,
                                    const std::optional<TensorTile>& tile_given) {
  const Structure structure = structure_of(kernel.workload);
  std::vector<Sketch> sketches;
  const auto add = [&](const Method& method) {
    const std::optional<TensorShape> shape = tensor_shape(kernel, structure, method);
    if (!shape) return;
    const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
    TensorTile fit = fitted(tile_given.value_or(TensorTile{}), *shape->unit, anchor);
    if (!tile_given) fit = spread(fit, *shape->unit, anchor);
    Sketch sketch(method.family, kernel);
    OpenTensorTile tile;
    tile.warps_m = sketch.open("warps_m", {1, 2, 4}, fit.warps_m);
    tile.warps_n = sketch.open("warps_n", {1, 2, 4}, fit.warps_n);
    tile.tiles_m = sketch.open("tiles_m", {1, 2, 4}, fit.tiles_m);
    tile.tiles_n = sketch.open("tiles_n", {1, 2, 4, 8}, fit.tiles_n);
    tile.steps = sketch.open("steps", {1, 2, 4}, fit.steps);
    // Without asynchronous copies a ring is no faster than one tile.
    const bool copies = kernel.target.has("cp_async");
    tile.stages = sketch.open("stages", copies ? std::vector<int64_t>{1, 2, 3, 4} : std::vector<int64_t>{1},
                              copies ? fit.stages : 1);
    tile.group = sketch.open("group", {1, 4, 8}, fit.group);
    sketch.steps.steps = tensor_steps(kernel.workload, structure, *shape, tile);
    sketches.push_back(std::move(sketch));
  };
  add({"tensor product", {}});
  if (allows(kernel.allowed, kFp16)) add({"tensor product, fp16", tensor::Element::kFloat16});
  if (allows(kernel.allowed, kBf16)) add({"tensor product, bf16", tensor::Element::kBFloat16});
  if (allows(kernel.allowed, kTf32)) add({"tensor product, tf32", {}, true});
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
