#pragma once
// Owns: carrying a point of one problem's sketch over to the like sketch of another problem. Pure. Does not
// know: which points are worth it, where they come from.

#include "tuner/space/space.h"

namespace tf::space {

// Whether two sketches make the same decisions: of one family, with the same parameters but for their
// choices.
bool are_alike(const Sketch& a, const Sketch& b);

// How far apart the problems of two sketches are: the sum over the anchor's axes (the output's, if there is
// none) of the ratio of their extents, as binary logarithms; infinity if they have not the same axes.
double distance(const Sketch& a, const Sketch& b);

// The point of `to` that decides as `point` does of `from`, a sketch like it. Sizes stay what they are, for
// they are those of registers and caches, and each parameter takes the choice nearest to them, innermost
// parts first; but a tile that is its parameter's largest becomes the largest. It need not be legal.
Point carry_over(const Sketch& from, const Point& point, const Sketch& to);

}  // namespace tf::space
