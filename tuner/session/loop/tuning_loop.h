#pragma once
// Owns: the loop of a session: hands out candidates, takes their results in order, records them, has the
// model learn. Does not know: gRPC, how a candidate is built or measured.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/session/allocate/scheduler.h"
#include "tuner/session/calibrate/calibration.h"
#include "tuner/session/history/history.h"
#include "tuner/session/loop/background_model.h"
#include "tuner/session/loop/pipeline.h"
#include "tuner/session/loop/progress_meter.h"
#include "tuner/session/loop/task_state.h"
#include "tuner/session/loop/throttling.h"
#include "tuner/session/session.h"

namespace tf::session {

// One run of tune(). Not thread-safe.
class TuningLoop {
 public:
  // All but `tasks` must outlive the loop.
  TuningLoop(const std::vector<Task>& tasks, const SessionOptions& options, driver::Builder& builder,
             measure::Runner& runner, database::Store& store,
             const std::function<void(const Progress&)>& report);

  // Takes over what the store knows of the tasks and of the machine; what it does not know of the machine is
  // measured, for as long as candidates wait for that, and until `stop` is set.
  absl::Status prepare(const std::vector<Task>& tasks, const std::atomic<bool>& stop);
  absl::StatusOr<Progress> run(const std::atomic<bool>& stop);
  // For which the loop's end waits.
  bool is_calibrating() const { return calibration_ && calibration_->is_building(); }

 private:
  struct InFlight {
    int task = 0;
    space::Candidate candidate;
    database::Measurement subject;
    uint64_t ticket = 0;
    std::shared_ptr<Place> place = nullptr;
  };

  absl::Status count_earlier_runs(const std::vector<tensor::KernelKey>& problems);
  absl::Status begin_calibration();
  absl::StatusOr<model::MeasuredRates> end_calibration(const std::atomic<bool>& stop);
  absl::StatusOr<History> read_history(const std::vector<tensor::KernelKey>& own,
                                       const model::MeasuredRates& measured);
  absl::Status add_records(TaskState& task);
  bool is_of_this_kind(const database::Measurement& record) const;
  std::vector<model::Example> learned() const;
  absl::StatusOr<bool> step(Pipeline& pipeline, bool draining);
  absl::StatusOr<bool> step_in_turn(Pipeline& pipeline, bool draining);
  // The baseline takes what it measured the best.
  bool ends_with_finals() const { return options_.finals && !search::is_baseline(options_.strategy); }
  absl::Status run_finals(Pipeline& pipeline, const std::atomic<bool>& stop);
  void submit_due(Pipeline& pipeline);
  bool submit_next(Pipeline& pipeline);
  void hand_out(InFlight flight, Work& work);
  void rank_in_flight(Pipeline& pipeline);
  void withdraw(Pipeline& pipeline, InFlight flight);
  void withdraw_waiting(Pipeline& pipeline);
  void arrive(Pipeline& pipeline, Finished finished);
  absl::Status take_arrived(Pipeline& pipeline, bool draining);
  bool is_next_here() const;
  absl::Status take(Pipeline& pipeline, Finished finished);
  void observe(const InFlight& flight, const database::Measurement& measurement,
               const std::optional<model::CodeFacts>& code);
  void count(size_t task, const database::Measurement& measurement);
  absl::Status note_attempt(const InFlight& flight, const Finished& finished);
  void try_again(InFlight flight, Finished finished);
  absl::Status not_measured(InFlight flight, Finished finished);
  bool is_duplicate(const InFlight& flight, const Finished& finished) const;
  void take_duplicate(const InFlight& flight, const Finished& finished);
  void fill(Pipeline& pipeline, bool draining);
  absl::Status give_up(int task, const absl::Status& why);
  absl::Status record(const InFlight& flight, const Finished& finished);
  void learn(Pipeline& pipeline);
  int64_t trials_left() const;  // those in flight included
  std::vector<ExpectedImprovement> improvements() const;
  double closing_seconds() const;
  Clock::time_point last_begin(int depth) const;
  bool is_enough() const;
  void expect();
  void update_progress();
  absl::Status save_tasks();

  const SessionOptions& options_;
  std::string target_;
  driver::Builder& builder_;
  measure::Runner& runner_;
  database::Store& store_;
  const std::function<void(const Progress&)>& report_;
  CpuTurn cpu_;
  CpuTurn::Hold turn_;  // this thread's, as long as it computes
  BackgroundModel model_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
  std::vector<int64_t> under_way_;          // candidates handed out a task whose results have not come
  std::map<uint64_t, InFlight> in_flight_;  // by place
  std::map<uint64_t, Finished> arrived_;    // of those, by ticket, until the ones before them have arrived
  std::set<std::pair<int, std::string>> told_codes_;  // of each task, those with a trial of this run
  std::string fingerprint_;                           // of the machine that measures
  std::optional<Calibration> calibration_;            // what it builds may take longer than anybody waits
  uint64_t next_ticket_ = 1;
  int64_t results_at_training_ = 0, results_ = 0;
  Progress progress_;
  ProgressMeter meter_;
  struct Waiting {
    InFlight flight;
    Work work;
  };
  std::multimap<Clock::time_point, Waiting> waiting_;  // to be tried again
  Throttling throttling_;                              // of the devices
  int unmeasured_in_a_row_ = 0, reports_of_little_gain_ = 0;
  double reserve_s_ = 0;  // of the budget, by the last progress
  std::vector<int> duplicates_in_a_row_;
  std::vector<int64_t> tried_;  // of each task, measured by this job since its last final re-measurement
  std::vector<int> refusals_;   // of each task, since it last gave a measurement
};

}  // namespace tf::session
