#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/schedule/schedule.h"
#include "proto/farm/v1/trial.pb.h"
#include "tuner/session/loop/record_times.h"
#include "tuner/session/loop/tuning_loop.h"

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

// What a GPU's agent has measured, or heard of its driver, before there is any session. The peak only where to measure it
// again takes seconds, because the driver compiles.
model::MeasuredRates told_by(measure::Runner& runner, const target::Target& target) {
  model::MeasuredRates rates;
  if (target.gpu.block_threads == 0) return rates;
  const double flops_per_s = target.arch == target::Arch::kOpenCl ? runner.peak_gflops() * 1e9 : 0;
  if (database::is_rate(flops_per_s)) rates.flops_per_s = flops_per_s;
  rates.units = runner.gpu_units();
  return rates;
}

}  // namespace

TuningLoop::TuningLoop(const std::vector<Task>& tasks, const SessionOptions& options,
                       driver::Builder& builder, measure::Runner& runner, database::Store& store,
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
  progress_.set_phase(PHASE_MEASURING);
  progress_.set_current_task(-1);
  under_way_.resize(tasks.size());
  refusals_.resize(tasks.size());
  tried_.resize(tasks.size());
  duplicates_in_a_row_.resize(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) progress_.add_tasks();
}

absl::Status TuningLoop::prepare(const std::vector<Task>& tasks, const std::atomic<bool>& stop) {
  std::vector<tensor::KernelKey> problems;
  for (const Task& task : tasks)
    problems.push_back(tensor::key_for(task.kernel, options_.target, options_.threads));
  TF_RETURN_IF_ERROR(count_earlier_runs(problems));
  TF_ASSIGN_OR_RETURN(const tunefarm::farm::v1::DeviceState here, runner_.device());
  fingerprint_ = here.fingerprint();
  TF_RETURN_IF_ERROR(begin_calibration());
  // Beside its builds.
  TF_ASSIGN_OR_RETURN(const std::vector<TaskSpace> spaces, spaces_of(tasks, options_));
  TF_ASSIGN_OR_RETURN(const model::MeasuredRates rates, end_calibration(stop));
  TF_ASSIGN_OR_RETURN(History history, read_history(problems, rates));
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::unique_ptr<TaskState> state = TaskState::create(tasks[i], options_, spaces[i].on(rates), &model_,
                                                         options_.seed * 1'000'003 + i, &history);
    const double flops = state->space().flops();
    TF_RETURN_IF_ERROR(
        store_.add_workload({tensor::canonical_text(tasks[i].kernel.workload), tasks[i].label, flops}));
    TaskProgress& shown = *progress_.mutable_tasks(static_cast<int>(i));
    shown.set_label(printable_lines(tasks[i].label));  // names out of a model
    shown.set_weight(tasks[i].weight);
    shown.set_flops(flops);
    tasks_.push_back(std::move(state));
    TF_RETURN_IF_ERROR(add_records(*tasks_[i]));
  }
  TF_RETURN_IF_ERROR(save_tasks());  // for who looks at the job while it runs
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

// What earlier runs of the job measured is paid for: its trials and minutes count for the budget.
absl::Status TuningLoop::count_earlier_runs(const std::vector<tensor::KernelKey>& problems) {
  if (options_.job_id == 0) return absl::OkStatus();
  std::set<std::pair<size_t, std::string>> tried;
  std::vector<int64_t> finished_unix_ns;
  double sampled_s = 0;
  database::Filter filter;
  filter.job_id = options_.job_id;
  TF_RETURN_IF_ERROR(store_.scan(filter, [&](const database::Measurement& record) {
    finished_unix_ns.push_back(record.finished_unix_ns);
    const auto problem = std::ranges::find(problems, record.problem);
    if (problem == problems.end()) return absl::OkStatus();
    const auto task = static_cast<size_t>(problem - problems.begin());
    if (record.interleaved || !tried.emplace(task, record.schedule).second) {
      tried_[task] = 0;  // there was a final re-measurement, which is no trial
    } else {
      sampled_s += seconds_in_samples(record);
      count(task, record);
    }
    return absl::OkStatus();
  }));
  meter_.add_earlier_runs(std::move(finished_unix_ns), sampled_s);
  return absl::OkStatus();
}

absl::Status TuningLoop::begin_calibration() {
  if (!options_.calibration) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(Calibration calibration,
                      Calibration::begin({.machine = {options_.target, options_.device_class, fingerprint_},
                                          .told = told_by(runner_, options_.target),
                                          .grace_period = options_.calibration_wait},
                                         builder_, store_));
  calibration_.emplace(std::move(calibration));
  return absl::OkStatus();
}

// Before there are candidates at work, so that nothing disturbs it.
absl::StatusOr<model::MeasuredRates> TuningLoop::end_calibration(const std::atomic<bool>& stop) {
  if (!calibration_) return told_by(runner_, options_.target);
  return calibration_->finish(runner_, store_, stop);
}

// What the store knows of other tasks and other machines. The baseline like Ansor learns from its own tasks
// alone.
absl::StatusOr<History> TuningLoop::read_history(const std::vector<tensor::KernelKey>& own,
                                                 const model::MeasuredRates& measured) {
  History history;
  if (search::is_baseline(options_.strategy)) return history;
  TF_RETURN_IF_ERROR(history.read(store_, {.target = options_.target,
                                           .threads = options_.threads,
                                           .device_class = options_.device_class,
                                           .fingerprint = fingerprint_,
                                           .job_id = options_.job_id,
                                           .measured = measured,
                                           .allowed_numerics = options_.allowed_numerics,
                                           .own = own}));
  return history;
}

// Whether a session like this one could have measured it. Times of other devices say nothing about this
// one's, and the same text under other semantics nothing about this program's.
bool TuningLoop::is_of_this_kind(const database::Measurement& record) const {
  return record.device.device_class == options_.device_class &&
         record.semantics_version == static_cast<uint32_t>(schedule::kSemanticsVersion) &&
         database::numerics_allowed(record.numerics, options_.allowed_numerics);
}

// What this database's sessions measured of the task here, and what its job measured anywhere; what others
// measured elsewhere is history.
absl::Status TuningLoop::add_records(TaskState& task) {
  database::Filter filter;
  filter.problem = task.problem();
  std::vector<database::Measurement> records;
  TF_RETURN_IF_ERROR(store_.scan(filter, [&](const database::Measurement& record) {
    if (is_of_this_kind(record) && is_from_here(record, fingerprint_, options_.job_id))
      records.push_back(record);
    return absl::OkStatus();
  }));
  results_ += task.add_records(records);
  return absl::OkStatus();
}

}  // namespace tf::session
