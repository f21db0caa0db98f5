#pragma once
// Owns: tiled reductions whose factors are stored narrower, for the driver's tests.

#include "base/check.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/numerics.h"

namespace tf::test {

// The default of the first tiled reduction of the kernel that uses these numerics, schedule::kBf16 or kFp16.
inline schedule::Schedule narrow_schedule(tensor::KernelSpec kernel, const std::string& numerics) {
  kernel.allowed = {numerics};
  for (const recipes::Recipe& recipe : recipes::recipes_for(kernel.target)) {
    if (std::string(recipe.name) != "reduction") continue;
    for (const recipes::Sketch& sketch : recipe.match(kernel))
      if (schedule::numerics_of(sketch.steps) == kernel.allowed)
        return recipes::instantiate(sketch, sketch.default_point());
  }
  TF_CHECK(false) << "no reduction of the kernel uses " << numerics;
  return {};
}

}  // namespace tf::test
