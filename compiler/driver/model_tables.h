#pragma once
// Owns: what a model's code is linked with: the tables of compiler/runtime/model_abi.h and the packed
// weights. Does not know: linking.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/memory_plan.h"
#include "compiler/schedule/schedule.h"

namespace tf::driver {

// What a compiled kernel says of one buffer of its call.
struct KernelPort {
  std::string layout;
  uint64_t size_bytes = 0;
  std::vector<schedule::AxisMap> maps;      // of a constant, before the layout
  bool in_place = false;                    // the output may be written over it
  std::optional<tensor::Element> narrowed;  // f16 or bf16, if a constant of f32 is stored so
  std::optional<schedule::ConstantSums> sums = std::nullopt;  // of a constant that is made of another
};

// A compiled kernel, freed of its wire form.
struct Kernel {
  std::string entry;
  std::string object;  // relocatable ELF
  std::vector<int64_t> dims;
  std::vector<KernelPort>
      ports;  // inputs and constants as in the workload, what is made of constants, the output
  uint64_t workspace_bytes = 0, workspace_per_thread_bytes = 0;
  bool tuned = false;
  std::string problem;
  std::vector<std::string> numerics;
};

struct ModelTables {
  std::string blob;  // bytes of tf_model_blob
  uint64_t weights_bytes = 0;
};

// Writes the constants, each once for every layout that kernels want it in and after the maps that come
// before it, to `weights_path`. One kernel a task of the program. INTERNAL if what a kernel says of its ports
// does not fit its calls.
absl::StatusOr<ModelTables> make_tables(const graph::Program& program, const graph::MemoryPlan& memory,
                                        const std::vector<Kernel>& kernels, const std::string& weights_path);

}  // namespace tf::driver
