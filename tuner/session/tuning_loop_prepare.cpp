#include <algorithm>
#include <memory>
#include <utility>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "proto/farm/v1/trial.pb.h"
#include "tuner/session/record_times.h"
#include "tuner/session/taken_over.h"
#include "tuner/session/tuning_loop.h"

namespace tf::session {
namespace {

absl::StatusOr<std::vector<TaskSpace>> spaces_of(const std::vector<Task>& tasks,
                                                 const SessionOptions& options) {
  std::vector<TaskSpace> spaces;
  for (const Task& task : tasks) {
    TF_ASSIGN_OR_RETURN(TaskSpace space,
                        TaskSpace::create(task, options.target, options.threads, options.allowed_numerics));
    spaces.push_back(std::move(space));
  }
  return spaces;
}

}  // namespace

TuningLoop::TuningLoop(const std::vector<Task>& tasks, const SessionOptions& options,
                       measure::Builder& builder, measure::Runner& runner, database::Store& store,
                       const std::function<void(const Progress&)>& report)
    : options_(options),
      target_(options.target.text()),
      builder_(builder),
      runner_(runner),
      store_(store),
      report_(report),
      cpu_(options.has_no_cpu),
      model_(
          [chosen = search::booster_options(options.strategy, options.seed)](
              std::shared_ptr<const model::CostModel> prior) mutable {
            chosen.prior = std::move(prior);
            return std::make_unique<model::XGBoostModel>(chosen);
          },
          &cpu_),
      meter_(options.budget) {
  progress_.tasks.resize(tasks.size());
  under_way_.resize(tasks.size());
  refusals_.resize(tasks.size());
  tried_.resize(tasks.size());
  duplicates_in_a_row_.resize(tasks.size());
}

absl::Status TuningLoop::prepare(const std::vector<Task>& tasks, const std::atomic<bool>& stop) {
  std::vector<database::Problem> problems;
  for (const Task& task : tasks) problems.push_back(problem_of(task, target_, options_.threads));
  TF_ASSIGN_OR_RETURN(earlier_, EarlierResults::read(store_, options_.job_id, problems));
  meter_.add_earlier_runs(earlier_.finished_unix_ns(), earlier_.sampled_s());
  TF_ASSIGN_OR_RETURN(const tunefarm::farm::v1::DeviceState here, runner_.device());
  TF_RETURN_IF_ERROR(begin_calibration(here.fingerprint()));
  // Beside its builds.
  TF_ASSIGN_OR_RETURN(const std::vector<TaskSpace> spaces, spaces_of(tasks, options_));
  TF_RETURN_IF_ERROR(end_calibration(stop));
  TF_ASSIGN_OR_RETURN(History history, read_history(problems));
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::unique_ptr<TaskState> state = TaskState::create(tasks[i], options_, spaces[i].on(machine_.rates),
                                                         &model_, options_.seed * 1'000'003 + i, &history);
    const double flops = state->space().flops();
    TF_RETURN_IF_ERROR(
        store_.add_workload({tensor::canonical_text(tasks[i].workload), tasks[i].label, flops}));
    TaskProgress& shown = progress_.tasks[i];
    shown.label = tasks[i].label;
    shown.weight = tasks[i].weight;
    shown.flops = flops;
    tasks_.push_back(std::move(state));
    TF_RETURN_IF_ERROR(recall(*tasks_[i]));
  }
  results_at_training_ = results_;
  std::vector<model::Example> examples = learned();
  model_.begin(
      [history = std::move(history), options = search::booster_options(options_.strategy, options_.seed)] {
        return prior_of(history, options);
      },
      std::move(examples));
  return absl::OkStatus();
}

std::vector<model::Example> TuningLoop::learned() const {
  // From so many a model learns in seconds; a run of some minutes measures fewer.
  constexpr size_t kExamples = 20'000, kLeastOfATask = 300;
  size_t known = 0;
  for (const auto& task : tasks_) known += task->examples();
  const size_t most = known > kExamples ? std::max(kLeastOfATask, kExamples / tasks_.size()) : known;
  std::vector<model::Example> examples;
  for (const auto& task : tasks_) task->append_examples(examples, most);
  return examples;
}

