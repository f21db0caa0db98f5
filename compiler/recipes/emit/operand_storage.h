#pragma once
// Owns: how what a register tile reads is stored: constants in the order of tiles, copies of a matrix
// product's columns. Does not know: sizes of tiles.

#include "compiler/recipes/emit/preparation.h"

namespace tf::recipes {

// How the operands that a tile reads are stored, in panels of `vectors` vectors, as many as the tile has or
// fewer: constants' layouts, and a copy of a matrix product's columns, made at run time, if they are packed.
// Comes before the steps of the tile.
void append_operand_storage(const tensor::KernelSpec& kernel, const Structure& structure,
                            const Prepared& prepared, Size vectors, Steps& steps);

}  // namespace tf::recipes
