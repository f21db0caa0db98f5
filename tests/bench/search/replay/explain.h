#pragma once
// Owns: measured candidates beside what the roofline model takes their time for, resource by resource. Does
// not know: learned models.

#include "absl/status/status.h"
#include "compiler/target/target.h"
#include "tests/bench/search/replay/pool.h"
#include "tests/bench/search/replay/task_table.h"
#include "tuner/model/roofline/measured_rates.h"

namespace tf::replay {

// Prints about `rows` of the pool's candidates within three times the best, evenly over the order of their
// times: what was measured, what the roofline model says, and of that the time of each resource, in
// microseconds (they overlap); then the choices in the sketch's parameters. Errors: the binding's.
// `measured` is of the machine that the pool is of.
absl::Status print_explained(const BenchTask& task, const target::Target& target, int threads,
                             const model::MeasuredRates& measured, const Pool& pool, int64_t rows);

}  // namespace tf::replay
