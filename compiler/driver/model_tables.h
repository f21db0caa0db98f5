#pragma once
// Owns: what a model's code is linked with: the tables of compiler/runtime/model_abi.h and the weights.
// Does not know: linking.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/library/weights.h"
#include "compiler/graph/program/memory_plan.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {

// A compiled kernel.
struct Kernel {
  std::string entry;
  std::string object;  // relocatable ELF
  // Its ports: inputs and constants as in the workload, what is made of constants, the output.
  tunefarm::kernel::v1::Manifest manifest;
  bool tuned = false;
  std::string problem;  // why a tuned schedule could not be used, or empty
};

struct ModelTables {
  std::string blob;  // bytes of tf_model_blob
  Weights weights;
  std::vector<std::string> host_functions;  // of the runtime, after the kernels in tf_model_kernels
};

// One kernel a task of the program. INTERNAL if what a kernel says of its ports does not fit its calls.
absl::StatusOr<ModelTables> make_tables(const graph::Program& program, const graph::MemoryPlan& memory,
                                        const std::vector<Kernel>& kernels);

}  // namespace tf::driver
