#pragma once
// Owns: the pieces in which an asynchronous copy is made. Does not know: text.

#include <vector>

#include "compiler/analysis/bounds.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct CopyPieces {
  int elements = 1;           // per piece
  bool asynchronous = false;  // false: the thread loads and stores
};

// The widest pieces, up to 16 bytes, that are aligned on both sides. They are asynchronous if the device
// supports this; such copies move 4, 8 or 16 bytes.
CopyPieces pieces_of(const ir::AsyncCopy& copy, const target::Target& target,
                     const analysis::RangeMap& ranges);

}  // namespace tf::backends
