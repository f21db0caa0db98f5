#pragma once
// Owns: LLVM's view of a target (triple, CPU, features), optimisation of a module and its translation to an
// object. Internal to this folder: includes LLVM.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tf::backends {

// INVALID_ARGUMENT for a GPU target.
absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> make_machine(const target::Target& target);

// Sets each function's CPU and features, then runs the passes. Loops arrive as the schedule wants them, so
// nothing here vectorises, unrolls or interchanges.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

// An object file, or assembly text. Leaves the module changed.
absl::StatusOr<std::string> to_machine_code(llvm::Module& module, llvm::TargetMachine& machine,
                                            bool assembly);

}  // namespace tf::backends
