#pragma once
// Owns: a network as records would have it built: layouts by measured times, the best known schedule of each
// kernel. Does not know: where records come from.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/records/records_source.h"
#include "compiler/target/target.h"

namespace tf::records {

using Choices = std::vector<std::optional<driver::ScheduleChoice>>;

struct Plan {
  graph::Program program;
  Choices choices;                                  // one a task of the program
  std::vector<LockEntry> layouts;                   // records that layouts were chosen by
  std::optional<database::NetworkVerdict> verdict;  // that it follows
};

// Without choices: layouts by what `times` knows. Errors: the source's, the graph's.
absl::StatusOr<Plan> plan_layouts(driver::ScheduleSource& times, const graph::Network& network,
                                  const target::Target& target, int threads);

// Layouts and schedules from one source.
absl::StatusOr<Plan> plan_network(driver::ScheduleSource& source, const graph::Network& network,
                                  const target::Target& target, int threads);

// What a build without records takes: layouts by estimates, no choices.
absl::StatusOr<Plan> plan_untuned(const graph::Network& network, const target::Target& target);

// Of the verdict on a network: SHA-256 of what it is about, with the semantics version of schedules, and the task
// keys of the untuned plan, sorted, with how often each runs. Networks with the same kernels have the same one.
Digest verdict_key(const graph::Program& untuned, const std::string& device_class,
                   const target::Target& target, int threads, const schedule::Numerics& allowed);

// What `compiler build --db` takes. The latest verdict on the network, of that device class or, if none is given, of
// any, decides: the fastest records of its device class, or the untuned build with its records. Without a
// verdict, what is surely faster than the untuned schedule (database::Records::best).
absl::StatusOr<Plan> plan_by_records(database::Records& records, const graph::Network& network,
                                     const target::Target& target, int threads,
                                     const std::optional<std::string>& device_class,
                                     const schedule::Numerics& allowed);

}  // namespace tf::records
