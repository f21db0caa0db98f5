#pragma once
// Owns: one search by one strategy with one seed on one task, whose candidates are measured by looking them
// up in a pool. Pure: the same pool gives the same run, bit for bit, and a pool that grew gives its proposals
// again.
// Does not know: devices, how a pool is filled.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "tests/bench/search/replay/finals.h"
#include "tests/bench/search/replay/pool.h"
#include "tests/bench/search/replay/sampling_policy.h"
#include "tuner/model/learned/xgboost_model.h"
#include "tuner/session/history/history.h"
#include "tuner/session/loop/task_state.h"

namespace tf::replay {

// A strategy and how its candidates are sampled.
struct Contender {
  search::Kind kind = search::Kind::kEvolutionary;
  SamplingPolicy policy = SamplingPolicy::kRacing;
  bool remembers = false;  // it starts from what the pools of other networks teach
  // "ansor"; with the policy where it is not the strategy's own: "evolutionary-fixed"; "evolutionary@others"
  // remembers.
  std::string name() const;
};
// A name as above; INVALID_ARGUMENT says what there is.
absl::StatusOr<Contender> contender_from_name(const std::string& name);

// A run that ends with this trial; sums are since it began.
struct Step {
  double device_seconds = 0;  // with the final re-measurement that it ends with
  // By the pool's record, of the candidate that the run then takes for the best; 0: none yet.
  double best_seconds = 0;
  double finals_trials = 0;
};

// What pools of other tasks teach.
struct Memory {
  session::History history;
  std::shared_ptr<const model::CostModel> prior;
};

class Run {
 public:
  struct Options {
    target::Target target;
    int threads = 1;
    Contender contender;
    uint64_t seed = 1;
    int trials = 256;
    std::shared_ptr<const Memory> memory = nullptr;  // of a contender that remembers
    model::MeasuredRates measured = {};              // of the machine that the pool is of
  };
  // `task` must outlive the run. INVALID_ARGUMENT if its binding does not fit its workload.
  static absl::StatusOr<std::unique_ptr<Run>> create(const session::Task& task, const Options& options);

  // Goes on for as long as the pool knows what is proposed. Returns those of the present proposals that it
  // lacks; none: the run is finished. `pool` must outlive the run, and may grow.
  std::vector<database::Measurement> advance(const Pool& pool);

  bool finished() const { return finished_; }  // its trials are spent, or its space is
  const Options& options() const { return options_; }
  const tensor::KernelKey& problem() const { return task_->problem(); }
  // Of what is proposed now.
  Source source() const;
  const std::vector<Step>& steps() const { return steps_; }  // one a trial

 private:
  explicit Run(const Options& options);
  void propose();
  void observe(const space::Candidate& candidate, const Entry& entry, const Best& best);
  void learn();
  void adopt(size_t train_for);
  Step step() const;

  struct Proposal {
    space::Candidate candidate;
    database::Measurement subject;
  };

  Options options_;
  session::SessionOptions session_;
  model::XGBoostModel model_;
  std::unique_ptr<session::TaskState> task_;
  std::vector<Proposal> waiting_;
  std::vector<Step> steps_;
  double trials_seconds_ = 0;           // that the device spent on trials
  Best believed_;                       // the best candidate as the strategy saw it
  double believed_to_take_ = 0;         // by the pool's record
  std::vector<Arrival> arrivals_;       // of races
  std::vector<model::Example> lesson_;  // being learned; empty: nothing is
  size_t steps_at_training_ = 0;
  bool finished_ = false;
};

}  // namespace tf::replay
