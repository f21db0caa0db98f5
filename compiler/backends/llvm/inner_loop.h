#pragma once
// Owns: reading off assembly text what a kernel's hottest loop does: the figures by which a register tile is
// judged. Does not know: LLVM.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tf::backends {

// The instructions of the loop that holds the most multiply-adds, from its label to the jump back to it, and
// how many of them are what. It has no loop inside; it may have branches.
struct InnerLoop {
  std::vector<std::string> instructions;
  int fma = 0;     // vector multiply-adds, and dot products of narrow elements
  int loads = 0;   // instructions that read memory, be it as operand of a multiply-add
  int stores = 0;  // instructions that write memory
  int stack = 0;   // of both: accesses to the stack, which are spills
  int moves = 0;   // copies between vector registers

  double loads_per_fma() const { return fma == 0 ? 0 : static_cast<double>(loads) / fma; }
  // "28 FMAs, 16 loads (0.57 per FMA), 0 stores, 0 spills, 48 instructions"
  std::string summary() const;
};

// Of x86-64 (AT&T syntax) or AArch64 assembly, as codegen.h's compile() gives it; nothing if no loop has a
// multiply-add.
std::optional<InnerLoop> inner_loop(std::string_view assembly);

}  // namespace tf::backends
