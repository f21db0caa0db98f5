#include "compiler/backends/llvm/inner_loop.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace tf::backends {
namespace {

bool starts_with_any(absl::string_view text, std::initializer_list<absl::string_view> prefixes) {
  return absl::c_any_of(prefixes, [&](absl::string_view prefix) { return absl::StartsWith(text, prefix); });
}

bool is_multiply_add(absl::string_view instruction) {
  return starts_with_any(instruction, {"vfmadd", "vfnmadd", "fmla\tv", "fmls\tv",  // FMAs
                                       "vpdp", "vdpbf16ps", "sdot\tv", "udot\tv", "usdot\tv", "bfdot\tv"});
}

// AArch64 has addresses in brackets, which without a register are lanes: fmla v0.4s, v1.4s, v2.s[0].
bool has_address(absl::string_view instruction) {
  return (absl::StrContains(instruction, '(') || absl::StrContains(instruction, "[x") ||
          absl::StrContains(instruction, "[sp")) &&
         !starts_with_any(instruction, {"lea", "pr", "nop"});
}

// AArch64's are st1, stp, str …; in AT&T syntax the target comes last, before a mask: "vmovups\t%zmm0, (%rax)
// {%k1}".
bool writes_memory(absl::string_view instruction) {
  if (starts_with_any(instruction, {"st", "cmp", "test"})) return absl::StartsWith(instruction, "st");
  return absl::EndsWith(instruction.substr(0, std::min(instruction.find(" {"), instruction.find(" #"))), ")");
}

InnerLoop counted(std::vector<std::string> instructions) {
  InnerLoop loop;
  for (const std::string& instruction : instructions) {
    const bool memory = has_address(instruction);
    const bool write = memory && writes_memory(instruction);
    loop.fma += is_multiply_add(instruction);
    loop.loads += memory && !write;
    loop.stores += write;
    loop.stack += absl::StrContains(instruction, "%rsp") ||  // %rbp is a register like others
                  absl::StrContains(instruction, "[sp") || absl::StrContains(instruction, "[x29");
    loop.moves += starts_with_any(instruction, {"vmov", "mov\tv"}) && !memory;
  }
  loop.instructions = std::move(instructions);
  return loop;
}

// "l" for "l:  # comment"; nothing for a line that is no label.
absl::string_view label_of(absl::string_view line) {
  const size_t colon = line.find(':');
  const bool label = !line.empty() && colon != line.npos && !starts_with_any(line, {"\t", " ", "#", "//"});
  return label ? line.substr(0, colon) : "";
}

// The label that the instruction may jump to, or nothing: "jl\tl", "b.lt\tl", "tbnz\tw0, #3, l".
absl::string_view jump_target(absl::string_view instruction) {
  if (!starts_with_any(instruction, {"j", "b\t", "b.", "cbz", "cbnz", "tbz", "tbnz"})) return "";
  return instruction.substr(instruction.find_last_of("\t ,") + 1);
}

}  // namespace

std::string InnerLoop::summary() const {
  return absl::StrFormat("%d FMAs, %d loads (%.2f per FMA), %d stores, %d spills, %d instructions", fma,
                         loads, loads_per_fma(), stores, stack, static_cast<int>(instructions.size()));
}

std::optional<InnerLoop> inner_loop(std::string_view assembly) {
  std::optional<InnerLoop> best;
  std::vector<std::string> instructions;
  std::map<absl::string_view, size_t> labels;  // to the instruction that comes next
  size_t last_begin = 0;                       // of the loop that ended last
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(assembly.data(), assembly.size()), '\n')) {
    if (const absl::string_view label = label_of(line); !label.empty()) labels[label] = instructions.size();
    if (!absl::StartsWith(line, "\t") || absl::StartsWith(line, "\t.")) continue;
    instructions.emplace_back(line.substr(1));
    const auto target = labels.find(jump_target(instructions.back()));
    if (target == labels.end()) continue;       // forward
    if (target->second < last_begin) continue;  // it has another loop inside
    last_begin = target->second;
    InnerLoop loop = counted({instructions.begin() + static_cast<ptrdiff_t>(last_begin), instructions.end()});
    if (loop.fma > (best ? best->fma : 0)) best = std::move(loop);
  }
  return best;
}

}  // namespace tf::backends
