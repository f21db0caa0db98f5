#include "compiler/backends/llvm/llvm_backend.h"

#include <chrono>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/backends/llvm/inner_loop.h"
#include "compiler/backends/llvm/link.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::backends {
namespace {

namespace proto = tunefarm::kernel::v1;

bool accepts(const target::Target& target) {
  return target.arch != target::Arch::kCuda && target.arch != target::Arch::kOpenCl;
}

absl::StatusOr<Code> compile_kernel(const ir::Function& function, const target::Target& target, Use use) {
  TF_ASSIGN_OR_RETURN(KernelCode compiled, compile(function, target));
  Code code;
  code.phases = std::move(compiled.phases);
  code.kind = proto::BLOB_KIND_ELF_OBJECT;
  if (use == Use::kDevice) {
    const auto start = std::chrono::steady_clock::now();
    TF_ASSIGN_OR_RETURN(compiled.object, link_shared(compiled.object, target));
    code.kind = proto::BLOB_KIND_ELF_SHARED;
    code.phases.push_back(
        {"link", std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count()});
  }
  code.content = std::move(compiled.object);
  code.launches = {{.entry = function.name}};
  code.workspace_bytes = compiled.workspace_bytes;
  code.workspace_per_thread_bytes = compiled.workspace_per_thread_bytes;
  code.digest = std::move(compiled.code_digest);
  return code;
}

// Assembly, after a line about its hottest loop.
absl::StatusOr<std::string> show_kernel(const ir::Function& function, const target::Target& target) {
  TF_ASSIGN_OR_RETURN(KernelCode code, compile(function, target, {.assembly = true}));
  const std::optional<InnerLoop> loop = inner_loop(code.assembly);
  if (!loop) return std::move(code.assembly);
  return absl::StrCat("# inner loop: ", loop->summary(), "\n", code.assembly);
}

}  // namespace

Backend llvm_backend() {
  return {.name = "llvm",
          .accepts = accepts,
          .pipeline = passes::cpu_pipeline,
          .compile = compile_kernel,
          .show = show_kernel,
          .link = link_model};
}

}  // namespace tf::backends
