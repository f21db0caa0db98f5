#include "compiler/recipes/sizes/tile_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "base/whole_division.h"

namespace tf::recipes {
namespace {

constexpr double kFmaPerCycle = 2;
constexpr double kNever = std::numeric_limits<double>::infinity();

// So many tiles along an axis, of one size.
struct Piece {
  int64_t count, size;
};

// The tiles that cover an axis: whole ones and, if that is one of its own, the one at the edge.
std::array<Piece, 2> pieces(int64_t extent, int64_t size, bool partial) {
  if (!partial) return {Piece{ceil_div(extent, size), size}, {}};
  return {Piece{extent / size, size}, {extent % size > 0, extent % size}};
}

double cycles_of_tiles(const TiledResults& results, const TileSizes& sizes, bool partial,
                       const target::Target& target) {
  double cycles = 0;
  for (const Piece& i : pieces(results.inner, sizes.inner, partial))
    for (const Piece& o : pieces(results.outer, sizes.outer, partial))
      for (const Piece& v : pieces(results.vectors, sizes.vectors, partial))
        if (const int64_t count = i.count * o.count * v.count; count > 0)
          cycles +=
              static_cast<double>(count) * tile_cycles(i.size * o.size, v.size, results.column_bytes, target);
  return cycles;
}

// What several resources take together, where the busiest one hides the others nearly whole, and two that are
// equally busy get into each other's way.
double overlapped(std::initializer_list<double> cycles) {
  constexpr double kPower = 8;
  double sum = 0;
  for (const double each : cycles) sum += std::pow(each, kPower);
  return std::pow(sum, 1 / kPower);
}

}  // namespace

double streaming_efficiency(int64_t rows, int64_t columns_bytes, const target::Target& target) {
  if (2 * columns_bytes <= target.caches.l1_bytes) return 1;
  constexpr double kVisible = 0.1;
  const double cycles_a_vector = 2 * columns_bytes <= target.caches.l2_bytes ? 1 : 2;
  const double ratio = cycles_a_vector * kFmaPerCycle / static_cast<double>(rows);
  return 1 / (std::max(1.0, ratio) + kVisible * std::min(1.0, ratio));
}

bool fits_registers(int64_t rows, int64_t vectors, const target::Target& target) {
  const int64_t registers = target.vector.registers > 0 ? target.vector.registers : 16;
  return rows * vectors + vectors + 1 <= registers;
}

double tile_cycles(int64_t rows, int64_t vectors, int64_t column_bytes, const target::Target& target) {
  if (!fits_registers(rows, vectors, target)) return kNever;
  const double pipes = static_cast<double>(rows * vectors) / kFmaPerCycle;
  constexpr double kFmaLatency = 4;  // each sum waits for its last multiply-add
  // There are two load ports, but tiles of one vector, which need a broadcast for each multiply-add, get to 70 to 80% of
  // the FMA peak on cores with AVX2.
  constexpr double kLoadsPerCycle = 1.7;
  const double loads = static_cast<double>(rows + vectors) / kLoadsPerCycle;
  constexpr double kVisible = 0.03;  // the fewer loads, the better
  return (overlapped({pipes, kFmaLatency, loads}) + kVisible * loads) /
         streaming_efficiency(rows, vectors * column_bytes, target);
}

double cycles_of(const TiledResults& results, const TileSizes& sizes, const target::Target& target) {
  const double whole = cycles_of_tiles(results, sizes, false, target);
  if (!results.edges_are_partial || whole == kNever) return whole;
  // Of what is not there: a tile at an edge is code of its own, and hides latency less well.
  constexpr double kOfMissing = 0.15;
  return std::lerp(cycles_of_tiles(results, sizes, true, target), whole, kOfMissing);
}

TileChoice cheapest_tile(const TiledResults& results, const TileLimits& limits, const target::Target& target,
                         const std::function<double(const TileSizes&)>& slowdown) {
  TileChoice best{{}, kNever};
  constexpr double kWorthChanging = 0.9999;
  for (int64_t vectors = 1; vectors <= std::min(limits.most_vectors, results.vectors); ++vectors) {
    for (int64_t outer = 1; outer <= std::min(limits.most_outer, results.outer); ++outer) {
      for (int64_t inner = limits.least_inner; inner <= std::min(limits.most_inner, results.inner); ++inner) {
        const TileSizes sizes{inner, outer, vectors};
        double cycles = cycles_of(results, sizes, target);
        if (slowdown && cycles < kNever) cycles *= slowdown(sizes);
        if (cycles < best.cycles * kWorthChanging) best = {sizes, cycles};
      }
    }
  }
  return best;
}

}  // namespace tf::recipes
