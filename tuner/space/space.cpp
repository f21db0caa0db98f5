#include "tuner/space/space.h"

#include "compiler/recipes/recipes.h"

namespace tf::space {

double DesignSpace::size() const {
  double points = 0;
  for (const Sketch& sketch : sketches) points += sketch.size();
  return points;
}

schedule::Schedule DesignSpace::schedule_of(const Candidate& candidate) const {
  return recipes::instantiate(sketches.at(static_cast<size_t>(candidate.sketch)), candidate.point);
}

DesignSpace generate_space(const tensor::KernelSpec& kernel) {
  return {recipes::sketches_of(kernel), kernel.ports};
}

}  // namespace tf::space
