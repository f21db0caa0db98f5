#pragma once
// Owns: the tables of passes that turn loop nests into what a back end accepts.

#include <span>

#include "compiler/ir/stmt.h"
#include "compiler/ir/verify.h"

namespace tf::passes {

// A pure function of a function. The order of the table is the order of the passes; each relies on what those
// before it established (see pipeline.cpp).
struct Pass {
  const char* name;
  ir::Function (*run)(const ir::Function&);
};

struct Pipeline {
  std::span<const Pass> passes;
  ir::Promises promises;  // that hold after the last pass
};

Pipeline cpu_pipeline();
Pipeline gpu_pipeline();

}  // namespace tf::passes
