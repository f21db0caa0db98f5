#include "tuner/session/session.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tuner/model/xgboost_model.h"
#include "tuner/session/pipeline.h"
#include "tuner/session/record_proto.h"
#include "tuner/session/scheduler.h"
#include "tuner/session/task_state.h"

namespace tf::session {
namespace {

namespace kernel = tunefarm::kernel::v1;
using Clock = std::chrono::steady_clock;

constexpr int kMaxTries = 3;         // of a candidate that could not be measured
constexpr int64_t kTrainEvery = 32;  // results between two trainings of the cost model
constexpr double kHopeless = 1.6;    // times the best: from there on a measurement stops early
constexpr auto kReportEvery = std::chrono::milliseconds(250);

std::shared_ptr<const kernel::BuildRequest> build_request(const Task& task, const std::string& target,
                                                          const std::string& schedule, bool reference) {
  auto request = std::make_shared<kernel::BuildRequest>();
  kernel::BuildKernelRequest& build = *request->mutable_kernel();
  build.set_workload(tensor::canonical_text(task.workload));
  for (const auto& [name, value] : tensor::canonical_binding(task.workload, task.binding))
    (*build.mutable_binding())[name] = value;
  build.set_schedule(schedule);
  build.set_target(target);
  if (!reference) {  // the reference is row-major: the worker packs and unpacks around it
    for (std::string& text : input_layout_texts(task)) build.add_in_layouts(std::move(text));
    for (std::string& text : output_layout_texts(task)) build.add_out_layouts(std::move(text));
  }
  build.set_entry(reference ? "reference" : "kernel");
  build.set_output(kernel::BLOB_KIND_ELF_SHARED);
  build.set_reference(reference);
  return request;
}

// Whether trying again may help: the candidate is as good as before, the way to the device was not.
bool may_retry(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kAborted ||
         code == absl::StatusCode::kDeadlineExceeded || code == absl::StatusCode::kResourceExhausted;
}

// The time that a record tells, if any: of an early stop only that it takes at least so long.
std::optional<TaskState::Time> time_of(const database::Measurement& record) {
  const bool stopped = record.outcome == database::Outcome::kStoppedEarly;
  if (record.outcome != database::Outcome::kOk && !stopped) return std::nullopt;
  const std::optional<double> ns = record.median_ns();
  if (!ns) return std::nullopt;
  return TaskState::Time{*ns * 1e-9, stopped};
}

// Trials a second over the last half minute.
class Rate {
 public:
  void count(Clock::time_point now) { times_.push_back(now); }
  double per_second(Clock::time_point start, Clock::time_point now) {
    constexpr auto kWindow = std::chrono::seconds(30);
    while (!times_.empty() && now - times_.front() > kWindow) times_.pop_front();
    const double span =
        std::chrono::duration<double>(std::min<Clock::duration>(kWindow, now - start)).count();
    return span > 0 ? static_cast<double>(times_.size()) / span : 0;
  }

 private:
  std::deque<Clock::time_point> times_;
};

class Session {
 public:
  Session(const std::vector<Task>& tasks, const SessionOptions& options, measure::Builder& builder,
          measure::Runner& runner, database::Store& store, const std::function<void(const Progress&)>& report)
      : options_(options),
        target_(options.target.text()),
        builder_(builder),
        runner_(runner),
        store_(store),
        report_(report),
        model_(model::XGBoostOptions{.seed = options.seed}) {
    progress_.tasks.resize(tasks.size());
    given_.resize(tasks.size());
  }

  absl::Status prepare(const std::vector<Task>& tasks);
  absl::StatusOr<Progress> run(const std::atomic<bool>& stop);

 private:
  struct InFlight {
    int task = 0;
    space::Candidate candidate;
    Subject subject;
  };

  absl::Status resume(size_t index);
  bool submit_next(Pipeline& pipeline);
  absl::Status take(Pipeline& pipeline, Finished finished);
  absl::Status not_measured(Pipeline& pipeline, Finished finished);
  absl::Status record(const InFlight& flight, const Finished& finished);
  void learn();
  bool budget_spent() const;
  void update_progress(const Pipeline& pipeline);
  absl::Status save_tasks();

  const SessionOptions& options_;
  std::string target_;
  measure::Builder& builder_;
  measure::Runner& runner_;
  database::Store& store_;
  const std::function<void(const Progress&)>& report_;
  model::XGBoostModel model_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
  std::vector<int64_t> given_;  // trials handed out a task, in flight ones included
  std::map<uint64_t, InFlight> in_flight_;
  uint64_t next_ticket_ = 1;
  int64_t results_at_training_ = 0, results_ = 0;
  Progress progress_;
  Rate rate_;
  Clock::time_point start_ = Clock::now();
};

absl::Status Session::prepare(const std::vector<Task>& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<TaskState> state,
                        TaskState::create(tasks[i], options_, &model_, options_.seed * 1'000'003 + i));
    TF_RETURN_IF_ERROR(
        store_.add_workload({tensor::canonical_text(tasks[i].workload), tasks[i].label, state->flops()}));
    TaskProgress& shown = progress_.tasks[i];
    shown.label = tasks[i].label;
    shown.weight = tasks[i].weight;
    shown.flops = state->flops();
    tasks_.push_back(std::move(state));
    TF_RETURN_IF_ERROR(resume(i));
  }
  learn();
  return absl::OkStatus();
}

