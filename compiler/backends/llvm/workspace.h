#pragma once
// Owns: where each allocation of a function lives: on the stack (where LLVM makes registers of it), or at an
// offset of the call's workspace. Does not know: LLVM.

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

enum class Place : uint8_t { kStack, kShared, kPerThread };

struct Slot {
  Place place = Place::kStack;
  uint64_t offset_bytes = 0;  // in its part of the workspace, a multiple of TF_ALIGNMENT
  uint64_t size_bytes = 0;
};

struct WorkspacePlan {
  std::map<const ir::BufferNode*, Slot> slots;
  uint64_t shared_bytes = 0;  // multiples of TF_ALIGNMENT
  uint64_t per_thread_bytes = 0;
};

// A buffer inside of a parallel loop gets a slice a thread. No two buffers share memory, even if they do not
// live at the same time: code generation tells LLVM that accesses to different buffers never alias.
// INVALID_ARGUMENT if an extent is not constant or a scope is a GPU's.
absl::StatusOr<WorkspacePlan> plan_workspace(const ir::Function& function);

}  // namespace tf::backends
