#pragma once
// Owns: the pass from logical indices to one physical element offset an access.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// Every buffer becomes one-dimensional, as large as its layout's storage, temporaries as far as loads reach
// (up to kSlackElements beyond); parameters keep their order.
//
//   t0: f32[2, 64] layout "0,1,1:16"          t0: f32[128]
//   t0[n, c] = 0                         →    t0[n*64 + (c//16)*16 + c%16] = 0
ir::Function flatten(const ir::Function& function);

}  // namespace tf::passes
