#pragma once
// Owns: which axes of the grid a sketch's blocks run along, and whether the target launches such grids. Does not know: the families.

#include <optional>

#include "compiler/recipes/sketch.h"
#include "compiler/target/target.h"

namespace tf::recipes {

// Where the default point has more blocks along y or z than the target takes, those change places with x's, which are fewer. Nothing
// where they are too many in any case, or a block has too many threads or too much in shared memory, or the default point is not legal: the next recipe may do.
std::optional<Sketch> launched_on(const target::Target& target, Sketch sketch);

// What a block keeps in shared memory at the default point, in the launch with the most; 0 if the point is not legal.
int64_t shared_bytes_of(const Sketch& sketch);

}  // namespace tf::recipes
