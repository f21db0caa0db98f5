#pragma once
// Owns: what a scheduled stage's loop nest does to the machine, as values: iterations, register tile, vector
// shape, and the elements and cache lines that each depth of the nest touches. Of a schedule's state they are
// constants, of a sketch's formulas over its choices. Features and the roofline model both read it.

#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"
#include "tuner/model/formulas/reading.h"
#include "tuner/model/nests/cache_lines.h"

namespace tf::model {

struct NestLoop {
  Value extent = 1;
  bool reduce = false;
  bool own = true;  // false: a loop of the consumer that the stage is computed in
  schedule::Annotation annotation = schedule::Annotation::kSerial;
};

struct NestAccess {
  int element_bytes = 4;
  bool is_store = false;
  bool in_register = false;      // a buffer of register scope: no memory traffic
  bool is_constant = false;      // an operand that is given at build time: a network's weights
  Value varies_with_vector = 0;  // a condition
  Value contiguous = 0;          // a condition: consecutive lanes touch consecutive elements in memory
  // Elements touched by all loops from depth d inwards, d = 0 … loops.size() (the last is one iteration's:
  // 1). What a stage computes inside another lies in the same memory each time.
  std::vector<Value> touched_elems;
  std::vector<LineCount> touched_lines;  // by depth, too
  Value unrolled_elems = 1;              // of touched_elems, at the depth of the unrolled turns
  // Of these, what one unrolled turn leaves to the next one: turns of a window read the same values.
  Value waiting_elems = 0;
  // A condition: the loop around the unrolled turns leads to no other of them, so that registers may keep
  // them.
  Value stays = 0;
  double alignment = kLineBytes;  // cache_lines.h
};

struct Nest {
  std::string stage;
  std::vector<NestLoop> loops;  // outermost first, the consumers' loops before the stage's own
  std::vector<NestAccess> accesses;
  Value iterations = 1;  // product of all extents
  // Product of the axes' extents: less than iterations where tiles overrun or recompute.
  Value useful_iterations = 1;
  double flops_per_iteration = 0;  // operations.h
  Value lanes = 1;                 // product of vectorized own loops
  // Vector accumulators: own spatial loops that are unrolled, times vectors per vectorized loop.
  Value tile_vectors = 1;
  Value row_vectors = 1;  // of them, those that one broadcast feeds
  Value parallel = 1;
  Value unrolled_body = 1;   // product of unrolled own loops
  Value unrolled_turns = 1;  // of serial own loops, by the pragma
  Value reduce_extent = 1;
  Value guards = 0;
  // Shares of the iterations: in tiles with something to do, in vectors with something to do, and of the
  // reduction's. What is left a guard skips.
  Value started = 1, wanted = 1, reduced = 1;
};

// One nest a stage that is not inlined, in order, for the target's vectors and caches.
std::vector<Nest> summarize(const schedule::State& state, const tensor::PortLayouts& ports,
                            const target::Target& target, const Reading& reading = {});

}  // namespace tf::model
