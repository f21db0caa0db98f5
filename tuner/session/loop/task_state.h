#pragma once
// Owns: one task inside a running session: its design space, its search, what is known of its candidates.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/digest.h"
#include "compiler/schedule/schedule.h"
#include "tuner/search/search.h"
#include "tuner/session/history/history.h"
#include "tuner/session/history/transfer_learning.h"
#include "tuner/session/loop/pipeline.h"
#include "tuner/session/loop/record_times.h"
#include "tuner/session/loop/record_wire.h"
#include "tuner/session/loop/task_space.h"
#include "tuner/session/session.h"
#include "tuner/session/task.h"

namespace tf::session {

class TaskState {
 public:
  // In a space made for it, as benchmarks and tests want it. `history` may be null: no other task gives
  // seeds. `measured` is of the machine (calibration.h). INVALID_ARGUMENT if the binding does not fit the
  // workload.
  static absl::StatusOr<std::unique_ptr<TaskState>> create(const Task& task, const SessionOptions& options,
                                                           model::CostModel* model, uint64_t seed,
                                                           const History* history = nullptr,
                                                           const model::MeasuredRates& measured = {});
  // In the task's space, made already, for the machine.
  static std::unique_ptr<TaskState> create(const Task& task, const SessionOptions& options, TaskSpace space,
                                           model::CostModel* model, uint64_t seed, const History* history);

  const Task& task() const { return task_; }
  const tensor::KernelKey& problem() const { return problem_; }
  const TaskSpace& space() const { return space_; }

  // The next candidate to try, best first; nothing when the space is used up. Points whose loops are the same
  // (passes::loops_hash) are one program, which is handed out once; the search learns its time for each of
  // them. The untuned schedule is handed out first, known or not, unless it is the one whose time the store
  // has as the untuned one's: it may have had no such name when it was measured.
  std::optional<space::Candidate> next();
  // Of candidates that were handed out and wait to be tried: in which order, by what the model knows now,
  // without those that it finds hopeless. `codes`: what is known of those that are built by now. Other
  // strategies' order is their own.
  std::vector<size_t> rank(std::span<const space::Candidate> waiting,
                           std::span<const std::optional<model::CodeFacts>> codes) const;
  // One that was handed out and will not be tried: as if it had not been.
  void take_back(const space::Candidate& candidate);
  // The schedule, sketch hash and slot values of a candidate, as they are recorded.
  database::Measurement subject_of(const space::Candidate& candidate) const;

  // What came of the code that an earlier run measured for this task; nothing if it measured none such.
  struct Tried {
    bool in_flight = true;
    std::optional<Time> time;
  };
  const Tried* result_of_code(const std::string& code_digest) const;
  std::vector<std::string> known_code() const;

  // Takes one result. Failures have no time. `code`: what its compiler told of it.
  void observe(const space::Candidate& candidate, std::optional<Time> time,
               const std::optional<model::CodeFacts>& code = std::nullopt);
  // The same for a record of a program that may be no point of this space.
  void observe(const database::Measurement& record, std::optional<Time> time);
  // Learns from the task's records in the store, given in order of insertion, before the first candidate is
  // handed out. Of each schedule the record that counts is used (database::which_count), in the order in
  // which schedules were first tried. Nothing is lowered, because there may be very many: a candidate of the
  // same loops but another schedule is recognised by its code. Returns how many taught something.
  int64_t add_records(const std::vector<database::Measurement>& records);
  size_t examples() const { return known_.size(); }
  // What the cost model may learn from this task, which is another than those before: its fastest and, of the
  // others, so many evenly.
  void append_examples(std::vector<model::Example>& examples,
                       size_t most = std::numeric_limits<size_t>::max()) const;

  double best_seconds() const { return best_seconds_; }  // 0: nothing ok yet
  double best_seconds_after(int64_t results) const;      // as known then; before anything was ok, the first
  // Schedules whose result is known, measured or as another's duplicate.
  int64_t results() const { return results_; }
  double mean_sampled_seconds() const;  // of those measured, inside timed samples

  // What more trials may bring, as logarithms of factors of time (scheduler.h).
  struct Prediction {
    double gained = 0;     // by the later half of the results
    double predicted = 0;  // by the models: the best of what was proposed last over the best known
    double predicted_before = 0, realized = 0;  // by all proposals before those, and what came true
    double reach = std::numeric_limits<double>::infinity();  // by the roofline model
  };
  Prediction prediction() const;
  // The schedule of a build without tuning, if the task begins with it.
  const std::optional<space::Candidate>& untuned() const { return untuned_; }
  double untuned_seconds() const;  // 0: it has no time

  // The best candidate, if it has become that since the last call.
  std::optional<TransferSource> take_new_best();
  // Others' ideas (legal candidates), to be ranked among the proposals: those that are neither among them nor
  // known. Only where the order is the model's.
  void suggest(std::vector<space::Candidate> candidates);

  // What candidates race against: the best one's time and noise.
  const Incumbent& incumbent() const { return incumbent_; }
  bool exhausted() const { return exhausted_; }
  // The model has learned: what waits to be tried is ranked again before the next one is taken, and the worse
  // half of it goes back to the search.
  void rerank() { stale_ = true; }

 private:
  TaskState(const Task& task, const SessionOptions& options, TaskSpace space, const model::CostModel* model,
            std::vector<space::Candidate> carried);
  void propose();
  void rank_again();
  // Whether it had a time before.
  bool note(const schedule::Schedule& schedule, std::optional<Time> time);
  void note_best(const std::optional<Time>& time);
  void predicted();
  void learn(const space::Candidate& candidate, std::optional<Time> time, bool again,
             const std::optional<model::CodeFacts>& code = std::nullopt);
  void find_best();

  const Task& task_;
  tensor::KernelKey problem_;
  std::string device_class_;
  int64_t job_id_;
  TaskSpace space_;
  const model::CostModel* model_;  // may be null
  const bool follows_model_;       // other strategies' order is their own
  std::unique_ptr<search::Search> search_;
  std::vector<space::Candidate> seeds_;      // to be measured before any proposal, best last
  std::vector<space::Candidate> proposals_;  // best last
  bool stale_ = false;                       // they were ranked by an older model
  struct Known {
    space::Candidate candidate;
    model::Features features;
    double seconds = 0;  // 0: failed
    bool lower_bound = false;
  };
  std::vector<Known> known_;
  std::map<std::string, Tried> codes_;  // of records
  Incumbent incumbent_;
  std::map<uint64_t, Tried> programs_;  // by the hash of their loops
  std::map<Digest, Tried> recorded_;    // by the text of their schedules; none of the programs
  int known_in_a_row_ = 0;              // points whose program was there already
  double best_seconds_ = 0;
  std::optional<space::Candidate> best_, untuned_;
  std::optional<uint64_t> untuned_loops_;
  Digest untuned_schedule_;        // its text
  bool is_untuned_timed_ = false;  // or on its way
  bool is_best_new_ = false;
  int64_t results_ = 0;
  double sampled_seconds_ = 0;
  struct Improvement {
    int64_t results;
    double seconds;
  };
  std::vector<Improvement> improvements_;  // best times, and after how many results
  struct Predicted {
    double now = 0, before = 0, realized = 0;
    double since_seconds = 0;     // the best when it was made; 0: there was none
    std::optional<double> reach;  // the most that the roofline model ever predicted
  };
  Predicted predicted_;
  bool exhausted_ = false;
};

}  // namespace tf::session
