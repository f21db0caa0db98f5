#pragma once
// Owns: making parameters: ordered factorisations of an extent and scalar choices.

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

struct TileParameterOptions {
  int parts = 1;                        // inner factors; the outermost loop takes what is left
  int64_t max_innermost = 64;           // bound of the last part
  int64_t max_inner_product = 1 << 20;  // bound of the product of all parts
  size_t max_choices = 4096;
};

// Every tuple of `parts` factors whose product divides the extent; when the extent has few divisors (a prime,
// say), also tuples that leave a masked remainder of at most an eighth of the work. The choice of all ones is
// always there.
Parameter tile_parameter(std::string name, int64_t extent, const TileParameterOptions& options);

// A parameter of one part with these values.
Parameter scalar_parameter(std::string name, std::vector<int64_t> values);

}  // namespace tf::recipes
