#pragma once
// Owns: in which pieces an asynchronous copy is made. Does not know: text.

#include <vector>

#include "compiler/analysis/bounds.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct CopyPieces {
  int elements = 1;           // of each piece
  bool asynchronous = false;  // or loaded and stored by the thread
};

// The widest, of up to 16 bytes, that are aligned on both sides; asynchronous where the device has such copies, which move 4, 8
// or 16 bytes.
CopyPieces pieces_of(const ir::AsyncCopy& copy, const target::Target& target,
                     const analysis::RangeMap& ranges);

}  // namespace tf::backends
