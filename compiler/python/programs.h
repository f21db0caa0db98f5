#pragma once
// Owns: Tunefarm's helper programs as this process uses them: build workers, which compile, and the sandbox, which times. Does
// not know: search.

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_pool.h"
#include "compiler/python/kernel.h"
#include "compiler/python/problem.h"
#include "database/record.h"
#include "device_agent/worker/worker.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::python {

// A compiled kernel as its build gave it.
struct Artifact {
  tunefarm::kernel::v1::BuildReply reply;
  std::string bytes;  // of reply.artifact(), serialized
  std::string digest;
};
using ArtifactRef = std::shared_ptr<Artifact>;

struct MeasureOptions {
  uint32_t samples = 12;    // at most
  double seconds = 0.025;   // of samples, after which there are no more
  std::string sketch_hash;  // names the design space that the schedule is from
  std::vector<int64_t> choices;
};

// Thread-safe.
class Programs {
 public:
  // NOT_FOUND: the folder lacks a program.
  static absl::StatusOr<std::unique_ptr<Programs>> open(const std::string& folder);

  // A schedule's kernel. Errors as what driver::build says of it.
  absl::StatusOr<ArtifactRef> build(const Problem& problem, const std::string& schedule);
  // Plain loops, which tell the right answers.
  absl::StatusOr<ArtifactRef> reference(const Problem& problem);
  // The loop IR after the last pass, or the assembly.
  absl::StatusOr<std::string> show(const Problem& problem, const std::string& schedule, bool assembly);
  // Of each pass, or the one that is named, its name and the loop IR after it.
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> passes(const Problem& problem,
                                                                          const std::string& schedule,
                                                                          const std::string& pass);
  // Times the candidate in the sandbox on this machine, and checks its answers, unless there is no reference. The outcome is
  // part of the result. Errors: this machine could not measure.
  absl::StatusOr<database::Measurement> measure(const Problem& problem, const std::string& schedule,
                                                const Artifact& candidate, const Artifact* reference,
                                                const MeasureOptions& options);

 private:
  Programs(std::string folder, std::unique_ptr<driver::BuildPool> pool)
      : folder_(std::move(folder)), pool_(std::move(pool)) {}
  absl::StatusOr<ArtifactRef> built(const tunefarm::kernel::v1::BuildRequest& request);
  absl::StatusOr<tunefarm::kernel::v1::BuildReply> ask(const tunefarm::kernel::v1::BuildRequest& request);
  absl::StatusOr<worker::Worker*> sandbox();

  const std::string folder_;
  const std::unique_ptr<driver::BuildPool> pool_;
  std::mutex starting_;
  std::unique_ptr<worker::Worker> sandbox_;  // made when it is first used
};

void add_programs(pybind11::module_& module);

}  // namespace tf::python
