#pragma once
// Owns: one task inside a running session: its design space, its search, what is known of its candidates.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tuner/model/evaluator.h"
#include "tuner/search/search.h"
#include "tuner/session/record_proto.h"
#include "tuner/session/session.h"
#include "tuner/session/task.h"

namespace tf::session {

class TaskState {
 public:
  // INVALID_ARGUMENT if the binding does not fit the workload.
  static absl::StatusOr<std::unique_ptr<TaskState>> create(const Task& task, const SessionOptions& options,
                                                           model::CostModel* model, uint64_t seed);

  const Task& task() const { return task_; }
  const database::Problem& problem() const { return problem_; }
  double flops() const { return flops_; }
  double bytes() const { return bytes_; }

  // The next candidate to try, best first; nothing when the space is used up. Points of different sketches
  // may be the same schedule, which is handed out once; the search learns its time for each of them.
  std::optional<space::Candidate> next();
  // The schedule, sketch hash and slot values of a candidate, as they are recorded.
  Subject subject_of(const space::Candidate& candidate) const;

  // The candidate that a record was made from, if it is a point of this task's space.
  std::optional<space::Candidate> candidate_of(const database::Measurement& record) const;

  // Takes one result. Failures have no time; the time of an early stop is a lower bound that only the cost
  // model learns from.
  struct Time {
    double seconds = 0;
    bool lower_bound = false;
  };
  void observe(const space::Candidate& candidate, std::optional<Time> time);
  // The same for a record, whether or not it is a point of this space. False if it teaches nothing.
  bool observe(const database::Measurement& record, std::optional<Time> time);
  // What the cost model may learn from this task.
  void append_examples(std::vector<model::Example>& examples) const;

  double best_seconds() const { return best_seconds_; }  // 0: nothing ok yet
  bool exhausted() const { return exhausted_; }
  // Proposals ranked by an older model are dropped, so that the next ones use the new one.
  void forget_proposals() { proposals_.clear(); }

 private:
  TaskState(const Task& task, const SessionOptions& options, tensor::Workload bound);
  Digest schedule_digest(const space::Candidate& candidate) const;
  void learn(const space::Candidate& candidate, std::optional<Time> time);

  const Task& task_;
  database::Problem problem_;
  std::string device_class_;
  int64_t job_id_;
  double flops_ = 0, bytes_ = 0;
  space::DesignSpace space_;
  std::vector<std::string> sketch_hashes_;
  std::unique_ptr<model::Evaluator> evaluator_;
  std::unique_ptr<search::Search> search_;
  std::vector<space::Candidate> seeds_;      // to be measured before any proposal
  std::vector<space::Candidate> proposals_;  // best last
  struct Known {
    model::Features features;
    double seconds = 0;  // 0: failed
  };
  std::vector<Known> known_;
  struct Tried {
    bool in_flight = true;
    std::optional<Time> time;
  };
  std::map<Digest, Tried> schedules_;  // handed out or found in the store, by the digest of their text
  double best_seconds_ = 0;
  bool exhausted_ = false;
};

}  // namespace tf::session
