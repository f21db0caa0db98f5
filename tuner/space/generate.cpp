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

schedule::Schedule default_of(const tensor::KernelSpec& spec) {
  return schedule::default_schedule(spec.workload, spec.ports, spec.target, spec.threads, spec.allowed);
}

void add_reductions(const tensor::KernelSpec& spec, const ReductionForm& form, DesignSpace& space) {
  for (Sketch& sketch : conv2d_templates(spec, form)) {
    add_if_usable(std::move(sketch), space);
  }
  if (std::optional<Sketch> sketch = depthwise_template(spec, form)) {
    add_if_usable(*std::move(sketch), space);
  }
  for (Sketch& sketch : dense_templates(spec, form)) {
    add_if_usable(std::move(sketch), space);
  }
  add_if_usable(generated_tiled_reduction(spec, form), space);
}

// What the default schedule does comes first.
void add_reductions(const tensor::KernelSpec& spec, DesignSpace& space) {
  const schedule::Structure structure = schedule::structure_of(spec.workload);
  if (!structure.anchor) return;
  const tensor::PortLayouts& ports = spec.ports;
  const schedule::Producers first = schedule::default_producers(spec.workload, structure, ports);
  const schedule::Producers second =
      first == schedule::Producers::kStored ? schedule::Producers::kInlined : schedule::Producers::kStored;
  for (schedule::Storage storage :
       schedule::storages(spec.workload, structure, ports, spec.target, spec.allowed)) {
    for (schedule::Producers producers : {first, second}) {
      if (structure.producers.empty() && producers == second) continue;  // the same again
      add_reductions(spec, {.producers = producers, .storage = storage}, space);
    }
  }
}

}  // namespace

DesignSpace generate_space(const tensor::KernelSpec& spec) {
  DesignSpace space;
  space.ports = spec.ports;
  if (std::optional<Sketch> attention = generated_attention(spec))
    add_if_usable(*std::move(attention), space);
  std::vector<Sketch> winograd;
  if (schedule::allows(spec.allowed, schedule::kWinograd)) winograd = winograd_templates(spec);
  if (std::optional<Sketch> rows = generated_rows(spec)) add_if_usable(*std::move(rows), space);
  // What the default schedule takes comes first.
  const bool winograd_first = schedule::allows(schedule::numerics_of(default_of(spec)), schedule::kWinograd);
  if (!winograd_first) add_reductions(spec, space);
  for (Sketch& sketch : winograd) add_if_usable(std::move(sketch), space);
  if (winograd_first) add_reductions(spec, space);
  if (space.sketches.empty()) add_if_usable(generated_flat(spec), space);
  // A tuned build is never slower than an untuned one: the default schedule is in every space, and a seed.
  if (space.sketches.empty() || space.sketches.front().seeds.empty()) {
    Sketch fixed;
    fixed.family = "default";
    fixed.workload = std::make_shared<const tensor::Workload>(spec.workload);
    fixed.steps = default_of(spec);
    fixed.seeds.push_back({});
    space.sketches.push_back(std::move(fixed));
  }
  return space;
}

}  // namespace tf::space
