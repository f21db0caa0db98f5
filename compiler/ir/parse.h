#pragma once
// Owns: reading the text form that print.h states. Does not know: what makes a function legal (verify.h).

#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"

namespace tf::ir {

// The function of the text. INVALID_ARGUMENT with line and column says what was expected. Any text is safe to
// give: nesting is limited.
absl::StatusOr<Function> parse_function(std::string_view text);

}  // namespace tf::ir