absl::Status Session::resume(size_t index) {
  TaskState& task = *tasks_[index];
  database::Filter filter;
  filter.problem = task.problem();
  return store_.scan(filter, [&](const database::Measurement& record) {
    if (options_.job_id != 0 && record.job_id == options_.job_id) {
      ++progress_.trials;
      ++progress_.tasks[index].trials;
      ++given_[index];
    }
    // Times of other devices say nothing about this one's, but what failed here need not be tried again
    // either.
    if (record.device.device_class != options_.device_class) return absl::OkStatus();
    if (task.observe(record, time_of(record))) ++results_;
    return absl::OkStatus();
  });
}

absl::StatusOr<Progress> Session::run(const std::atomic<bool>& stop) {
  PipelineOptions pipeline_options;
  pipeline_options.threads = options_.threads;
  for (const auto& task : tasks_) {
    pipeline_options.references.push_back(build_request(task->task(), target_, "", /*reference=*/true));
  }
  start_ = Clock::now();
  Pipeline pipeline(builder_, runner_, std::move(pipeline_options));
  Clock::time_point reported = start_;
  absl::Status failure;
  for (;;) {
    const bool draining = stop.load() || budget_spent() || !failure.ok();
    while (!draining && static_cast<int>(in_flight_.size()) < pipeline.depth() && !budget_spent()) {
      if (!submit_next(pipeline)) break;
    }
    if (in_flight_.empty()) break;
    if (std::optional<Finished> finished = pipeline.next(kReportEvery)) {
      absl::Status status = take(pipeline, *std::move(finished));
      if (!status.ok() && failure.ok()) failure = status;
      // What cannot go on cannot drain either: a lost runner answers every candidate the same way.
      if (!failure.ok() && failure.code() == absl::StatusCode::kCancelled) break;
    }
    if (Clock::now() - reported >= kReportEvery) {
      reported = Clock::now();
      update_progress(pipeline);
      report_(progress_);
    }
  }
  update_progress(pipeline);
  report_(progress_);
  TF_RETURN_IF_ERROR(save_tasks());
  TF_RETURN_IF_ERROR(failure);
  return progress_;
}

bool Session::budget_spent() const {
  const auto flying = static_cast<int64_t>(in_flight_.size());
  if (options_.budget.trials > 0 && progress_.trials + flying >= options_.budget.trials) return true;
  const double minutes = std::chrono::duration<double>(Clock::now() - start_).count() / 60;
  return options_.budget.minutes > 0 && minutes >= options_.budget.minutes;
}

bool Session::submit_next(Pipeline& pipeline) {
  for (;;) {
    std::vector<TaskShare> shares;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const TaskState& task = *tasks_[i];
      // Until something ran, the share follows the arithmetic and the traffic at a modest rate.
      const double guess = std::max(task.flops() / 20e9, task.bytes() / 5e9);
      shares.push_back({task.task().weight, task.best_seconds() > 0 ? task.best_seconds() : guess, given_[i],
                        task.exhausted()});
    }
    const int index = next_task(shares);
    if (index < 0) return false;
    TaskState& task = *tasks_[static_cast<size_t>(index)];
    std::optional<space::Candidate> candidate = task.next();
    if (!candidate) continue;  // just exhausted: the next round leaves it out
    Work work;
    work.task = index;
    work.ticket = next_ticket_++;
    InFlight flight{index, *candidate, task.subject_of(*candidate)};
    work.request = build_request(task.task(), target_, flight.subject.schedule, /*reference=*/false);
    if (task.best_seconds() > 0) {
      work.stop_if_slower_than_ns = static_cast<int64_t>(task.best_seconds() * kHopeless * 1e9);
    }
    ++given_[static_cast<size_t>(index)];
    in_flight_.emplace(work.ticket, std::move(flight));
    progress_.current_task = index;
    pipeline.submit(std::move(work));
    return true;
  }
}

absl::Status Session::take(Pipeline& pipeline, Finished finished) {
  if (!finished.status.ok()) return not_measured(pipeline, std::move(finished));
  const auto it = in_flight_.find(finished.work.ticket);
  if (absl::Status recorded = record(it->second, finished); absl::IsAborted(recorded)) {
    // Its lease is fenced off: what was measured does not count, so it is measured again.
    finished.status = std::move(recorded);
    return not_measured(pipeline, std::move(finished));
  } else if (!recorded.ok()) {
    return recorded;
  }
  in_flight_.erase(it);
  if (results_ - results_at_training_ >= kTrainEvery) learn();
  return absl::OkStatus();
}

