#pragma once
// Owns: splitting a function into kernels, and the workspace between them. Does not know: C.

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

// One launch: a nest of grid and thread loops, or a statement without such loops, which one thread executes.
struct KernelPart {
  std::vector<const ir::Let*> lets;  // around it, outermost first
  ir::Stmt body;
};

struct KernelParts {
  std::vector<KernelPart> parts;  // in order
  std::map<const ir::BufferNode*, int64_t>
      scratch_offsets;  // of buffers that live across launches, in the workspace
  int64_t workspace_bytes = 0;
};

// Scratch memory is large enough for the maximum sizes. FAILED_PRECONDITION if a size has no maximum.
absl::StatusOr<KernelParts> split_into_kernels(const ir::Function& function);

}  // namespace tf::backends
