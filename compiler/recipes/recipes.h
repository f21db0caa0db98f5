#pragma once
// Owns: the table of recipes, and what follows from it: all ways to schedule a kernel, and the one that a kernel gets
// that nobody has tuned. Does not know: measuring, search.

#include <span>
#include <vector>

#include "compiler/recipes/recipe.h"
#include "compiler/target/target.h"

namespace tf::recipes {

// In the order in which they are tried.
std::span<const Recipe> recipes_for(const target::Target& target);

// The design space of a kernel, whose workload must be bound: the sketches of all recipes for it whose defaults are
// legal. Never empty. Uses parallel loops only if the kernel has threads.
std::vector<Sketch> sketches_of(const tensor::KernelSpec& kernel);

// The default choices of the first of these sketches.
schedule::Schedule default_schedule(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
