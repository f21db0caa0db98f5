#pragma once
// Owns: which parts of a function are launched one after another, and what lies in memory between them. Does not know: C.

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

// One launch: a nest of grid and thread loops, or a statement without any, for one thread.
struct KernelPart {
  std::vector<const ir::Let*> lets;  // around it, from the outside
  ir::Stmt body;
};

struct KernelParts {
  std::vector<KernelPart> parts;  // in order
  std::map<const ir::BufferNode*, int64_t>
      scratch_offsets;  // of buffers that live across launches, in the workspace
  int64_t workspace_bytes = 0;
};

// Scratch memory has room for the greatest sizes. FAILED_PRECONDITION where there is no greatest.
absl::StatusOr<KernelParts> split_into_kernels(const ir::Function& function);

}  // namespace tf::backends
