#pragma once
// Owns: candidates as programs for people: loop IR and assembly, made in build workers, few at a time. Does
// not know: which candidate is asked for.

#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "compiler/driver/builder.h"
#include "compiler/tensor/kernel_spec.h"
#include "proto/tune/v1/report.pb.h"

namespace tf::report {

// The schedule of a build without tuning. Errors: tensor::bind's.
absl::StatusOr<std::string> default_schedule_of(const tensor::KernelSpec& kernel);

// Thread-safe. Keeps the last programs.
class Programs {
 public:
  // Null: FAILED_PRECONDITION of everything. The builder's workers verify schedules, which anybody may have written.
  explicit Programs(driver::Builder* builder) : builder_(builder) {}

  // Waits while all workers are busy, but not for long: RESOURCE_EXHAUSTED. FAILED_PRECONDITION: the schedule cannot be
  // built. DEADLINE_EXCEEDED, ABORTED: it took too long, or crashed its worker. UNAVAILABLE: no worker could be asked.
  absl::StatusOr<tunefarm::tune::v1::Program> show(const tensor::KernelSpec& kernel,
                                                   const std::string& schedule);

 private:
  using Program = tunefarm::tune::v1::Program;
  absl::Status begin();
  void end();
  const Program* find(const std::string& name);  // under the lock

  driver::Builder* const builder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0, waiting_ = 0;
  std::list<std::pair<std::string, Program>>
      kept_;  // by what names them, the last one that was asked for first
};

}  // namespace tf::report
