#include "tuner/space/sketch/rows.h"

#include "compiler/schedule/row_steps.h"
#include "compiler/schedule/structure.h"
#include "tuner/space/parameters.h"

namespace tf::space {
namespace {

// Powers of two around a register's lanes.
std::vector<int64_t> lane_choices(int64_t lanes) {
  std::vector<int64_t> choices;
  for (int64_t n : {lanes / 2, lanes, 2 * lanes, 4 * lanes})
    if (n > 1) choices.push_back(n);
  return choices;
}

}  // namespace

std::optional<Sketch> generated_rows(const tensor::KernelSpec& spec) {
  const tensor::Workload& workload = spec.workload;
  const std::optional<schedule::Rows> rows = schedule::rows_of(workload, spec.ports);
  if (!rows) return std::nullopt;
  Sketch sketch;
  sketch.family = "generated rows";
  sketch.workload = std::make_shared<const tensor::Workload>(workload);
  const schedule::RowSizes known = schedule::default_row_sizes(workload, *rows, spec.target.fp32_lanes());
  Point seed;
  auto open = [&](const char* name, std::vector<int64_t> values, int64_t seeded) {
    Parameter parameter = scalar_parameter(name, std::move(values));
    seed.push_back(ensure_choice(parameter, {seeded}));
    sketch.parameters.push_back(std::move(parameter));
    return schedule::Size::open(static_cast<int>(sketch.parameters.size()) - 1, 0);
  };
  schedule::RowSizes sizes;
  sizes.lanes = open("lanes", lane_choices(known.lanes.value), known.lanes.value);
  sizes.partials = open("partials", lane_choices(spec.target.fp32_lanes()), known.partials.value);
  if (schedule::only_folds(workload, *rows)) sizes.block = open("block", {1, 2, 4, 8}, known.block.value);
  schedule::append_rows(workload, *rows, sizes, spec.threads > 1, sketch.steps.steps);
  const schedule::Size unroll = open("unroll", {0, 16, 64}, 0);
  for (size_t s = 0; s < workload.stages.size(); ++s)
    if (rows->stages[s].place == schedule::RowStage::Place::kStored)
      sketch.steps.steps.push_back(schedule::Pragma{schedule::stage_name(static_cast<int>(s)),
                                                    schedule::PragmaKind::kUnrollLimit, unroll});
  sketch.seeds.push_back(std::move(seed));
  return sketch;
}

}  // namespace tf::space
