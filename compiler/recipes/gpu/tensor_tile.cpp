#include "compiler/recipes/gpu/tensor_tile.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/whole_division.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/schedule/numerics.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
using tensor_units::Digit;
using tensor_units::TensorUnit;

namespace {

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

}  // namespace

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

std::vector<TensorMethod> tensor_methods(const tensor::KernelSpec& kernel) {
  std::vector<TensorMethod> methods = {{"", {}}};
  if (allows(kernel.allowed, kFp16)) methods.push_back({", fp16", tensor::Element::kFloat16});
  if (allows(kernel.allowed, kBf16)) methods.push_back({", bf16", tensor::Element::kBFloat16});
  if (allows(kernel.allowed, kTf32)) methods.push_back({", tf32", {}, true});
  return methods;
}

OpenTensorTile opened(const TensorTile& by_default, const target::Target& target, Sketch& sketch) {
  OpenTensorTile tile;
  tile.warps_m = sketch.open("warps_m", {1, 2, 4}, by_default.warps_m);
  tile.warps_n = sketch.open("warps_n", {1, 2, 4}, by_default.warps_n);
  tile.tiles_m = sketch.open("tiles_m", {1, 2, 4}, by_default.tiles_m);
  tile.tiles_n = sketch.open("tiles_n", {1, 2, 4, 8}, by_default.tiles_n);
  tile.steps = sketch.open("steps", {1, 2, 4}, by_default.steps);
  // Without asynchronous copies a ring is no faster than one tile.
  const bool copies = target.has("cp_async");
  tile.stages = sketch.open("stages", copies ? std::vector<int64_t>{1, 2, 3, 4} : std::vector<int64_t>{1},
                            copies ? by_default.stages : 1);
  tile.group = sketch.open("group", {1, 4, 8}, by_default.group);
  return tile;
}

TensorTile fitted(TensorTile tile, const TensorUnit& unit, const ProductExtents& extents) {
  const auto shrink = [](int64_t& first, int64_t& second, int64_t unit_extent, int64_t extent) {
    while (first * second > 1 && first * second / 2 * unit_extent >= extent)
      (second > 1 ? second : first) /= 2;
  };
  shrink(tile.warps_m, tile.tiles_m, unit.m, extents.m);
  shrink(tile.warps_n, tile.tiles_n, unit.n, extents.n);
  while (tile.steps > 1 && tile.steps / 2 * unit.k >= extents.k) tile.steps /= 2;
  return tile;
}

int64_t blocks_of(const TensorTile& tile, const TensorUnit& unit, const ProductExtents& extents) {
  return extents.count * ceil_div(extents.m, tile.warps_m * tile.tiles_m * unit.m) *
         ceil_div(extents.n, tile.warps_n * tile.tiles_n * unit.n);
}

TensorTile spread(TensorTile tile, const TensorUnit& unit, const ProductExtents& extents) {
  while (blocks_of(tile, unit, extents) < kEnoughBlocks && (tile.tiles_n > 2 || tile.tiles_m > 1)) {
    if (tile.tiles_n >= 2 * tile.tiles_m)
      tile.tiles_n /= 2;
    else
      tile.tiles_m /= 2;
  }
  return tile;
}

std::string append_lanes(const std::string& output, const std::string& count, const std::string& m,
                         const std::string& n, const TensorUnit& unit, const OpenTensorTile& tile,
                         Steps& steps) {
  const auto [rows, lane_rows] = digits_of(unit.c.row);
  const auto [columns, lane_columns] = digits_of(unit.c.column);
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
  if (!count.empty()) {
    order.push_back(count);
    steps.push_back(Annotate{output, count, Annotation::kGridZ});
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
  std::string lane = absl::StrJoin(lanes, "*");
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

std::string append_sums(const std::string& reduction, size_t rank, const TensorUnit& unit,
                        const OpenTensorTile& tile, Steps& steps) {
  const std::string m = axis_name(rank - 2), n = axis_name(rank - 1);
  steps.push_back(Split{reduction, "r0", {tile.steps, Size(unit.k)}, Tail::kGuard});
  steps.push_back(Split{reduction, m, {Size(unit.m)}, Tail::kGuard});
  steps.push_back(Split{reduction, n, {Size(unit.n)}, Tail::kGuard});
  std::vector<std::string> order = {"r0.0", "r0.1"};
  for (size_t axis = 0; axis + 2 < rank; ++axis) order.push_back(axis_name(axis));
  for (const std::string& loop : {m + ".0", n + ".0", m + ".1", n + ".1", std::string("r0.2")})
    order.push_back(loop);
  steps.push_back(Reorder{reduction, order});
  for (const std::string& loop : {std::string("r0.1"), m + ".0", n + ".0"})
    steps.push_back(Annotate{reduction, loop, Annotation::kUnroll});
  return m + ".1";
}

void append_threads(const std::string& copy, const std::string& all, const OpenTensorTile& tile,
                    Steps& steps) {
  steps.push_back(Split{copy, all, {tile.warps_m, tile.warps_n, Size(tensor_units::kLanes)}, Tail::kGuard});
  steps.push_back(Annotate{copy, all + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{copy, all + ".2", Annotation::kThreadZ});
  steps.push_back(Annotate{copy, all + ".3", Annotation::kThreadX});
}

}  // namespace tf::recipes
