#include "compiler/backends/llvm/machine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace tf::backends {
namespace {

void initialize_llvm() {
  static const bool done = [] {
#define TF_INIT(name)                 \
  LLVMInitialize##name##TargetInfo(); \
  LLVMInitialize##name##Target();     \
  LLVMInitialize##name##TargetMC();   \
  LLVMInitialize##name##AsmPrinter(); \
  LLVMInitialize##name##AsmParser()
    TF_INIT(X86);
    TF_INIT(AArch64);
    TF_INIT(ARM);
    TF_INIT(RISCV);
    TF_INIT(WebAssembly);
#undef TF_INIT
    return true;
  }();
  (void)done;
}

const char* triple_of(target::Arch arch) {
  switch (arch) {
    case target::Arch::kX86_64:
      return "x86_64-unknown-linux-gnu";
    case target::Arch::kAArch64:
      return "aarch64-unknown-linux-gnu";
    case target::Arch::kArmV7:
      return "armv7-unknown-linux-gnueabihf";
    case target::Arch::kRiscV64:
      return "riscv64-unknown-linux-gnu";
    case target::Arch::kWasm32:
      return "wasm32-unknown-unknown";
    case target::Arch::kCuda:
    case target::Arch::kOpenCl:
      break;
  }
  return nullptr;
}

// What our table knows of the CPU, then what the text took away: LLVM also removes what depends on that.
std::string features_of(const target::Target& target) {
  std::string features;
  for (const std::string& feature : target::known_features(target.arch)) {
    if (target.has(feature)) absl::StrAppend(&features, features.empty() ? "+" : ",+", feature);
  }
  for (const std::string& feature : target.features) {
    if (feature[0] == '-') absl::StrAppend(&features, features.empty() ? "" : ",", feature);
  }
  return features;
}

// LLVM's own pipeline to machine code reduces the strength of all loops, which takes up to a third of its
// time and more than proportionally long for long bodies. It pays in short innermost loops only: it saves a
// few instructions an iteration. On other CPUs than x86, addresses with an index cost more; there LLVM goes
// on as it does.
struct ReduceShortLoops : llvm::PassInfoMixin<ReduceShortLoops> {
  static constexpr size_t kShortBody = 1000;  // LLVM instructions

  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& analyses,
                              llvm::LoopStandardAnalysisResults& results, llvm::LPMUpdater& updater) {
    size_t body = 0;
    for (const llvm::BasicBlock* block : loop.blocks()) body += block->size();
    if (!loop.isInnermost() || body > kShortBody) return llvm::PreservedAnalyses::all();
    return llvm::LoopStrengthReducePass().run(loop, analyses, results, updater);
  }
};

bool reduces_short_loops_only(const llvm::TargetMachine& machine) {
  return machine.getTargetTriple().isX86();
}

// The only switch that LLVM has for this; it is global.
void reduce_all_loops(bool wanted) {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("disable-lsr");
  if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(!wanted);
}

}  // namespace

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> make_machine(const target::Target& target) {
  initialize_llvm();
  const char* triple = triple_of(target.arch);
  if (!triple) {
    return absl::InvalidArgumentError(
        absl::StrCat("target ", target.text(), " is a GPU; the LLVM back end compiles for CPUs"));
  }
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvm_target) return absl::InternalError(absl::StrCat("this LLVM has no target ", triple, ": ", error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // where the contract flag is set
  if (target.arch == target::Arch::kRiscV64) options.MCOptions.ABIName = "lp64d";
  return std::unique_ptr<llvm::TargetMachine>(
      llvm_target->createTargetMachine(triple, target.cpu, features_of(target), options, llvm::Reloc::PIC_));
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);

  // What the loop IR leaves to do: stack slots to registers, what is the same computed once and outside of
  // the loops. The last two drop loop variables that nothing reads any more; registers are scarce.
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  if (reduces_short_loops_only(machine))
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(ReduceShortLoops()));
  llvm::ModulePassManager module_passes;
  module_passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  module_passes.run(module, modules);
}

absl::StatusOr<std::string> to_machine_code(llvm::Module& module, llvm::TargetMachine& machine,
                                            bool assembly) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  reduce_all_loops(!reduces_short_loops_only(machine));
  llvm::CodeGenFileType type =
      assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true)) {
    return absl::InternalError("LLVM cannot write this kind of file for this target");
  }
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace tf::backends
