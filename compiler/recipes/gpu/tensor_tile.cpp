#include "compiler/recipes/gpu/tensor_tile.h"

#include <algorithm>

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

// Of a coordinate of c: its digits, the largest steps first, which are loops behind those over blocks, warps and tiles.
struct Digits {
  std::vector<Size> counts;
  std::vector<std::string> lanes, elements;  // loops over the digits of either
};

Digits digits_of(const std::string& axis, std::vector<Digit> digits) {
  constexpr size_t kFirst = 3;
  std::ranges::sort(digits, std::greater(), &Digit::step);
  Digits all;
  for (size_t i = 0; i < digits.size(); ++i) {
    all.counts.emplace_back(digits[i].count);
    (digits[i].source == Digit::kLane ? all.lanes : all.elements)
        .push_back(absl::StrCat(axis, ".", kFirst + i));
  }
  return all;
}

// Of four warps: two of them, 64 rows each, of all columns of the instruction.
constexpr TensorTile kGroupTile = {
    .warps_m = 2, .warps_n = 1, .tiles_m = 1, .tiles_n = 1, .steps = kLineSteps, .stages = 4};

}  // namespace

std::vector<const TensorUnit*> units_for(const target::Target& target, tensor::Element a, tensor::Element b,
                                         tensor::Element c, bool tf32) {
  std::vector<const TensorUnit*> all;
  const TensorUnit* best = nullptr;
  for (const TensorUnit& unit : tensor_units::tensor_units()) {
    if (unit.a_element != a || unit.b_element != b || unit.c_element != c || unit.takes_tf32 != tf32 ||
        tensor::element_bytes(a) > 4 || !target.has(unit.feature))
      continue;
    if (unit.reads_shared)
      all.push_back(&unit);
    else if (!best || unit.m * unit.k > best->m * best->k)
      best = &unit;
  }
  if (best) all.push_back(best);
  return all;
}

OpenLayout lines_layout(int rank, int along, int across, tensor::Element element) {
  OpenLayout layout;
  for (int d = 0; d < rank; ++d)
    if (d != along && d != across) layout.push_back(d, 0);
  layout.push_back(along, 0);
  layout.push_back(across, 0);
  layout.push_back(along, tensor_units::kLineBytes / tensor::element_bytes(element));
  layout.swizzle = tensor_units::line_swizzle(element);
  return layout;
}

std::vector<TensorMethod> tensor_methods(const tensor::KernelSpec& kernel) {
  std::vector<TensorMethod> methods = {{"", {}}};
  if (allows(kernel.allowed, kFp16)) methods.push_back({", fp16", tensor::Element::kFloat16});
  if (allows(kernel.allowed, kBf16)) methods.push_back({", bf16", tensor::Element::kBFloat16});
  if (allows(kernel.allowed, kTf32)) methods.push_back({", tf32", {}, true});
  return methods;
}

