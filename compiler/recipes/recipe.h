#pragma once
// Owns: Recipe, one way to schedule a family of kernels: a row of the table of recipes. Does not know: which recipes
// there are.

#include <vector>

#include "compiler/recipes/sketch.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::recipes {

struct Recipe {
  const char* name;
  // Sketches of a kernel, whose workload is bound; what is best by estimate comes first. None if the recipe is not for
  // that kernel. A sketch need not be legal, and uses no numerics but those that the kernel allows. Thread-safe.
  std::vector<Sketch> (*match)(const tensor::KernelSpec& kernel);
  bool last_resort = false;  // only for kernels of which no row before has a legal sketch
};

}  // namespace tf::recipes
