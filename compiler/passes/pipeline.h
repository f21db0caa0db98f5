#pragma once
// Owns: the table of passes that turn loop nests into what a back end accepts.

#include <span>

#include "compiler/ir/stmt.h"

namespace tf::passes {

// A pure function of a function. The order of the table is the order of the passes; each relies on what those
// before it established (see pipeline.cpp).
struct Pass {
  const char* name;
  ir::Function (*run)(const ir::Function&);
};

std::span<const Pass> cpu_pipeline();
std::span<const Pass> gpu_pipeline();

}  // namespace tf::passes
