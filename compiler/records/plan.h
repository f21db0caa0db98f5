#pragma once
// Owns: a network as records would have it built: layouts by measured times, the best known schedule of each
// kernel. Does not know: where records come from.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "compiler/graph/program.h"
#include "compiler/records/records_source.h"
#include "compiler/target/target.h"

namespace tf::records {

using Choices = std::vector<std::optional<driver::ScheduleChoice>>;

struct Plan {
  graph::Program program;
  Choices choices;                 // one a task of the program
  std::vector<LockEntry> layouts;  // records that layouts were chosen by
};

// Without choices: layouts by what `times` knows. Errors: the source's, the graph's.
absl::StatusOr<Plan> plan_layouts(driver::ScheduleSource& times, graph::Graph graph,
                                  const target::Target& target, int threads);

// Layouts and schedules from one source.
absl::StatusOr<Plan> plan_network(driver::ScheduleSource& source, graph::Graph graph,
                                  const target::Target& target, int threads);

// What a build without records takes: layouts by estimates, no choices.
absl::StatusOr<Plan> plan_untuned(graph::Graph graph, const target::Target& target);

}  // namespace tf::records
