#include "tuner/session/loop/task_state.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "database/which_count.h"

namespace tf::session {
namespace {

// Points of one program: from there on the space has nothing new.
constexpr int kMaxKnownInARow = 1024;
constexpr double kUnknownPrediction = 0.3;  // of candidates that no model has compared with the best
constexpr double kMostPrediction = 2;
// What the roofline model does not see may gain so much, and as much again as what it sees.
constexpr double kRooflineError = 0.1;
// So many times as unsure as the model is, one in twenty proposals hopes for more (search/evolutionary.cpp).
constexpr float kBoldest = 3;

Digest text_digest(const schedule::Schedule& schedule) {
  return sha256(schedule::to_string(schedule));
}

}  // namespace

TaskState::TaskState(const Task& task, const SessionOptions& options, TaskSpace space,
                     const model::CostModel* model, std::vector<space::Candidate> carried)
    : task_(task),
      problem_(tensor::key_for(task.kernel, options.target, options.threads)),
      device_class_(options.device_class),
      job_id_(options.job_id),
      space_(std::move(space)),
      model_(model),
      follows_model_(model != nullptr && options.strategy == search::Kind::kEvolutionary) {
  predicted_.now = kUnknownPrediction;
  if (search::is_baseline(options.strategy)) return;
  // The untuned schedule is measured first: the baseline, and what a tuned build is never slower than. Then
  // what was good for the nearest other tasks, then each other way's (see next(): those that are the same are
  // measured once).
  const std::vector<space::Sketch>& sketches = space_.space().sketches;
  for (size_t i = sketches.size(); i-- > 0;)
    seeds_.push_back({static_cast<int>(i), sketches[i].default_point()});
  untuned_ = seeds_.back();
  untuned_loops_ = space_.loops_of(*untuned_);
  untuned_schedule_ = text_digest(space_.space().schedule_of(*untuned_));
  seeds_.insert(seeds_.end() - 1, std::move_iterator(carried.rbegin()), std::move_iterator(carried.rend()));
  // A way's default need not be legal for every shape.
  std::erase_if(seeds_, [&](const space::Candidate& seed) {
    return seed != *untuned_ && !space_.evaluator().legal({&seed, 1})[0];
  });
}

absl::StatusOr<std::unique_ptr<TaskState>> TaskState::create(const Task& task, const SessionOptions& options,
                                                             model::CostModel* model, uint64_t seed,
                                                             const History* history,
                                                             const model::MeasuredRates& measured) {
  TF_ASSIGN_OR_RETURN(TaskSpace space, TaskSpace::create(task, options.target, options.threads,
                                                         options.allowed_numerics, measured));
  return create(task, options, std::move(space), model, seed, history);
}

std::unique_ptr<TaskState> TaskState::create(const Task& task, const SessionOptions& options, TaskSpace space,
                                             model::CostModel* model, uint64_t seed, const History* history) {
  std::vector<space::Candidate> carried;
  if (history != nullptr) carried = history->seeds_for(space);
  std::unique_ptr<TaskState> state(new TaskState(task, options, std::move(space), model, std::move(carried)));
  state->search_ = search::make_search(state->space_.space(), state->space_.evaluator(),
                                       {.kind = options.strategy, .seed = seed, .model = model});
  return state;
}

std::optional<space::Candidate> TaskState::next() {
  for (;;) {
    if (std::exchange(stale_, false)) rank_again();
    if (seeds_.empty() && proposals_.empty() && !exhausted_) propose();
    std::vector<space::Candidate>& from = seeds_.empty() ? proposals_ : seeds_;
    if (from.empty()) return std::nullopt;
    space::Candidate candidate = std::move(from.back());
    from.pop_back();
    const schedule::Schedule schedule = space_.space().schedule_of(candidate);
    const auto [known, is_new] = programs_.try_emplace(space_.loops_of(schedule));
    bool is_known = !is_new;
    if (auto recorded = recorded_.extract(text_digest(schedule)); is_new && !recorded.empty()) {
      known->second = recorded.mapped();
      is_known = true;
    }
    const bool is_baseline = candidate == untuned_ && !std::exchange(is_untuned_timed_, true);
    if (!is_known || is_baseline) {
      known_in_a_row_ = 0;
      return candidate;
    }
    if (!known->second.in_flight) learn(candidate, known->second.time, /*again=*/false);
    if (++known_in_a_row_ < kMaxKnownInARow) continue;
    seeds_.clear();
    proposals_.clear();
    exhausted_ = true;
    predicted();
  }
}

void TaskState::propose() {
  constexpr int kBatch = 16;
  proposals_ = search_->propose(kBatch);
  std::reverse(proposals_.begin(), proposals_.end());
  exhausted_ = proposals_.empty();
  predicted();
}

// Settles what the proposals before predicted, and says what the new ones do.
void TaskState::predicted() {
  if (predicted_.since_seconds > 0 && best_seconds_ > 0) {
    predicted_.before += predicted_.now;
    predicted_.realized += std::max(0.0, std::log(predicted_.since_seconds / best_seconds_));
  }
  predicted_.now = exhausted_ ? 0 : kUnknownPrediction;
  predicted_.since_seconds = best_seconds_;
  if (!best_ || exhausted_) return;
  const std::optional<model::Judgement> best = space_.evaluator().judge(*best_);
  if (!best) return;
  std::vector<model::Features> rows = {best->features};
  double least_roofline = best->roofline_seconds;
  for (const space::Candidate& candidate : proposals_) {
    const std::optional<model::Judgement> judgement = space_.evaluator().judge(candidate);
    if (!judgement) continue;
    rows.push_back(judgement->features);
    least_roofline = std::min(least_roofline, judgement->roofline_seconds);
  }
  predicted_.now = std::log(best->roofline_seconds / least_roofline);
  predicted_.reach = std::max(predicted_.reach.value_or(0), predicted_.now);
  if (follows_model_ && model_->is_trained()) {
    const std::vector<float> scores = model_->score(rows);
    const float most = *std::max_element(scores.begin(), scores.end());
    predicted_.now = (most - scores[0]) * std::log(2.0);  // scores are binary logarithms
  }
  predicted_.now = std::min(predicted_.now, kMostPrediction);
}

TaskState::Prediction TaskState::prediction() const {
  Prediction prediction{
      .predicted = predicted_.now, .predicted_before = predicted_.before, .realized = predicted_.realized};
  if (predicted_.reach) prediction.reach = kRooflineError + 2 * *predicted_.reach;
  if (best_seconds_ == 0) return prediction;
  prediction.gained = std::max(0.0, std::log(best_seconds_after(results_ / 2) / best_seconds_));
  return prediction;
}

double TaskState::best_seconds_after(int64_t results) const {
  if (best_seconds_ == 0) return 0;
  double seconds = improvements_.front().seconds;
  for (const Improvement& each : improvements_) {
    if (each.results <= results) seconds = each.seconds;
  }
  return seconds;
}

double TaskState::untuned_seconds() const {
  if (!untuned_loops_) return 0;
  const auto known = programs_.find(*untuned_loops_);
  const auto recorded = recorded_.find(untuned_schedule_);
  const std::optional<Time> time = recorded != recorded_.end() ? recorded->second.time
                                   : known != programs_.end()  ? known->second.time
                                                               : std::nullopt;
  return time && !time->lower_bound ? time->seconds : 0;
}

double TaskState::mean_sampled_seconds() const {
  return results_ > 0 ? sampled_seconds_ / static_cast<double>(results_) : 0;
}

std::vector<size_t> TaskState::rank(std::span<const space::Candidate> waiting,
                                    std::span<const std::optional<model::CodeFacts>> codes) const {
  std::vector<size_t> order(waiting.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!follows_model_ || !best_ || !model_->is_trained()) return order;
  std::vector<space::Candidate> candidates(waiting.begin(), waiting.end());
  candidates.push_back(*best_);
  std::vector<model::Features> rows = space_.evaluator().features(candidates);
  for (size_t i = 0; i < codes.size(); ++i) model::set_code(codes[i], rows[i]);
  const std::vector<float> scores = model_->score(rows), spread = model_->spread(rows);
  std::erase_if(order,
                [&](size_t i) { return spread[i] > 0 && scores[i] + kBoldest * spread[i] < scores.back(); });
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return scores[i]; });
  return order;
}

