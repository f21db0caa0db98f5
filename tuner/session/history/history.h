#pragma once
// Owns: what was learned of other tasks than those being tuned, or of these elsewhere: candidates, as
// examples that a cost model starts from, and the best of them, as seeds for tasks like them. Does not know:
// which of them are used.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "tuner/model/learned/xgboost_model.h"
#include "tuner/session/calibrate/calibration.h"
#include "tuner/session/history/transfer_learning.h"
#include "tuner/session/loop/task_space.h"

namespace tf::session {

// What looks back: the tasks of a session, all measured in the same way.
struct Viewpoint {
  target::Target target;
  int threads = 1;
  std::string device_class;
  std::string fingerprint;  // of the machine that measures
  int64_t job_id = 0;       // of the session's job; 0: none
  // Of that machine; also of others with its target, of which the records do not say what they reach.
  model::MeasuredRates measured = {};
  schedule::Numerics allowed_numerics;
  // Of which only what is not from here is history (is_from_here): the rest the session adds to its tasks.
  std::vector<tensor::KernelKey> own;
};

// Of so many examples, the fastest first, which to learn from where there are too many: the fastest half, and
// of the others evenly.
std::vector<size_t> few_of(size_t examples, size_t most);

// A value; what it was read from may go.
class History {
 public:
  // Adds all problems that were measured for a machine like the target (its architecture and vectors), at
  // most kProblems beside its own: those for the very target first, then the latest. Errors: the records'; a
  // problem that this program cannot read is left out.
  static constexpr size_t kProblems = 64;
  absl::Status read(database::Records& records, const Viewpoint& viewpoint);

  // Adds the records of one task on one machine. `remoteness` is how much less they say than ones of
  // the viewpoint's own device, in the unit of space::distance.
  void add(const TaskSpace& space, std::span<const database::Measurement> records, double remoteness);

  // Numbers tasks from the last example's on: times of different tasks, or devices, are never compared. A
  // workload is a group: what is learned of it on one device holds on another, for other threads, behind
  // another network.
  void append_examples(std::vector<model::Example>& examples) const;
  // Legal candidates of another task that decide as the best of those like it did, nearest first, each once.
  std::vector<space::Candidate> seeds_for(const TaskSpace& task) const;

 private:
  absl::Status read_problem(database::Records& records, const tensor::KernelKey& problem,
                            const target::Target& target, const Viewpoint& viewpoint,
                            const CalibrationRecords& calibration);

  std::vector<std::vector<model::Example>> lessons_;  // one a task and machine
  std::map<Digest, int> groups_;                      // of the lessons' examples
  std::vector<TransferSource> sources_;               // the best of each, fastest first
};

// A model of the history's examples, for others to correct; null if there are too few.
std::shared_ptr<const model::CostModel> prior_of(const History& history,
                                                 const model::XGBoostOptions& options);

}  // namespace tf::session
