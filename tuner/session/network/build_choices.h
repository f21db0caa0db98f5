#pragma once
// Owns: what `compiler build` takes for each kernel of a network, by the records of a database, and how that
// compares with a build without tuning. Does not know: how it is printed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/schedule/numerics.h"
#include "compiler/target/target.h"
#include "database/store.h"

namespace tf::session {

struct KernelChoice {
  std::string label;
  std::string key;        // of the workload, hexadecimal
  int64_t runs = 0;       // in one run of the network
  double flops = 0;       // of one run of the kernel
  double untuned_ns = 0;  // of the untuned schedule, timed alone; 0: it has no time
  double build_ns = 0;  // of the schedule that the build takes, timed alone; 0: the default, without records
  bool is_untuned = true;            // the build takes the untuned schedule
  std::optional<database::Why> why;  // nothing: there is no record
};

// A row a kernel of the build, in the order of the program; of a kernel for all sizes, that of the size whose schedule it
// takes first. The layouts, the schedules and the times are
// those that `compiler build --db` takes, and `tuner best` prints: of any device class. Errors: the graph's,
// the records'.
absl::StatusOr<std::vector<KernelChoice>> build_choices(const graph::Network& network,
                                                        database::Records& records,
                                                        const target::Target& target, int threads,
                                                        const schedule::Numerics& allowed);

}  // namespace tf::session
