#pragma once
// Owns: tuning the kernels of the table into a database that remembers how long each was tuned. Does not
// know: peers, comparing.

#include <span>
#include <string>

#include "absl/status/status.h"
#include "compiler/target/target.h"
#include "tests/bench/kernels/kernel_table.h"

namespace tf::peers {

struct TuneOptions {
  target::Target target;
  int threads = 1;
  bool row_major = false;
  std::vector<std::string> allowed_numerics;
  double minutes = 1;             // of this call, in all
  double minutes_per_kernel = 2;  // of all calls with that database
};

// Gives time to the kernels that have had the least, half a minute at once, until the minutes are spent or
// every kernel has had its share. Progress goes to stderr. Keeps the calling thread, and those it starts
// later, on the CPUs that do not measure: compare in another process. Errors: the database's, the runner's.
absl::Status tune_kernels(std::span<const bench::Kernel> kernels, const TuneOptions& options,
                          const std::string& database);

}  // namespace tf::peers
