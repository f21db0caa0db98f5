#pragma once
// Owns: from one loop-IR function to machine code for a CPU target, through LLVM. Does not know: schedules,
// artifacts, devices. LLVM keeps process-wide state and may crash or hang on odd input: call this in a build
// worker, from one thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/backends/backend.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct CodegenOptions {
  bool assembly = false;  // also give assembly text
  bool llvm_ir = false;   // also give the optimised LLVM IR
};

struct KernelCode {
  std::string object;            // a relocatable ELF (wasm32: wasm) file that defines function.name
  uint64_t workspace_bytes = 0;  // of tf_call.workspace, shared by all threads
  uint64_t workspace_per_thread_bytes = 0;  // and then this for each thread
  std::string code_digest;                  // SHA-256, hexadecimal: equal digests are equal programs
  std::string assembly, llvm_ir;            // as asked for
  std::vector<Phase> phases;                // "emit", "optimize", "machine"
};

// Compiles what lowering yields (vectors explicit, parallel loops left; any other loop runs in order) to
// `int32_t NAME(const tf_call*)` of compiler/runtime/kernel_abi.h, which checks the call's version and sizes.
// A load or store has one physical offset, or as many indices as its row-major buffer has extents.
// Allocations: registers and the stack for scope register, the call's workspace for scope global. Objects
// refer to no symbol but memcpy, memmove and memset. INVALID_ARGUMENT for GPU constructs and GPU targets,
// UNIMPLEMENTED for functions and selects between loads, which passes take out, INTERNAL if LLVM rejects what
// we emitted.
absl::StatusOr<KernelCode> compile(const ir::Function& function, const target::Target& target,
                                   const CodegenOptions& options = {});

}  // namespace tf::backends
