#pragma once
// Owns: what a model's code is linked with: the tables of compiler/runtime/model_abi.h and the weights.
// Does not know: linking.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/library/weights.h"
#include "compiler/graph/program/memory_plan.h"
#include "compiler/runtime/blob/model_blob.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {

// A kernel as a device takes it.
struct DeviceKernel {
  runtime::ModelDeviceKernel code;
  tunefarm::kernel::v1::Manifest manifest;  // as Kernel's
};

// A compiled kernel: for the host, for a device, or for both.
struct Kernel {
  std::string entry;
  std::string object;  // relocatable ELF; empty: for the device alone
  // Its ports: inputs and constants as in the workload, what is made of constants, the output.
  tunefarm::kernel::v1::Manifest manifest;
  std::optional<DeviceKernel> device;  // taken where the program runs on the device
  bool tuned = false;
  std::string problem;         // why a tuned schedule could not be used, or empty
  std::string why_not_device;  // of one that should have been for the device
};

bool is_for_host(const Kernel& kernel);

// Whether the program of a model for a device and its variants run there: if no call finds a size. Bodies of branches and loops
// run on the host.
bool runs_on_device(const graph::Program& model);

struct ModelTables {
  std::string blob;  // bytes of tf_model_blob
  Weights weights;
  std::vector<std::string> host_functions;  // of the runtime, after the kernels in tf_model_kernels
};

// One kernel a task of the program. `device_function` is the runtime's for the kernels' device; empty: there is none, and the
// memory need not be aligned for one. UNIMPLEMENTED as with_copies (library/placed_steps.h); INTERNAL if what a kernel says of its ports does not fit its calls.
absl::StatusOr<ModelTables> make_tables(const graph::Program& program, const graph::MemoryPlan& memory,
                                        const std::vector<Kernel>& kernels,
                                        const std::string& device_function = "");

}  // namespace tf::driver
