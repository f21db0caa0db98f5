#pragma once
// Owns: where each value of a program lives while it runs. Does not know: kernels, weights.

#include "absl/status/status.h"
#include "compiler/graph/program.h"

namespace tf::graph {

enum class Space : uint8_t { kInput, kOutput, kArena };

struct Place {
  Space space = Space::kArena;
  int index = 0;              // which input or output
  uint64_t offset_bytes = 0;  // in the arena, or within the input or output
};

struct MemoryPlan {
  std::vector<Place> places;  // one a value
  uint64_t arena_bytes = 0;
};

// Greedy by size (Pisarchyk, Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020): the
// largest value first, each at the lowest offset where it overlaps nothing that lives at the same time.
// Offsets are multiples of TF_ALIGNMENT.
MemoryPlan plan_memory(const Program& program);

// INTERNAL if two values that are alive at the same time share bytes without one lying within the other, if a
// call's result shares bytes with what it reads, or if a value leaves its space.
absl::Status check_memory(const Program& program, const MemoryPlan& plan);

}  // namespace tf::graph
