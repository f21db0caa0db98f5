#pragma once
// Owns: which lane of a warp holds which elements of a tile, as formulas that are read in both directions. Does not know:
// instructions.

#include <cstdint>
#include <span>
#include <vector>

namespace tf::tensor_units {

inline constexpr int kLanes = 32;

// Adds (source / divisor % count) * step to a coordinate, where the source is the lane or the number of the lane's element.
// In reverse, the source gets (coordinate / step % count) * divisor.
struct Digit {
  enum Source : uint8_t { kLane, kElement } source;
  int divisor, count, step;
};

// Of a tile of rows x columns: lane l's element e lies in the row that the row's digits add up to, and in the column that
// the column's do. Every element of the tile is held once. The lanes are those of a warp or, 128, of four of them.
struct LaneMap {
  int rows = 0, columns = 0;
  std::vector<Digit> row, column;
  int lanes = kLanes;

  int elements() const { return rows * columns / lanes; }  // of one lane
  int row_of(int lane, int element) const;
  int column_of(int lane, int element) const;
  int lane_of(int row, int column) const;
  int element_of(int row, int column) const;
};

}  // namespace tf::tensor_units