OpenTensorTile opened(const TensorTile& by_default, const TensorUnit& unit, const target::Target& target,
                      Sketch& sketch) {
  OpenTensorTile tile;
  using Choices = std::vector<int64_t>;
  // Sums of four warps fill registers soon, lines have 128 bytes.
  const bool is_wide = unit.reads_shared;
  const Choices warps = is_wide ? Choices{1, 2} : Choices{1, 2, 4},
                few = unit.n < 256 ? Choices{1, 2} : Choices{1};
  tile.warps_m = sketch.open("warps_m", warps, by_default.warps_m);
  tile.warps_n = sketch.open("warps_n", is_wide ? few : warps, by_default.warps_n);
  tile.tiles_m = sketch.open("tiles_m", is_wide ? few : Choices{1, 2, 4}, by_default.tiles_m);
  tile.tiles_n = sketch.open("tiles_n", is_wide ? Choices{1} : Choices{1, 2, 4, 8}, by_default.tiles_n);
  tile.steps = sketch.open("steps", is_wide ? Choices{kLineSteps, 2 * kLineSteps} : Choices{1, 2, 4},
                           by_default.steps);
  // Without asynchronous copies a ring is no faster than one tile.
  const bool copies = target.has("cp_async");
  const Choices rings = copies ? Choices{1, 2, 3, 4} : Choices{1};
  const int64_t ring = copies ? by_default.stages : 1;
  if (is_wide && target.has("tma")) {
    Parameter stages{.name = "stages"};
    for (const int64_t count : rings) stages.choices.push_back({count, 0});
    for (const int64_t count : rings)
      if (count > 1) stages.choices.push_back({count, 1});
    const std::vector<Size> parts = sketch.open(std::move(stages), {ring, by_default.bulk});
    tile.stages = parts[0];
    tile.bulk = parts[1];
  } else {
    tile.stages = sketch.open("stages", rings, ring);
  }
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
  const int64_t least = unit.reads_shared ? kLineSteps : 1;
  while (tile.steps > least && tile.steps / 2 * unit.k >= extents.k) tile.steps /= 2;
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

TensorTile default_tile(const TensorUnit& unit, const ProductExtents& extents) {
  if (!unit.reads_shared) return spread(fitted({}, unit, extents), unit, extents);
  TensorTile tile = fitted(kGroupTile, unit, extents);
  if (blocks_of(tile, unit, extents) < kEnoughBlocks) tile.warps_m = 1;
  tile.stages = std::clamp<int64_t>(ceil_div(extents.k, tile.steps * unit.k), 1, tile.stages);
  return tile;
}

bool fills(const TensorUnit& unit, const ProductExtents& extents) {
  return unit.reads_shared && blocks_of(fitted(kGroupTile, unit, extents), unit, extents) >= kEnoughBlocks;
}

std::vector<const TensorUnit*> in_order(std::vector<const TensorUnit*> units, const ProductExtents& extents) {
  constexpr int64_t kRowsOfOneWarp = 32;
  std::erase_if(units, [&](const TensorUnit* unit) {
    return unit->reads_shared && unit->n > 64 && unit->n / 2 >= extents.n;
  });
  // Columns that are computed, then those of one instruction: many read each row of a once.
  const auto rank = [&](const TensorUnit* unit) {
    constexpr int64_t kOneWarp = int64_t{1} << 40, kLast = int64_t{1} << 41;
    const int64_t columns = ceil_div(extents.n, int64_t{unit->n}) * unit->n;
    if (!unit->reads_shared) return extents.m <= kRowsOfOneWarp ? 0 : kOneWarp;
    if (columns >= 2 * extents.n || extents.k < kLineSteps * unit->k) return kLast;
    return fills(*unit, extents) ? columns * 1024 - unit->n : (int64_t{1} << 30) + unit->n;
  };
  std::ranges::stable_sort(units, {}, rank);
  return units;
}

std::string append_lanes(const std::string& output, const std::string& count, const std::string& m,
                         const std::string& n, const TensorUnit& unit, const OpenTensorTile& tile,
                         Steps& steps) {
  const Digits rows = digits_of(m, unit.c.row), columns = digits_of(n, unit.c.column);
  const auto split = [&](const std::string& axis, Size warps, Size tiles, const std::vector<Size>& digits) {
    std::vector<Size> factors = {warps, tiles};
    factors.insert(factors.end(), digits.begin(), digits.end());
    steps.push_back(Split{output, axis, std::move(factors), Tail::kGuard});
  };
  split(m, tile.warps_m, tile.tiles_m, rows.counts);
  split(n, tile.warps_n, tile.tiles_n, columns.counts);
  std::vector<std::string> order;
  if (!count.empty()) {
    order.push_back(count);
    steps.push_back(Annotate{output, count, Annotation::kGridZ});
  }
  std::vector<std::string> lanes = rows.lanes;
  lanes.insert(lanes.end(), columns.lanes.begin(), columns.lanes.end());
  for (const std::string& loop : {m + ".0", n + ".0", m + ".1", n + ".1"}) order.push_back(loop);
  order.insert(order.end(), lanes.begin(), lanes.end());
  const size_t held = order.size();
  for (const std::string& loop : {m + ".2", n + ".2"}) order.push_back(loop);
  for (const auto* elements : {&rows.elements, &columns.elements})
    order.insert(order.end(), elements->begin(), elements->end());
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

void append_threads(const std::string& copy, const std::string& all, const TensorUnit& unit,
                    const OpenTensorTile& tile, Steps& steps) {
  steps.push_back(Split{copy, all, {tile.warps_m, tile.warps_n, Size(unit.c.lanes)}, Tail::kGuard});
  steps.push_back(Annotate{copy, all + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{copy, all + ".2", Annotation::kThreadZ});
  steps.push_back(Annotate{copy, all + ".3", Annotation::kThreadX});
}

}  // namespace tf::recipes
