#pragma once
// Owns: how what a register tile reads is stored: constants in the order of tiles, copies of a matrix
// product's columns. Does not know: sizes of tiles.

#include <vector>

#include "compiler/schedule/preparation.h"

namespace tf::schedule {

// How the operands that a tile reads are stored, in panels of `vectors` vectors, as many as the tile has or
// fewer: constants' layouts, and with `pack` a copy of a matrix product's columns that is made at run time.
// Comes before the steps of the tile.
void append_operand_storage(const tensor::Workload& workload, const Structure& structure,
                            const Prepared& prepared, Size vectors, bool pack, bool parallel,
                            std::vector<Step>& steps);

}  // namespace tf::schedule
