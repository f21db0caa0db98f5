#pragma once
// Owns: a task's design space with what judges its candidates, and which of them a record was made from.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/schedule/numerics.h"
#include "database/record.h"
#include "tuner/model/evaluator.h"
#include "tuner/session/task.h"
#include "tuner/space/space.h"

namespace tf::session {

// Const after construction, and thread-safe.
class TaskSpace {
 public:
  // `measured` is of the machine that the candidates run on (calibration.h). INVALID_ARGUMENT if the binding
  // does not fit the workload.
  static absl::StatusOr<TaskSpace> create(const Task& task, const target::Target& target, int threads,
                                          const schedule::Numerics& allowed,
                                          const model::MeasuredRates& measured = {});

  // The same space for a machine of these rates; nothing is generated or compiled again.
  TaskSpace on(const model::MeasuredRates& measured) const;

  const space::DesignSpace& space() const { return *space_; }
  const model::Evaluator& evaluator() const { return *evaluator_; }
  double flops() const { return flops_; }
  double bytes() const { return bytes_; }
  // Of its sketches, in order: tasks with the same families are alike.
  const std::string& families() const { return families_; }
  const std::string& hash_of(const space::Candidate& candidate) const {
    return hashes_[static_cast<size_t>(candidate.sketch)];
  }

  // What tells programs apart: schedules of the same loops are one (passes::loops_hash).
  uint64_t loops_of(const schedule::Schedule& schedule) const;
  uint64_t loops_of(const space::Candidate& candidate) const {
    return loops_of(space_->schedule_of(candidate));
  }

  // The candidate that a record of the task was made from; nothing if it is no point of this space, if its
  // schedule is another than the point's, or if it was measured when schedules meant something else.
  std::optional<space::Candidate> candidate_of(const database::Measurement& record) const;
  // The same of a record's parts, where schedules are known to mean what they do now.
  std::optional<space::Candidate> candidate_of(const std::string& sketch_hash,
                                               const std::vector<int64_t>& choices,
                                               const std::string& schedule) const;

 private:
  TaskSpace() = default;

  std::shared_ptr<const space::DesignSpace> space_;
  std::shared_ptr<const model::Evaluator> evaluator_;
  std::vector<std::string> hashes_;  // of the sketches
  std::string families_;
  double flops_ = 0, bytes_ = 0;
};

}  // namespace tf::session
