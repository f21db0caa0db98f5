#include "tests/bench/search/replay/explain.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "tuner/model/nests/nest.h"
#include "tuner/model/roofline/roofline.h"
#include "tuner/space/space.h"

namespace tf::replay {
namespace {

// As in model::Resource.
constexpr const char* kResources[model::kResources] = {
    "multiply-adds", "waits",      "arithmetic", "loads", "stores", "spills",
    "code",          "handing on", "L2",         "L3",    "memory"};

std::vector<const Entry*> fastest_first(const Pool& pool) {
  std::vector<const Entry*> near;
  for (const auto& entry : pool.entries())
    if (entry->seconds > 0 && entry->seconds <= kNear * pool.best_seconds()) near.push_back(entry.get());
  std::stable_sort(near.begin(), near.end(),
                   [](const Entry* a, const Entry* b) { return a->seconds < b->seconds; });
  return near;
}

// "template dense tile_m=2x14 unroll=64" of a record of one of the space's sketches; else its numbers.
std::string choices_of(const space::DesignSpace& space, const Entry& entry) {
  const auto sketch = std::ranges::find_if(space.sketches, [&](const space::Sketch& each) {
    return each.hash().hex() == entry.sketch_hash && recipes::point_of(each, entry.choices);
  });
  if (sketch == space.sketches.end()) return absl::StrJoin(entry.choices, ",");
  std::string text = sketch->family;
  for (size_t i = 0; i < entry.choices.size(); ++i) {
    const auto& choice = sketch->parameters[i].choices[static_cast<size_t>(entry.choices[i])];
    absl::StrAppendFormat(&text, " %s=%s", sketch->parameters[i].name, absl::StrJoin(choice, "x"));
  }
  return text;
}

}  // namespace

absl::Status print_explained(const BenchTask& task, const target::Target& target, int threads,
                             const model::MeasuredRates& measured, const Pool& pool, int64_t rows) {
  TF_ASSIGN_OR_RETURN(const tensor::Workload bound,
                      tensor::bind(task.task.kernel.workload, task.task.kernel.binding));
  const space::DesignSpace space = space::generate_space(
      {.workload = bound, .ports = task.task.kernel.ports, .target = target, .threads = threads});
  absl::PrintF("%s\n%9s %9s", task.task.label, "measured", "roofline");
  for (const char* resource : kResources) absl::PrintF(" %13s", resource);
  absl::PrintF("\n");
  const std::vector<const Entry*> near = fastest_first(pool);
  const size_t step = std::max<size_t>(1, near.size() / static_cast<size_t>(std::max<int64_t>(1, rows)));
  for (size_t i = 0; i < near.size(); i += step) {
    const absl::StatusOr<schedule::Schedule> schedule = schedule::parse_schedule(near[i]->schedule);
    if (!schedule.ok()) continue;
    const absl::StatusOr<schedule::State> state = schedule::apply(bound, *schedule);
    if (!state.ok()) continue;  // of an older space
    const std::vector<model::Nest> nests = model::summarize(*state, space.ports, target);
    const model::Roofline roofline =
        model::roofline_of(nests, target,
                           {.threads = threads,
                            .reuse_distance_bytes = task.task.kernel.reuse_distance_bytes,
                            .measured = measured});
    const double us = roofline.seconds.constant() * 1e6;
    absl::PrintF("%9.1f %9.1f", near[i]->seconds * 1e6, us);
    for (const model::Value& share : roofline.shares) absl::PrintF(" %13.1f", share.constant() * us);
    absl::PrintF("  %s\n", choices_of(space, *near[i]));
  }
  return absl::OkStatus();
}

}  // namespace tf::replay