void TaskState::take_back(const space::Candidate& candidate) {
  const auto program = programs_.find(space_.loops_of(candidate));
  if (program != programs_.end() && program->second.in_flight) programs_.erase(program);
  search_->take_back({&candidate, 1});
}

// By what the model knows now. The worse half goes back: it would be tried only to be found slow, and what
// the search proposes once the better half is tried, it proposes with what it knows by then.
void TaskState::rank_again() {
  if (!follows_model_ || !model_->is_trained()) return;
  std::vector<model::Features> rows;
  std::vector<space::Candidate> legal;
  for (space::Candidate& candidate : proposals_) {
    if (std::optional<model::Judgement> judgement = space_.evaluator().judge(candidate)) {
      rows.push_back(judgement->features);
      legal.push_back(std::move(candidate));
    }
  }
  const std::vector<float> scores = model_->score(rows);
  std::vector<size_t> order(legal.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  proposals_.clear();
  std::vector<space::Candidate> dropped;
  for (size_t i = 0; i < order.size(); ++i)
    (i < order.size() / 2 ? dropped : proposals_).push_back(std::move(legal[order[i]]));
  search_->take_back(dropped);
}

std::optional<TransferSource> TaskState::take_new_best() {
  if (!std::exchange(is_best_new_, false)) return std::nullopt;
  return TransferSource{space_.space().sketches[static_cast<size_t>(best_->sketch)], best_->point};
}

// Before the first proposals there are seeds, and afterwards the space is used up.
void TaskState::suggest(std::vector<space::Candidate> candidates) {
  if (!follows_model_ || proposals_.empty()) return;
  std::erase_if(candidates, [&](const space::Candidate& candidate) {
    return programs_.contains(space_.loops_of(candidate)) || std::ranges::count(proposals_, candidate) > 0;
  });
  if (candidates.empty()) return;
  proposals_.insert(proposals_.begin(), std::move_iterator(candidates.begin()),
                    std::move_iterator(candidates.end()));
  stale_ = true;
}

const TaskState::Tried* TaskState::result_of_code(const std::string& code_digest) const {
  const auto found = codes_.find(code_digest);
  return found == codes_.end() ? nullptr : &found->second;
}

std::vector<std::string> TaskState::known_code() const {
  std::vector<std::string> digests;
  for (const auto& [digest, tried] : codes_) digests.push_back(digest);
  return digests;
}

database::Measurement TaskState::subject_of(const space::Candidate& candidate) const {
  database::Measurement subject;
  subject.problem = problem_;
  subject.schedule = schedule::to_string(space_.space().schedule_of(candidate));
  subject.sketch_hash = space_.hash_of(candidate);
  subject.choices.assign(candidate.point.begin(), candidate.point.end());
  subject.device.device_class = device_class_;
  subject.job_id = job_id_;
  subject.untuned = untuned_ == candidate;
  return subject;
}

void TaskState::observe(const space::Candidate& candidate, std::optional<Time> time,
                        const std::optional<model::CodeFacts>& code) {
  const bool again = note(space_.space().schedule_of(candidate), time);
  learn(candidate, time, again, code);
}

// What was measured again counts by its last measurement.
bool TaskState::note(const schedule::Schedule& schedule, std::optional<Time> time) {
  Tried& tried = programs_[space_.loops_of(schedule)];
  if (auto recorded = recorded_.extract(text_digest(schedule)); !recorded.empty() && tried.in_flight)
    tried = recorded.mapped();
  const bool again = tried.time.has_value() && !tried.time->lower_bound;
  if (tried.in_flight) ++results_;
  if (time) sampled_seconds_ += time->sampled_seconds;
  tried = {.in_flight = false, .time = time};
  if (again) {
    best_seconds_ = 0;
    incumbent_ = {};
    for (const auto& [other, each] : programs_) note_best(each.time);
    for (const auto& [other, each] : recorded_) note_best(each.time);
  } else {
    note_best(time);
  }
  return again;
}

void TaskState::note_best(const std::optional<Time>& time) {
  if (!time || time->lower_bound || (best_seconds_ > 0 && time->seconds >= best_seconds_)) return;
  best_seconds_ = time->seconds;
  improvements_.push_back({results_, time->seconds});
  incumbent_ = {.ns = time->seconds * 1e9, .noise = time->noise};
}

void TaskState::observe(const database::Measurement& record, std::optional<Time> time) {
  // Under other semantics the same text may be another program.
  if (record.semantics_version != static_cast<uint32_t>(schedule::kSemanticsVersion)) return;
  const absl::StatusOr<schedule::Schedule> schedule = schedule::parse_schedule(record.schedule);
  if (!schedule.ok()) return;
  // What is called untuned last is taken for it.
  if (record.untuned && time && !time->lower_bound)
    is_untuned_timed_ = text_digest(*schedule) == untuned_schedule_;
  const bool again = note(*schedule, time);
  if (const std::optional<space::Candidate> candidate = space_.candidate_of(record))
    learn(*candidate, time, again);
}

int64_t TaskState::add_records(const std::vector<database::Measurement>& records) {
  std::map<std::string_view, int64_t> first_tried;
  for (const database::Measurement& record : records) first_tried.try_emplace(record.schedule, record.id);
  std::vector<const database::Measurement*> counting = database::which_count(records);
  std::ranges::stable_sort(counting, {},
                           [&](const auto* record) { return first_tried.at(record->schedule); });
  int64_t lessons = 0;
  for (const database::Measurement* record : counting) {
    const std::optional<Time> time = time_of(*record);
    const Tried tried{.in_flight = false, .time = time};
    recorded_[sha256(record->schedule)] = tried;
    ++results_;
    if (time) sampled_seconds_ += time->sampled_seconds;
    if (!record->code_digest.empty()) codes_.try_emplace(record->code_digest, tried);
    note_best(time);
    const std::optional<space::Candidate> candidate = space_.candidate_of(*record);
    if (!candidate) continue;
    learn(*candidate, time, /*again=*/false);
    ++lessons;
  }
  // What is called untuned last is taken for it.
  for (const database::Measurement& record : records) {
    const std::optional<Time> time = record.untuned ? time_of(record) : std::nullopt;
    if (time && !time->lower_bound) is_untuned_timed_ = sha256(record.schedule) == untuned_schedule_;
  }
  is_untuned_timed_ = is_untuned_timed_ && untuned_seconds() > 0;
  return lessons;
}

void TaskState::learn(const space::Candidate& candidate, std::optional<Time> time, bool again,
                      const std::optional<model::CodeFacts>& code) {
  if (again) std::erase_if(known_, [&](const Known& known) { return known.candidate == candidate; });
  const bool measured = time && !time->lower_bound;
  const search::Observation observation{candidate,
                                        measured ? std::optional<double>(time->seconds) : std::nullopt};
  search_->update({&observation, 1});
  if (measured && time->seconds <= best_seconds_) {
    best_ = candidate;
    is_best_new_ = true;
  }
  if (std::optional<model::Judgement> judgement = space_.evaluator().judge(candidate)) {
    model::set_code(code, judgement->features);
    known_.push_back({candidate, judgement->features, time ? time->seconds : 0, time && time->lower_bound});
  }
  if (again && best_ == candidate) find_best();
}

// After the best one's time turned out to have been luck.
void TaskState::find_best() {
  const Known* best = nullptr;
  for (const Known& known : known_) {
    const bool measured = known.seconds > 0 && !known.lower_bound;
    if (measured && (best == nullptr || known.seconds < best->seconds)) best = &known;
  }
  is_best_new_ = best != nullptr && best->candidate != best_;
  best_ = best != nullptr ? std::optional(best->candidate) : std::nullopt;
}

void TaskState::append_examples(std::vector<model::Example>& examples, size_t most) const {
  const int task = examples.empty() ? 0 : examples.back().task + 1;
  const auto speed_of = [&](const Known& known) {
    return known.seconds > 0 ? std::min(1.0, best_seconds_ / known.seconds) : 0.0;
  };
  std::vector<const Known*> chosen;
  for (const Known& known : known_) chosen.push_back(&known);
  if (chosen.size() > most) {
    std::ranges::stable_sort(chosen, std::greater(), [&](const Known* known) { return speed_of(*known); });
    std::vector<const Known*> fewer;
    for (const size_t i : few_of(chosen.size(), most)) fewer.push_back(chosen[i]);
    chosen = std::move(fewer);
  }
  for (const Known* known : chosen)
    examples.push_back({known->features, speed_of(*known), task, known->lower_bound});
}

}  // namespace tf::session
