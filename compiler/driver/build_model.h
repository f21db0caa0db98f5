#pragma once
// Owns: from a planned network and schedules for its tasks to a folder with model.so and model.h. Does not
// know: where schedules come from (the database is behind ScheduleSource), ONNX.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/program/program.h"
#include "compiler/schedule/numerics.h"
#include "compiler/target/target.h"

namespace tf::driver {

class Builder;

// A tuned schedule and the record that vouches for it.
struct ScheduleChoice {
  std::string schedule;  // canonical text
  std::string record;    // digest of the record, hexadecimal
  double median_ns = 0;  // as measured
  // It was measured as this network runs the kernel (tensor::KernelKey::reuse_distance_bytes). If not, it
  // vouches for the schedule, but its time compares with no other.
  bool is_of_network = true;
  bool is_untuned = false;  // it is the one of a build without tuning, as of who measured it
  size_t at_size = 0;       // of a kernel for all sizes: for which of graph::Task::at_sizes it was measured
};

class ScheduleSource {
 public:
  virtual ~ScheduleSource() = default;
  // The best schedule that is known, or nothing.
  virtual absl::StatusOr<std::optional<ScheduleChoice>> find(const tensor::KernelKey& query) = 0;
};

// One entry a task of the program.
absl::StatusOr<std::vector<std::optional<ScheduleChoice>>> choose_schedules(const graph::Program& program,
                                                                            const target::Target& target,
                                                                            int threads,
                                                                            ScheduleSource& source);

// What becomes of a task whose chosen schedule cannot be built.
enum class OnFailedChoice { kUseDefault, kFail };

struct BuildModelOptions {
  target::Target target;
  // Of the library where the target is a GPU, and of what runs beside it: control flow, host functions, kernels that do not
  // compile for the GPU, and programs that find sizes. Nothing: this machine's. Else the target is the library's.
  std::optional<target::Target> host;
  int threads = 1;                      // that the schedules are for; a model runs with any number
  schedule::Numerics allowed_numerics;  // that schedules may use; records that use others are not built
  OnFailedChoice on_failed_choice = OnFailedChoice::kUseDefault;
  std::string folder;                // made if it is not there
  std::string name = "model";        // as check_model_name wants it
  std::string runtime_archive_path;  // libtf_runtime_model.a for the target; empty: that of this build
  bool with_archive = false;         // the static archive libNAME.a, too
};

struct TaskReport {
  std::string label;
  std::string key;  // of the workload, hexadecimal
  int64_t count = 0;
  double flops = 0;
  std::optional<ScheduleChoice> used;  // nothing: the default schedule
  std::string problem;                 // why a tuned schedule could not be used, or empty
  bool is_for_all_sizes = false;  // its FLOPs are those of the greatest sizes, its record's time that of one
  schedule::Numerics numerics;    // that the kernel uses
  bool on_device = false, on_host = false;  // where a model for a GPU runs it
  std::string why_on_host;                  // of a kernel that does not compile for the GPU
};

struct ModelReport {
  std::vector<TaskReport> tasks;  // as the program's
  uint64_t weights_bytes = 0;     // as kernels want them
  uint64_t constant_bytes = 0;    // as the network defines them
  uint64_t arena_bytes = 0;
  uint64_t workspace_bytes = 0;  // that kernels share, with the options' threads
};

// Builds every kernel by the builder, packs constants into the layouts that the kernels ask for, plans memory
// (results over dead operands where the kernels bear it) and links FOLDER/model.so; writes FOLDER/model.h,
// FOLDER/libNAME.so as a link to model.so: programs that were linked with it look for that name; and
// FOLDER/NAME-config.cmake. A task
// without a choice gets the default schedule, as does one whose chosen schedule cannot be built (it does not
// compile, or not in the builder's time), unless the options make that an error: FAILED_PRECONDITION with the
// task and why, and FOLDER's model stays as it was. The same program and choices give the same bytes. Other
// errors: the builder's; INVALID_ARGUMENT for the name; INTERNAL if a default schedule does not compile.
absl::StatusOr<ModelReport> build_model(const graph::Program& planned,
                                        const std::vector<std::optional<ScheduleChoice>>& choices,
                                        Builder& builder, const BuildModelOptions& options);

}  // namespace tf::driver
