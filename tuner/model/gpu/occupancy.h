#pragma once
// Owns: how many blocks of a launch one multiprocessor runs at a time. Does not know: how many multiprocessors there are.

#include "compiler/target/target.h"
#include "tuner/model/formulas/value.h"

namespace tf::model {

struct BlockNeeds {
  Value threads = 1;
  Value registers_per_thread = 0;  // at least 1 is taken
  Value shared_bytes = 0;
};

// As cuda_occupancy.h counts them; 0: not even one fits. Where the limits of a multiprocessor are not known, they are those of
// a small one.
Value resident_blocks(const BlockNeeds& block, const target::Target& target);

}  // namespace tf::model