absl::Status Session::record(const InFlight& flight, const Finished& finished) {
  const database::Measurement measurement = finished.result
                                                ? record_of(flight.subject, *finished.built, *finished.result)
                                                : record_of(flight.subject, *finished.built);
  TF_ASSIGN_OR_RETURN(database::InsertResult inserted, store_.insert(measurement));
  if (finished.result) runner_.acknowledge(*finished.result);
  if (inserted.duplicate) return absl::OkStatus();

  const auto index = static_cast<size_t>(flight.task);
  const bool ok = measurement.outcome == database::Outcome::kOk;
  tasks_[index]->observe(flight.candidate, time_of(measurement));
  ++results_;
  ++progress_.trials;
  ++progress_.tasks[index].trials;
  if (!ok && measurement.outcome != database::Outcome::kStoppedEarly) ++progress_.failures;
  rate_.count(Clock::now());
  return absl::OkStatus();
}

absl::Status Session::not_measured(Pipeline& pipeline, Finished finished) {
  const auto it = in_flight_.find(finished.work.ticket);
  ++progress_.not_measured;
  database::Attempt attempt;
  attempt.problem = it->second.subject.problem;
  attempt.schedule = it->second.subject.schedule;
  attempt.status_code = absl::StatusCodeToString(finished.status.code());
  attempt.detail = std::string(finished.status.message());
  attempt.job_id = options_.job_id;
  attempt.time_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  TF_RETURN_IF_ERROR(store_.add_attempt(attempt));
  if (may_retry(finished.status.code()) && finished.work.tries + 1 < kMaxTries) {
    ++finished.work.tries;
    pipeline.submit(std::move(finished.work));
    return absl::OkStatus();
  }
  --given_[static_cast<size_t>(it->second.task)];
  in_flight_.erase(it);
  // A candidate that cannot be measured for now is dropped; anything that will not get better ends the
  // session.
  return may_retry(finished.status.code()) ? absl::OkStatus() : finished.status;
}

void Session::learn() {
  results_at_training_ = results_;
  std::vector<model::Example> examples;
  for (const auto& task : tasks_) task->append_examples(examples);
  // A model that cannot be trained costs speed of search, not correctness: the draft model goes on ranking.
  if (!model_.train(examples).ok()) return;
  for (const auto& task : tasks_) task->forget_proposals();
}

void Session::update_progress(const Pipeline& pipeline) {
  const Clock::time_point now = Clock::now();
  progress_.elapsed_s = std::chrono::duration<double>(now - start_).count();
  progress_.trials_per_second = rate_.per_second(start_, now);
  progress_.device_busy_share = progress_.elapsed_s > 0 ? pipeline.busy_seconds() / progress_.elapsed_s : 0;
  progress_.remaining_s.reset();
  if (options_.budget.minutes > 0) {
    progress_.remaining_s = std::max(0.0, options_.budget.minutes * 60 - progress_.elapsed_s);
  }
  if (options_.budget.trials > 0 && progress_.trials_per_second > 0) {
    const double left = static_cast<double>(std::max<int64_t>(0, options_.budget.trials - progress_.trials)) /
                        progress_.trials_per_second;
    progress_.remaining_s = std::min(left, progress_.remaining_s.value_or(left));
  }
  for (size_t i = 0; i < tasks_.size(); ++i) {
    progress_.tasks[i].best_ns = tasks_[i]->best_seconds() * 1e9;
    progress_.tasks[i].exhausted = tasks_[i]->exhausted();
  }
}

absl::Status Session::save_tasks() {
  if (options_.job_id == 0) return absl::OkStatus();
  std::vector<database::JobTask> rows;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    database::JobTask row;
    row.job_id = options_.job_id;
    row.index = static_cast<int32_t>(i);
    row.problem = tasks_[i]->problem();
    row.label = progress_.tasks[i].label;
    row.weight = progress_.tasks[i].weight;
    row.trials = progress_.tasks[i].trials;
    row.best_ns = progress_.tasks[i].best_ns;
    rows.push_back(std::move(row));
  }
  return store_.save_job_tasks(rows);
}

}  // namespace

absl::StatusOr<Progress> tune(const std::vector<Task>& tasks, const SessionOptions& options,
                              measure::Builder& builder, measure::Runner& runner, database::Store& store,
                              const std::atomic<bool>& stop,
                              const std::function<void(const Progress&)>& report) {
  if (tasks.empty()) return absl::InvalidArgumentError("nothing to tune: the network has no tunable kernel");
  Session session(tasks, options, builder, runner, store, report);
  TF_RETURN_IF_ERROR(session.prepare(tasks));
  return session.run(stop);
}

}  // namespace tf::session
