#pragma once
// Owns: running one loop-IR function by the interpreter and, its loads hoisted, by LLVM, on the same random
// inputs, for tests.

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/stmt.h"

namespace tf::backends {

struct OracleOptions {
  std::vector<std::string> targets;  // empty: all runnable_targets(); other processors' code runs under qemu
  std::vector<int64_t> dims;         // values of the function's dimensions
  int threads = 1;
  // |llvm - oracle| <= tolerance * max(1, |oracle|) for finite floats, or one unit in the last place of a
  // 16-bit one; all else is equal, and floats too where the tolerance is 0.
  double tolerance = 1e-5;
  bool special_values =
      false;             // sprinkle NaN, infinities, zeros of both signs and the smallest and largest numbers
  bool nonzero = false;  // no zeros among integers (divisors)
  // Integers are the ends of their type, -1, 0 and the like, six of them: every pair of these in the first
  // two parameters of integers, if they have 36 elements. Takes no heed of the range.
  bool edges = false;
  double low = -100, high = 100;  // floats of 16 bits heed only a high from 1024 on, by their exponents
};

// Runs the function for each target. Adds a test failure that shows the function if the results differ or if
// either way fails. All parameters start with the same random values in both runs, so a function may read and
// write any of them. A target of another processor whose emulator or runner is missing is left out, and the
// test is then skipped with the reason (unless it failed otherwise).
void expect_agrees(const ir::Function& function, const OracleOptions& options = {});

// Parses the text first, and checks that it prints and parses back to an equal function.
void expect_agrees(std::string_view text, const OracleOptions& options = {});

// The same for code of a function that passes, hoist_loads among them, have made of another one.
void expect_agrees_with(const ir::Function& meant, const ir::Function& lowered,
                        const OracleOptions& options = {});

// The x86-64 targets that this machine can run, narrowest first; one element elsewhere.
std::vector<std::string> runnable_targets();

}  // namespace tf::backends
