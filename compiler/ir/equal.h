#pragma once
// Owns: equality of loop IR up to the names of variables and buffers. Does not know: what the code means; two
// programs that compute the same in different ways are different.

#include "compiler/ir/stmt.h"

namespace tf::ir {

// Bound variables and allocated buffers correspond by position, free ones are the same nodes. Sequences are
// compared flattened. Names do not count.
bool equal(const Stmt& a, const Stmt& b);

// Also dimensions and parameters correspond by position. The function's name counts.
bool equal(const Function& a, const Function& b);

}  // namespace tf::ir
