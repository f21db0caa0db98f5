#pragma once
// Owns: drawing and mixing points: uniform samples, crossover. Pure functions of a seeded generator.

#include <random>

#include "tuner/space/space.h"

namespace tf::space {

// A 64-bit generator whose draws are the same on every platform; the standard's distributions are not, so
// uses go through `below`.
using Random = std::mt19937_64;

// A uniform draw from [0, count). count must be positive.
uint64_t below(Random& random, uint64_t count);

// Sketches are drawn evenly, then each parameter uniformly.
Candidate sample(const DesignSpace& space, Random& random);

// Each parameter from one parent or the other. Parents must share a sketch.
Candidate crossover(const Candidate& a, const Candidate& b, Random& random);

}  // namespace tf::space
