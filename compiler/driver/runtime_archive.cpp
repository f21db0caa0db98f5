#include "compiler/driver/runtime_archive.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"

namespace tf::driver {
namespace {

// Debian's package of the cross compiler that cmake/cross.cmake looks for; empty where it looks for none.
std::string_view cross_compiler(target::Arch arch) {
  switch (arch) {
    case target::Arch::kAArch64:
      return "g++-aarch64-linux-gnu";
    case target::Arch::kArmV7:
      return "g++-arm-linux-gnueabihf";
    case target::Arch::kRiscV64:
      return "g++-riscv64-linux-gnu";
    case target::Arch::kX86_64:
    case target::Arch::kWasm32:
    case target::Arch::kCuda:
    case target::Arch::kOpenCl:
      break;
  }
  return "";
}

}  // namespace

absl::StatusOr<std::string> runtime_archive_of(const target::Target& target, target::Arch built_on,
                                               const std::string& own) {
  if (target.arch == built_on) return own;
  const std::string arch(target::arch_name(target.arch));
  const std::string truth = absl::StrCat("the runtime is not available for ", arch);
  if (target.arch == target::Arch::kX86_64)
    return with_remedy(absl::StatusCode::kFailedPrecondition, truth + " on this machine",
                       "build the model on such a machine");
  const std::string compiler(cross_compiler(target.arch));
  if (compiler.empty())
    return with_remedy(
        absl::StatusCode::kFailedPrecondition, truth,
        "build for x86_64, aarch64, armv7 or riscv64; single kernels: `compiler kernel --help`");
  const std::filesystem::path beside(own);
  const std::filesystem::path archive = beside.parent_path() / arch / beside.filename();
  std::error_code error;
  if (std::filesystem::exists(archive, error)) return archive.string();
  return with_remedy(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("a model for ", target.text(), " needs the runtime ", archive.string(),
                   ", which does not exist"),
      absl::StrCat("install the cross compiler ", compiler, ", then configure and build Tunefarm again"));
}

}  // namespace tf::driver
