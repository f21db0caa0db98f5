#pragma once
// Owns: which axes of the grid a sketch's blocks run along, and whether the target launches such grids. Does not know: the families.

#include <optional>

#include "compiler/recipes/sketch.h"
#include "compiler/target/target.h"

namespace tf::recipes {

// Where the default point has more blocks along y or z than the target takes, those change places with x's, which are fewer. Nothing
// where they are too many in any case, or a block has too many threads, or the default point is not legal: the next recipe may do.
std::optional<Sketch> launched_on(const target::Target& target, Sketch sketch);

}  // namespace tf::recipes
