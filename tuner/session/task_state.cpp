#include "tuner/session/task_state.h"

#include <algorithm>

#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "tuner/space/generate.h"

namespace tf::session {

TaskState::TaskState(const Task& task, const SessionOptions& options, tensor::Workload bound)
    : task_(task),
      problem_(problem_of(task, options.target.text(), options.threads)),
      device_class_(options.device_class),
      job_id_(options.job_id),
      flops_(tensor::count_flops(bound)),
      bytes_(tensor::count_bytes(bound)),
      space_(space::generate_space({std::move(bound), task.in_layouts, task.out_layouts}, options.target,
                                   options.threads, options.allowed_numerics)) {
  for (const space::Sketch& sketch : space_.sketches) sketch_hashes_.push_back(sketch.hash().hex());
  if (!search::starts_from_seeds(options.strategy)) return;
  // The untuned schedule is measured first: the yardstick, and what a tuned build is never slower than. Then
  // each other way's (see next(): those that are the same are measured once).
  for (size_t i = space_.sketches.size(); i-- > 0;) {
    for (const space::Point& seed : space_.sketches[i].seeds) {
      seeds_.push_back({static_cast<int>(i), seed});
    }
  }
}

absl::StatusOr<std::unique_ptr<TaskState>> TaskState::create(const Task& task, const SessionOptions& options,
                                                             model::CostModel* model, uint64_t seed) {
  TF_ASSIGN_OR_RETURN(tensor::Workload bound, tensor::bind(task.workload, task.binding));
  std::unique_ptr<TaskState> state(new TaskState(task, options, std::move(bound)));
  state->evaluator_ = std::make_unique<model::Evaluator>(state->space_, options.target, options.threads);
  state->search_ = search::make_search(state->space_, *state->evaluator_,
                                       {.kind = options.strategy, .seed = seed, .model = model});
  return state;
}

std::optional<space::Candidate> TaskState::next() {
  constexpr int kBatch = 16;
  for (;;) {
    if (!seeds_.empty()) {
      proposals_.insert(proposals_.end(), seeds_.begin(), seeds_.end());
      seeds_.clear();
    }
    if (proposals_.empty() && !exhausted_) {
      proposals_ = search_->propose(kBatch);
      std::reverse(proposals_.begin(), proposals_.end());
      exhausted_ = proposals_.empty();
    }
    if (proposals_.empty()) return std::nullopt;
    space::Candidate candidate = std::move(proposals_.back());
    proposals_.pop_back();
    const auto [known, is_new] = schedules_.try_emplace(schedule_digest(candidate));
    if (is_new) return candidate;
    if (!known->second.in_flight) learn(candidate, known->second.time);
  }
}

Digest TaskState::schedule_digest(const space::Candidate& candidate) const {
  return sha256(schedule::to_string(space_.schedule_of(candidate)));
}

Subject TaskState::subject_of(const space::Candidate& candidate) const {
  Subject subject;
  subject.problem = problem_;
  subject.schedule = schedule::to_string(space_.schedule_of(candidate));
  subject.sketch_hash = sketch_hashes_[static_cast<size_t>(candidate.sketch)];
  subject.slot_values.assign(candidate.point.begin(), candidate.point.end());
  subject.device_class = device_class_;
  subject.job_id = job_id_;
  return subject;
}

std::optional<space::Candidate> TaskState::candidate_of(const database::Measurement& record) const {
  if (record.semantics_version != static_cast<uint32_t>(schedule::kSemanticsVersion)) return std::nullopt;
  for (size_t i = 0; i < sketch_hashes_.size(); ++i) {
    if (sketch_hashes_[i] != record.sketch_hash) continue;
    const std::vector<space::Slot>& slots = space_.sketches[i].slots;
    if (record.slot_values.size() != slots.size()) return std::nullopt;
    space::Candidate candidate{static_cast<int>(i), {}};
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      const int64_t choice = record.slot_values[slot];
      if (choice < 0 || static_cast<size_t>(choice) >= slots[slot].choices.size()) return std::nullopt;
      candidate.point.push_back(static_cast<uint32_t>(choice));
    }
    return candidate;
  }
  return std::nullopt;
}

void TaskState::observe(const space::Candidate& candidate, std::optional<Time> time) {
  schedules_[schedule_digest(candidate)] = {.in_flight = false, .time = time};
  learn(candidate, time);
}

bool TaskState::observe(const database::Measurement& record, std::optional<Time> time) {
  // Under other semantics the same text may be another program.
  if (record.semantics_version != static_cast<uint32_t>(schedule::kSemanticsVersion)) return false;
  schedules_[sha256(record.schedule)] = {.in_flight = false, .time = time};
  const std::optional<space::Candidate> candidate = candidate_of(record);
  if (candidate) learn(*candidate, time);
  return candidate.has_value();
}

void TaskState::learn(const space::Candidate& candidate, std::optional<Time> time) {
  const bool measured = time && !time->lower_bound;
  const search::Observation observation{candidate,
                                        measured ? std::optional<double>(time->seconds) : std::nullopt};
  search_->update({&observation, 1});
  if (std::optional<model::Judgement> judgement = evaluator_->judge(candidate)) {
    known_.push_back({judgement->features, time ? time->seconds : 0});
  }
  if (measured && (best_seconds_ == 0 || time->seconds < best_seconds_)) best_seconds_ = time->seconds;
}

void TaskState::append_examples(std::vector<model::Example>& examples) const {
  for (const Known& known : known_) {
    examples.push_back(
        {known.features, known.seconds > 0 ? std::min(1.0, best_seconds_ / known.seconds) : 0.0});
  }
}

}  // namespace tf::session
