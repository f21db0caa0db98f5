#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "tuner/session/record_times.h"
#include "tuner/session/tuning_loop.h"

namespace tf::session {
namespace {

// The baseline like Ansor has no draft model to correct.
model::XGBoostOptions model_options(const SessionOptions& options) {
  const bool baseline = options.strategy == search::Kind::kAnsorLike;
  return {.lesson = baseline ? model::Lesson::kSpeed : model::Lesson::kOrder, .seed = options.seed};
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
      model_([chosen = model_options(options)](std::shared_ptr<const model::CostModel> prior) mutable {
        chosen.prior = std::move(prior);
        return std::make_unique<model::XGBoostModel>(chosen);
      }),
      meter_(options.budget) {
  progress_.tasks.resize(tasks.size());
  under_way_.resize(tasks.size());
  refusals_.resize(tasks.size());
  tried_.resize(tasks.size());
  twins_in_a_row_.resize(tasks.size());
}

absl::Status TuningLoop::prepare(const std::vector<Task>& tasks) {
  std::vector<database::Problem> problems;
  for (const Task& task : tasks) problems.push_back(problem_of(task, target_, options_.threads));
  TF_ASSIGN_OR_RETURN(earlier_, EarlierResults::read(store_, options_.job_id, problems));
  meter_.add_earlier_runs(earlier_.finished_unix_ns());
  TF_ASSIGN_OR_RETURN(History history, read_history(problems));
  for (size_t i = 0; i < tasks.size(); ++i) {
    TF_ASSIGN_OR_RETURN(
        std::unique_ptr<TaskState> state,
        TaskState::create(tasks[i], options_, &model_, options_.seed * 1'000'003 + i, &history));
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
  std::vector<model::Example> examples;
  for (const auto& task : tasks_) task->append_examples(examples);
  model_.begin([history = std::move(history),
                options = model_options(options_)] { return prior_of(history, options); },
               std::move(examples));
  return absl::OkStatus();
}

// What the store knows of other tasks. The baseline like Ansor learns from its own tasks alone.
absl::StatusOr<History> TuningLoop::read_history(const std::vector<database::Problem>& own) {
  History history;
  if (options_.strategy == search::Kind::kAnsorLike) return history;
  TF_RETURN_IF_ERROR(history.read(store_, {.target = options_.target,
                                           .threads = options_.threads,
                                           .device_class = options_.device_class,
                                           .allowed_numerics = options_.allowed_numerics,
                                           .own = own,
                                           .before_record = earlier_.first_record()}));
  return history;
}

// What the store knew of the task before the job began. The job's own results come when the search proposes
// them again; only their code is known before.
absl::Status TuningLoop::recall(TaskState& task) {
  database::Filter filter;
  filter.problem = task.problem();
  return store_.scan(filter, [&](const database::Measurement& record) {
    // Times of other devices say nothing about this one's.
    if (record.device.device_class != options_.device_class || is_of_network(record)) return absl::OkStatus();
    if (options_.job_id != 0 && record.job_id == options_.job_id) {
      task.know_code(record.code_digest, time_of(record));
    } else if (task.observe(record, time_of(record))) {
      ++results_;
    }
    return absl::OkStatus();
  });
}

}  // namespace tf::session
