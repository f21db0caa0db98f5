#include "tests/bench/search/replay/model_quality.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/status.h"
#include "tuner/model/learned/xgboost_model.h"
#include "tuner/session/loop/task_space.h"

namespace tf::replay {
namespace {

// What did not compile is a code of its own.
const std::string& code_of(const Entry& entry) {
  return entry.code_digest.empty() ? entry.schedule : entry.code_digest;
}

// What compiles to the same code is as fast: the replicates of all candidates of a code are replicates of
// each.
std::map<std::string, Replicates> replicates_by_code(const Pool& pool) {
  std::map<std::string, Replicates> replicates;
  for (const auto& entry : pool.entries())
    for (const Replicate& replicate : entry->replicates)
      replicates[code_of(*entry)].push_back(shortest_sample(replicate));
  return replicates;
}

// How fast each code is, by as many replicates of each that matters.
class Labels {
 public:
  explicit Labels(const Pool& pool) : replicates_(replicates_by_code(pool)) {
    std::vector<Replicates> all;
    for (const auto& [code, replicates] : replicates_) all.push_back(replicates);
    of_each_ = replicates_of_a_label(all);
    disagreements_ = disagreements(all, of_each_);
    for (const Replicates& replicates : all)
      if (replicates.size() >= of_each_ && (best_ == 0 || least(replicates) < best_))
        best_ = least(replicates);
  }

  size_t of_each() const { return of_each_; }
  const std::vector<double>& disagreement() const { return disagreements_; }
  // 0: it failed; nothing where more replicates would be needed to say it.
  std::optional<double> of(const Entry& entry) const {
    const auto replicates = replicates_.find(code_of(entry));
    if (entry.replicates.empty() || replicates == replicates_.end()) return 0;
    const double seconds = least(replicates->second);
    if (replicates->second.size() < of_each_ && seconds <= kNear * best_) return std::nullopt;
    return seconds;
  }

 private:
  double least(const Replicates& replicates) const {
    return *std::min_element(replicates.begin(), replicates.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                          of_each_, replicates.size())));
  }

  std::map<std::string, Replicates> replicates_;
  size_t of_each_ = 1;
  std::vector<double> disagreements_;
  double best_ = 0;
};

double least_seconds(std::span<const Example> examples) {
  double least = 0;
  for (const Example& example : examples) {
    if (example.seconds > 0 && (least == 0 || example.seconds < least)) least = example.seconds;
  }
  return least;
}

void append_training(std::span<const Example> examples, int group, std::vector<model::Example>& training) {
  const double best = least_seconds(examples);
  const int task = training.empty() ? 0 : training.back().task + 1;
  for (const Example& example : examples)
    training.push_back({.features = example.features,
                        .speed = example.seconds > 0 ? best / example.seconds : 0,
                        .task = task,
                        .group = group});
}

ModelQuality judge(std::string model, const TaskExamples& task, std::span<const Example> examples,
                   std::span<const float> scores) {
  ModelQuality quality{.model = std::move(model),
                       .task = task.task->task.label,
                       .replicates = task.replicates,
                       .ranked = {},
                       .truth = {}};
  for (size_t i = 0; i < examples.size(); ++i)
    quality.ranked.push_back({examples[i].seconds, scores[i], examples[i].late});
  quality.truth = ranked_by_the_truth(quality.ranked, task.disagreements);
  return quality;
}

ModelQuality judge_roofline(const TaskExamples& task) {
  std::vector<float> scores;
  for (const Example& example : task.examples) scores.push_back(-example.features[model::kRooflineFeature]);
  return judge("roofline", task, task.examples, scores);
}

std::vector<model::Features> rows_of(std::span<const Example> examples) {
  std::vector<model::Features> rows;
  for (const Example& example : examples) rows.push_back(example.features);
  return rows;
}

