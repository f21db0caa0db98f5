#include "tuner/space/generate.h"

#include <utility>

#include "compiler/schedule/default_schedule.h"
#include "compiler/schedule/default_tile.h"
#include "compiler/schedule/structure.h"
#include "tuner/space/sketch/attention.h"
#include "tuner/space/sketch/flat.h"
#include "tuner/space/sketch/rows.h"
#include "tuner/space/sketch/tiled_reduction.h"
#include "tuner/space/templates/conv2d.h"
#include "tuner/space/templates/dense.h"
#include "tuner/space/templates/depthwise.h"
#include "tuner/space/templates/winograd.h"

namespace tf::space {
namespace {

// Whether the sketch is legal somewhere: its first point stands for the steps without sizes, which decide
// that.
bool is_usable(const Sketch& sketch) {
  return schedule::apply(*sketch.workload, instantiate(sketch, Point(sketch.parameters.size(), 0))).ok();
}

void add_if_usable(Sketch sketch, DesignSpace& space) {
  if (is_usable(sketch)) space.sketches.push_back(std::move(sketch));
}

schedule::Schedule default_of(const Problem& problem, const target::Target& target, int threads,
                              const schedule::Numerics& allowed) {
  return schedule::default_schedule(problem.workload, {problem.in_layouts, problem.out_layouts}, target,
                                    threads, allowed);
}

void add_reductions(const Problem& problem, const target::Target& target, int threads,
                    const ReductionForm& form, DesignSpace& space) {
  for (Sketch& sketch : conv2d_templates(problem, target, threads, form)) {
    add_if_usable(std::move(sketch), space);
  }
  if (std::optional<Sketch> sketch = depthwise_template(problem, target, threads, form)) {
    add_if_usable(*std::move(sketch), space);
  }
  for (Sketch& sketch : dense_templates(problem, target, threads, form)) {
    add_if_usable(std::move(sketch), space);
  }
  add_if_usable(generated_tiled_reduction(problem, target, threads, form), space);
}

// What the default schedule does comes first.
void add_reductions(const Problem& problem, const target::Target& target, int threads,
                    const schedule::Numerics& allowed, DesignSpace& space) {
  const schedule::Structure structure = schedule::structure_of(problem.workload);
  if (!structure.anchor) return;
  const schedule::PortLayouts ports{problem.in_layouts, problem.out_layouts};
  const schedule::Producers first = schedule::default_producers(problem.workload, structure, ports);
  const schedule::Producers second =
      first == schedule::Producers::kStored ? schedule::Producers::kInlined : schedule::Producers::kStored;
  for (schedule::Storage storage : schedule::storages(problem.workload, structure, ports, target, allowed)) {
    for (schedule::Producers producers : {first, second}) {
      if (structure.producers.empty() && producers == second) continue;  // the same again
      add_reductions(problem, target, threads, {.producers = producers, .storage = storage}, space);
    }
  }
}

}  // namespace

DesignSpace generate_space(const Problem& problem, const target::Target& target, int threads,
                           const schedule::Numerics& allowed) {
  DesignSpace space;
  space.ports = {problem.in_layouts, problem.out_layouts};
  if (std::optional<Sketch> attention = generated_attention(problem, target, threads))
    add_if_usable(*std::move(attention), space);
  std::vector<Sketch> winograd;
  if (schedule::allows(allowed, schedule::kWinograd)) winograd = winograd_templates(problem, target, threads);
  if (std::optional<Sketch> rows = generated_rows(problem, target, threads))
    add_if_usable(*std::move(rows), space);
  // What the default schedule takes comes first.
  const bool winograd_first = schedule::allows(
      schedule::numerics_of(default_of(problem, target, threads, allowed)), schedule::kWinograd);
  if (!winograd_first) add_reductions(problem, target, threads, allowed, space);
  for (Sketch& sketch : winograd) add_if_usable(std::move(sketch), space);
  if (winograd_first) add_reductions(problem, target, threads, allowed, space);
  if (space.sketches.empty()) add_if_usable(generated_flat(problem, target, threads), space);
  // A tuned build is never slower than an untuned one: the default schedule is in every space, and a seed.
  if (space.sketches.empty() || space.sketches.front().seeds.empty()) {
    Sketch fixed;
    fixed.family = "default";
    fixed.workload = std::make_shared<const tensor::Workload>(problem.workload);
    fixed.steps = default_of(problem, target, threads, allowed);
    fixed.seeds.push_back({});
    space.sketches.push_back(std::move(fixed));
  }
  return space;
}

}  // namespace tf::space
