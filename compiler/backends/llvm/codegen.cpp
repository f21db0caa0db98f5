#include "compiler/backends/llvm/codegen.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/backends/llvm/emitter.h"
#include "compiler/backends/llvm/expand_integers.h"
#include "compiler/backends/llvm/machine.h"
#include "compiler/backends/llvm/object.h"
#include "compiler/backends/llvm/workspace.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace tf::backends {
namespace {

class PhaseClock {
 public:
  explicit PhaseClock(std::vector<Phase>& phases) : phases_(phases) {}
  void end(std::string name) {
    auto now = std::chrono::steady_clock::now();
    phases_.push_back({std::move(name), std::chrono::nanoseconds(now - start_).count()});
    start_ = now;
  }

 private:
  std::vector<Phase>& phases_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A kernel may need libc's three memory functions; anything else is a call that we meant to expand.
absl::Status check_symbols(const std::string& name, const std::string& object) {
  TF_ASSIGN_OR_RETURN(std::vector<std::string> symbols, undefined_symbols(object));
  std::erase_if(symbols, [](const std::string& s) {
    return s == "memcpy" || s == "memset" || s == "memmove" || s == "_GLOBAL_OFFSET_TABLE_" ||
           s == "__linear_memory" || s == "__stack_pointer" || s == "__indirect_function_table" ||
           s == "__memory_base" || s == "__table_base";
  });
  if (symbols.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("kernel '", name, "' would need the library functions ",
                                          absl::StrJoin(symbols, ", "),
                                          "; kernels use only libc's memcpy, memmove and memset"));
}

}  // namespace

absl::StatusOr<KernelCode> compile(const ir::Function& function, const target::Target& target,
                                   const CodegenOptions& options) {
  KernelCode code;
  PhaseClock clock(code.phases);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, make_machine(target));
  TF_ASSIGN_OR_RETURN(WorkspacePlan plan, plan_workspace(function));
  code.workspace_bytes = plan.shared_bytes;
  code.workspace_per_thread_bytes = plan.per_thread_bytes;

  llvm::LLVMContext context;
  llvm::Module module(function.name, context);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  TF_RETURN_IF_ERROR(Emitter(module, function, target, plan).emit());
  expand_integers(module, integer_unit(*machine));
  clock.end("emit");
  optimize(module, *machine);
  clock.end("optimize");
  if (options.llvm_ir) {
    llvm::raw_string_ostream stream(code.llvm_ir);
    module.print(stream, nullptr);
  }
  if (options.assembly) {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    TF_ASSIGN_OR_RETURN(code.assembly, to_machine_code(*copy, *machine, true));
  }
  clock.end("print");
  TF_ASSIGN_OR_RETURN(code.object, to_machine_code(module, *machine, false));
  clock.end("machine");
  if (target.arch != target::Arch::kWasm32) {
    TF_RETURN_IF_ERROR(check_symbols(function.name, code.object));
    TF_ASSIGN_OR_RETURN(code.code_digest, code_digest(code.object));
  }
  return code;
}

}  // namespace tf::backends