absl::StatusOr<ModelQuality> judge_learned(std::string name, const TaskExamples& task,
                                           std::span<const model::Example> training,
                                           std::span<const Example> examples) {
  model::XGBoostModel model;
  TF_RETURN_IF_ERROR(model.train(training));
  return judge(std::move(name), task, examples, model.score(rows_of(examples)));
}

absl::StatusOr<ModelQuality> judge_own_half(const TaskExamples& task) {
  std::vector<Example> halves[2];
  for (size_t i = 0; i < task.examples.size(); ++i) halves[i % 2].push_back(task.examples[i]);
  std::vector<model::Example> training;
  append_training(halves[0], 0, training);
  return judge_learned("own half", task, training, halves[1]);
}

// Each task judged by what all tasks of other groups teach; a group is trained for once.
absl::Status judge_held_out(const std::string& name, std::span<const TaskExamples> tasks,
                            const std::function<std::string(const BenchTask&)>& group_of,
                            std::vector<ModelQuality>& all) {
  std::map<std::string, std::vector<const TaskExamples*>> groups;
  for (const TaskExamples& task : tasks) groups[group_of(*task.task)].push_back(&task);
  for (const auto& [group, members] : groups) {
    if (group.empty()) continue;
    std::vector<model::Example> training;
    for (const TaskExamples& task : tasks) {
      const auto of_task = groups.find(group_of(*task.task));
      if (of_task->first == group) continue;
      append_training(task.examples, static_cast<int>(std::distance(groups.begin(), of_task)), training);
    }
    model::XGBoostModel model({.for_others = true});
    TF_RETURN_IF_ERROR(model.train(training));
    if (!model.is_trained()) continue;
    for (const TaskExamples* task : members) {
      if (task->examples.size() < kLeastExamples) continue;
      all.push_back(judge(name, *task, task->examples, model.score(rows_of(task->examples))));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TaskExamples> task_examples(const BenchTask& task, const target::Target& target, int threads,
                                           const Pool& pool, int64_t count,
                                           const model::MeasuredRates& measured) {
  TF_ASSIGN_OR_RETURN(const session::TaskSpace space,
                      session::TaskSpace::create(task.task, target, threads, {}, measured));

  const Labels labels(pool);
  TaskExamples result{
      .task = &task, .examples = {}, .replicates = labels.of_each(), .disagreements = labels.disagreement()};
  std::set<std::string> seen;  // codes
  std::map<Source, int64_t> left = {{Source::kRandom, count / 2}, {Source::kLate, count / 2}};
  for (const auto& entry : pool.entries()) {
    if (left[entry->source] == 0) continue;
    if (!seen.insert(code_of(*entry)).second) continue;
    const std::optional<double> seconds = labels.of(*entry);
    const std::optional<space::Candidate> candidate =
        space.candidate_of(entry->sketch_hash, entry->choices, entry->schedule);
    const std::optional<model::Judgement> judgement =
        candidate ? space.evaluator().judge(*candidate) : std::optional<model::Judgement>();
    if (!judgement) {
      ++result.stale;
    } else if (!seconds) {
      ++result.unsure;
    } else {
      --left[entry->source];
      result.examples.push_back({judgement->features, judgement->roofline_seconds, *seconds,
                                 entry->source == Source::kLate, entry->schedule});
    }
  }
  return result;
}

absl::StatusOr<std::vector<ModelQuality>> judge_models(std::span<const TaskExamples> tasks) {
  std::vector<ModelQuality> all;
  for (const TaskExamples& task : tasks) {
    if (task.examples.size() < kLeastExamples) continue;
    all.push_back(judge_roofline(task));
    TF_ASSIGN_OR_RETURN(ModelQuality own, judge_own_half(task));
    all.push_back(std::move(own));
  }
  TF_RETURN_IF_ERROR(judge_held_out(
      "other families", tasks, [](const BenchTask& task) { return task.family; }, all));
  TF_RETURN_IF_ERROR(judge_held_out(
      "other networks", tasks, [](const BenchTask& task) { return task.network; }, all));
  return all;
}

}  // namespace tf::replay
