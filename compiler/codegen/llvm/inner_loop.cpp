#include "compiler/codegen/llvm/inner_loop.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace tf::codegen {
namespace {

// x86-64 in AT&T syntax, or AArch64: what is an address tells the two apart.
InnerLoop counted(std::vector<std::string> instructions) {
  InnerLoop loop;
  for (const std::string& instruction : instructions) {
    const bool memory = (absl::StrContains(instruction, '(') || absl::StrContains(instruction, '[')) &&
                        !absl::StartsWith(instruction, "lea") && !absl::StartsWith(instruction, "pr");
    // fmla v0.4s, v1.4s, v2.s[0]: the bracket is a lane.
    const bool neon = absl::StartsWith(instruction, "fmla\tv");
    loop.fma += neon || absl::StartsWith(instruction, "vfmadd");
    loop.loads += memory && !neon;
    loop.stack += absl::StrContains(instruction, "%rsp") ||  // %rbp is a register like others
                  absl::StrContains(instruction, "[sp") || absl::StrContains(instruction, "[x29");
    loop.moves +=
        (absl::StartsWith(instruction, "vmov") || absl::StartsWith(instruction, "mov\tv")) && !memory;
  }
  loop.instructions = std::move(instructions);
  return loop;
}

bool is_branch(absl::string_view line) {
  for (const absl::string_view name : {"\tj", "\tb.", "\tcbz", "\tcbnz", "\ttbz", "\ttbnz"}) {
    if (absl::StartsWith(line, name)) return true;
  }
  return false;
}

}  // namespace

std::string InnerLoop::summary() const {
  return absl::StrFormat("%d FMAs, %d loads (%.2f a FMA), %d spills, %d instructions", fma, loads,
                         loads_per_fma(), stack, static_cast<int>(instructions.size()));
}

std::optional<InnerLoop> inner_loop(std::string_view assembly) {
  std::optional<InnerLoop> best;
  std::vector<std::string> current;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(assembly.data(), assembly.size()), '\n')) {
    if (absl::StartsWith(line, ".LBB")) {
      current.clear();
      continue;
    }
    if (!absl::StartsWith(line, "\t") || absl::StartsWith(line, "\t.")) continue;
    current.emplace_back(line.substr(1));
    if (!is_branch(line)) continue;
    InnerLoop loop = counted(current);
    if (loop.fma > (best ? best->fma : 0)) best = std::move(loop);
  }
  return best;
}

}  // namespace tf::codegen
