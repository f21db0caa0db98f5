#pragma once
// Owns: Tunefarm's helper programs as this process uses them: build workers, which compile, and the sandbox, which times. Does
// not know: search.

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/driver/build_pool.h"
#include "compiler/python/kernel.h"
#include "compiler/python/problem.h"
#include "database/record.h"
#include "device_agent/worker/worker.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::python {

// A compiled kernel as its build gave it. Immutable.
struct Artifact {
  tunefarm::kernel::v1::BuildReply reply;
  std::string bytes;  // of reply.artifact(), serialized
  std::string digest;
};
using ArtifactRef = std::shared_ptr<const Artifact>;

struct MeasureOptions {
  uint32_t samples = 12;    // at most
  double seconds = 0.025;   // of samples, after which there are no more
  std::string sketch_hash;  // names the design space that the schedule is from
  std::vector<int64_t> choices;
};

// Thread-safe; all calls but those of constructors run without the GIL.
class Programs {
 public:
  // FileNotFoundError: the folder lacks a program.
  explicit Programs(const std::string& folder);

  // A schedule's kernel. IllegalStep; Error: it does not compile.
  ArtifactRef build(const Problem& problem, const std::string& schedule);
  // Plain loops, which tell the right answers.
  ArtifactRef reference(const Problem& problem);
  // The loop IR after the last pass and, if asked for, the assembly.
  std::pair<std::string, std::string> show(const Problem& problem, const std::string& schedule,
                                           bool assembly);
  // Of each pass, its name and the loop IR after it.
  std::vector<std::pair<std::string, std::string>> passes(const Problem& problem, const std::string& schedule,
                                                          const std::string& pass);
  // Times the candidate in the sandbox on this machine, and checks its answers, unless there is no reference. The outcome is
  // part of the result. Error: this machine could not measure.
  database::Measurement measure(const Problem& problem, const std::string& schedule,
                                const ArtifactRef& candidate, const ArtifactRef& reference,
                                const MeasureOptions& options);

 private:
  ArtifactRef built(const tunefarm::kernel::v1::BuildRequest& request);
  tunefarm::kernel::v1::BuildReply ask(const tunefarm::kernel::v1::BuildRequest& request);
  worker::Worker& sandbox();

  const std::string folder_;
  std::unique_ptr<driver::BuildPool> pool_;
  std::mutex starting_;
  std::unique_ptr<worker::Worker> sandbox_;  // made when it is first used
};

void add_programs(pybind11::module_& module);

}  // namespace tf::python
