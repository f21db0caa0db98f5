#pragma once
// Owns: how many cache lines a box of a buffer takes, and how badly they crowd into few sets, from the
// buffer's order in memory. Does not know: loops, schedules.

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/model/formulas/value.h"

namespace tf::model {

inline constexpr double kLineBytes = 64;

// Bytes of one way of the first and of the second level of cache: lines that far apart share a set. Powers of
// two.
struct CacheWays {
  int64_t l1_bytes = 4 << 10;
  int64_t l2_bytes = 128 << 10;
};

// One dimension of a buffer as it lies in memory: of axis `axis`, `size` steps of `step` indices each.
struct StoredDimension {
  size_t axis = 0;
  Value size = 1, step = 1;
};

struct LineCount {
  Value lines = 0;
  Value runs = 0;  // of lines beside each other
  // Bytes that the lines take of the first and of the second level of cache, with what they keep others from
  // using: lines that are a large power of two apart share few sets.
  Value crowded_l1_bytes = 0, crowded_l2_bytes = 0;
};

// A buffer as it lies in memory.
struct Storage {
  std::vector<StoredDimension> dimensions;  // outermost first
  int element_bytes = 4;
  bool packed = false;  // its strides are choices: powers of two are not held against it
};

// Of a box of box[axis] consecutive indices an axis.
LineCount lines_of(const Storage& storage, std::span<const Value> box, const CacheWays& ways);

// The largest power of two of bytes, at most a line, of which all runs along the innermost dimension start at
// a multiple.
double run_alignment(const Storage& storage);

// Of vectors of so many bytes that start anywhere at multiples of the alignment, at most a line: how many
// lines more than one each takes, on average.
double lines_crossed(double vector_bytes, double alignment);

}  // namespace tf::model
