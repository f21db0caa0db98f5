#pragma once
// Owns: the ways to compute a network of element-wise functions: constants folded, the reference, the IR of
// kernels interpreted, machine code here or under an emulator. Does not know: which functions there are.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/numerics/arguments.h"
#include "tests/numerics/functions.h"

namespace tf::test {

// "folded", "reference", "interpreted" or a target's text.
absl::StatusOr<std::vector<double>> results_of(const ElementFunction& function, Element element,
                                               const Arguments& arguments, const std::string& engine);

// Builds the function's kernels for the target and runs nothing.
absl::Status compile_function(const ElementFunction& function, Element element, const std::string& target);

}  // namespace tf::test
