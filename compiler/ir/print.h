#pragma once
// Owns: the text form of the loop IR. parse_function (parse.h) reads it back: parse(print(f)) equals f. Does
// not know: what the text means.
//
//   function matmul[n](A: f32[n, 64], B: f32[64, 32] layout "0,1,1:16", C: f32[n, 32]) {
//     for i = 0 extent n parallel {
//       allocate acc: f32[32] register
//       for j = 0 extent 32 vectorized {
//         acc[j] = 0f32
//       }
//       let row = i * 64
//       C[i, ramp(0, 1, 32)] = acc[ramp(0, 1, 32)] where broadcast(i < n, 32)
//     }
//   }
//
// Statements need no separator. `let` and `allocate` hold to the end of the block they stand in; where one
// ends earlier it stands in braces of its own. Loop kinds: serial (not written), parallel, vectorized,
// folded, unrolled, grid_x … thread_z. Scopes: global (not written), shared, register, fragment. The others:
//   if c { … } else { … }
//   barrier
//   async_copy T[…] from S[…] elements 16
//   async_wait 1
//   matrix zero UNIT C
//   matrix load_a UNIT A S        and load_b UNIT B S
//   matrix multiply UNIT C A B    each a tile: T[…] rows 1, 0 columns 0, 1

#include <string>
#include <string_view>

#include "compiler/ir/stmt.h"
#include "compiler/tensor/text.h"

namespace tf::ir {

std::string to_string(const Function& function);
// A fragment, for people and error messages: free variables print by their names.
std::string to_string(const Stmt& stmt);
std::string print(const Stmt& stmt, tensor::Names& names, int indent = 0);

// "serial", "parallel", … as in the text.
std::string_view kind_name(ForKind kind);
std::string_view scope_name(Scope scope);
std::string_view action_name(MatrixAction action);

}  // namespace tf::ir
