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

// Lets a call write its result over an operand that no later call reads, and sets Call::in_place. `allowed` has
// one entry for each task: the operands that its kernel may write over. Positions beyond the task's operands are ignored.
void reuse_operands(Program& program, const std::vector<std::vector<int>>& allowed);

// Greedy by size (Pisarchyk, Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020): the
// largest value first, each at the lowest offset where it overlaps no value that lives at the same time.
// `alignment_bytes` is a multiple of TF_ALIGNMENT. Each offset is a multiple of it, except where a value is a
// slice of another value.
MemoryPlan plan_memory(const Program& program, uint64_t alignment_bytes = 64);

// INTERNAL in three cases: another value is written over one that is still to be read; a call's result shares
// bytes with one of its operands, other than by Call::in_place; a value reaches beyond its space.
absl::Status check_memory(const Program& program, const MemoryPlan& plan);

}  // namespace tf::graph
