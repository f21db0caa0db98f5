#pragma once
// Owns: the options that `tune` and `submit` share. Does not know: what is done with them.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/service/jobs/job_spec.h"

namespace CLI {
class App;
}

namespace tf::tuner_cli {

struct SpecArguments {
  std::string model;                                // the ONNX file
  service::JobSpec spec = service::default_spec();  // but for what follows
  int64_t trials = 0;
  double minutes = 0, until_gain_percent = 0;
  int threads = 1;
  uint64_t seed = 1;
  std::string allow;
  std::vector<std::string> dims;     // NAME=N or NAME=LEAST..MOST
  std::vector<std::string> anchors;  // NAME=N,N,…
  std::vector<std::string> inputs;   // NAME=VALUE
  bool json = false;
};

void add_spec_options(CLI::App& command, SpecArguments& arguments);

// The specification that the options make. Without a budget, 1000 trials. INVALID_ARGUMENT as job_spec's
// checks.
absl::StatusOr<service::JobSpec> finish_spec(const SpecArguments& arguments);

}  // namespace tf::tuner_cli