// What a job began with it goes on with: estimates by other rates, or seen from another machine, it would
// propose otherwise.
absl::Status TuningLoop::begin_calibration(const std::string& fingerprint) {
  TF_ASSIGN_OR_RETURN(const std::optional<FirstMachine> kept, first_machine(store_, options_.job_id));
  machine_ = kept.value_or(FirstMachine{.fingerprint = fingerprint});
  if (kept || !options_.calibration) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(Calibration calibration,
                      Calibration::begin({.machine = {options_.target, options_.device_class, fingerprint},
                                          .before_record = earlier_.first_record(),
                                          .grace_period = options_.calibration_wait},
                                         builder_, store_));
  calibration_.emplace(std::move(calibration));
  return absl::OkStatus();
}

// Before there are candidates at work, so that nothing disturbs it. Whoever is stopped meanwhile has no trial
// yet, and begins anew. That nothing was measured is kept, too.
absl::Status TuningLoop::end_calibration(const std::atomic<bool>& stop) {
  if (calibration_) {
    TF_ASSIGN_OR_RETURN(machine_.rates, calibration_->finish(runner_, store_, stop));
  }
  if (stop) return absl::OkStatus();
  return keep_first_machine(store_, options_.job_id, machine_);
}

// What the store knows of other tasks and other machines. The baseline like Ansor learns from its own tasks
// alone.
absl::StatusOr<History> TuningLoop::read_history(const std::vector<database::Problem>& own) {
  History history;
  if (search::is_baseline(options_.strategy)) return history;
  TF_RETURN_IF_ERROR(history.read(store_, {.target = options_.target,
                                           .threads = options_.threads,
                                           .device_class = options_.device_class,
                                           .fingerprint = machine_.fingerprint,
                                           .measured = machine_.rates,
                                           .allowed_numerics = options_.allowed_numerics,
                                           .own = own,
                                           .before_record = earlier_.first_record()}));
  return history;
}

// Whether a session like this one could have measured it. Times of other devices say nothing about this
// one's, and the same text under other semantics nothing about this program's.
bool TuningLoop::is_of_this_kind(const database::Measurement& record) const {
  return record.device.device_class == options_.device_class && !is_of_network(record) &&
         record.semantics_version == static_cast<uint32_t>(schedule::kSemanticsVersion) &&
         database::numerics_allowed(record.numerics, options_.allowed_numerics);
}

// What this database's sessions measured of the task here; what others measured is history. The job's own
// results come when the search proposes them again, and so do those that other jobs had since. Only their
// code is known before, by who had it first: that is whose duplicates others are.
absl::Status TuningLoop::recall(TaskState& task) {
  database::Filter filter;
  filter.problem = task.problem();
  std::vector<database::Measurement> records;
  TF_RETURN_IF_ERROR(store_.scan(filter, [&](const database::Measurement& record) {
    const bool is_own = options_.job_id != 0 && record.job_id == options_.job_id;
    if (is_of_this_kind(record) && (is_own || is_from_here(record, machine_.fingerprint)))
      records.push_back(record);
    return absl::OkStatus();
  }));
  const TakenOver taken = take_over(records, options_.job_id, earlier_.first_record());
  const auto recalled = [&](const database::Measurement& record) {
    return Recalled{sha256(record.schedule), task.space().candidate_of(record),
                    record.code_digest,      time_of(record),
                    record.untuned,          record.id};
  };
  std::vector<Recalled> before;
  for (const database::Measurement& record : taken.before) before.push_back(recalled(record));
  results_ += task.recall(before);
  for (const database::Measurement& record : taken.own) task.know_code(record.code_digest, time_of(record));
  for (const database::Measurement& record : taken.since) task.recall_when_proposed(recalled(record));
  return absl::OkStatus();
}

}  // namespace tf::session
