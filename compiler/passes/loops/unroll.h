#pragma once
// Owns: the pass that writes unrolled loops out.

#include <optional>

#include "compiler/ir/stmt.h"

namespace tf::passes {

// A loop marked unrolled with a constant extent becomes copies of its body, unless that would make more than
// kMaxUnrolledStatements of them; then it is serial.
//
//   for i in 2 unrolled         acc[0] = 0
//     acc[i] = 0            →   acc[1] = 0
inline constexpr int64_t kMaxUnrolledStatements = 4096;
ir::Function unroll(const ir::Function& function);

// Whether the pass makes copies of a loop with this extent (none: not constant) and body.
bool is_written_out(std::optional<int64_t> extent, const ir::Stmt& body);

}  // namespace tf::passes
