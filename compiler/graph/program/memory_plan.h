#pragma once
// Owns: where each value of a program lives while it runs. Does not know: kernels, weights.

#include "absl/status/status.h"
#include "compiler/graph/program/program.h"

namespace tf::graph {

enum class Space : uint8_t { kInput, kOutput, kArena };

struct Place {
  Space space = Space::kArena;
  int index = 0;              // which input or output
  uint64_t offset_bytes = 0;  // in the arena, or within the input or output
  uint64_t size_bytes = 0;
};

struct MemoryPlan {
  std::vector<Place> places;  // one a value
  uint64_t arena_bytes = 0;   // bodies' arenas lie in it
  std::vector<MemoryPlan> bodies, variants;
};

// Puts results where an operand lies that nobody reads afterwards, and sets Call::in_place. `allowed` lists,
// one entry a task, the operands that its kernel may write over; positions beyond its operands do not count.
void reuse_operands(Program& program, const std::vector<std::vector<int>>& allowed);

// Greedy by size (Pisarchyk, Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020): the
// largest value first, each at the lowest offset where it overlaps nothing that lives at the same time.
// Offsets of what is no part of something else are multiples of `alignment_bytes`, itself one of TF_ALIGNMENT.
MemoryPlan plan_memory(const Program& program, uint64_t alignment_bytes = 64);

// INTERNAL if something else is written where a value lies between the first write of what it holds and its
// last read, if a call's result shares bytes with what it reads (but for Call::in_place), or if a value
// leaves its space.
absl::Status check_memory(const Program& program, const MemoryPlan& plan);

}  // namespace tf::graph
