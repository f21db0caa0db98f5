#pragma once
// Owns: what a scheduled stage's loop nest does to the machine, as numbers: iterations, register tile, vector
// shape, and the bytes that each depth of the nest touches. Features and the draft model both read it.

#include <vector>

#include "compiler/schedule/schedule.h"

namespace tf::model {

struct NestLoop {
  int64_t extent = 1;
  bool reduce = false;
  bool own = true;  // false: a loop of the consumer that the stage is computed in
  schedule::Annotation annotation = schedule::Annotation::kSerial;
};

struct NestAccess {
  int element_bytes = 4;
  bool is_store = false;
  bool in_register = false;  // a buffer of register scope: no memory traffic
  bool varies_with_vector = false;
  bool contiguous = false;  // consecutive lanes touch consecutive elements of the logical row
  // Elements touched by all loops from depth d inwards, d = 0 … loops.size() (the last is one iteration's:
  // 1). What a stage computes inside another lies in the same memory each time.
  std::vector<double> touched_elems;
};

struct Nest {
  std::string stage;
  std::vector<NestLoop> loops;  // outermost first, the consumers' loops before the stage's own
  std::vector<NestAccess> accesses;
  double iterations = 1;  // product of all extents
  double useful_iterations =
      1;  // product of the axes' extents: less than iterations where tiles overrun or recompute
  double flops_per_iteration = 0;  // operations.h
  int64_t lanes = 1;               // product of vectorized own loops
  int64_t tile_vectors =
      1;  // vector accumulators: own spatial loops that are unrolled, times vectors per vectorized loop
  int64_t parallel = 1;
  int64_t unrolled_body = 1;  // product of unrolled own loops
  int64_t reduce_extent = 1;
  int guards = 0;
};

// One nest a stage that is not inlined, in order. `fp32_lanes` is the target's vector width in 32-bit
// elements.
std::vector<Nest> summarize(const schedule::State& state, int fp32_lanes);

}  // namespace tf::model
