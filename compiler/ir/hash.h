#pragma once
// Owns: a hash of loop IR that goes with equality (equal.h): up to the names of variables and buffers. Does
// not know: what the code means.

#include <cstdint>

#include "compiler/ir/stmt.h"

namespace tf::ir {

// Equal functions have one hash; others hardly ever (64 bits, no defence against malice). The same in every
// process. Takes time in proportion to the nodes, each shared one once.
uint64_t hash(const Function& function);

}  // namespace tf::ir
