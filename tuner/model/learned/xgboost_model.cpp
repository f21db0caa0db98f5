#include "tuner/model/learned/xgboost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "tuner/model/learned/loss.h"

namespace tf::model {
namespace {

absl::Status check(int code, const char* action) {
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("XGBoost could not ", action, ": ", XGBGetLastError()));
}

struct FreeMatrix {
  void operator()(void* matrix) const { XGDMatrixFree(matrix); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;

std::vector<Features> rows_of(std::span<const Example> examples) {
  std::vector<Features> rows;
  for (const Example& example : examples) rows.push_back(example.features);
  return rows;
}

// A feature that is left out is the same everywhere, so that no tree looks at it. What the compiler tells is hidden of
// every second example: most candidates are judged before they are built, and trees are to know what to say then.
absl::StatusOr<Matrix> make_matrix(std::span<const Example> examples, bool only_relative) {
  std::vector<Features> rows = rows_of(examples);
  for (size_t row = 0; row < rows.size(); ++row) {
    if (row % 2 == 1) set_code(std::nullopt, rows[row]);
    for (size_t i = 0; only_relative && i < kFeatureCount; ++i)
      if (!relative_features()[i]) rows[row][i] = 0;
  }
  DMatrixHandle handle = nullptr;
  TF_RETURN_IF_ERROR(
      check(XGDMatrixCreateFromMat(rows.front().data(), rows.size(), kRowFeatures, kMissing, &handle),
            "take the features"));
  return Matrix(handle);
}

absl::StatusOr<std::shared_ptr<void>> make_booster(const Matrix& matrix, const XGBoostOptions& options) {
  const DMatrixHandle matrices[] = {matrix.get()};
  BoosterHandle handle = nullptr;
  TF_RETURN_IF_ERROR(check(XGBoosterCreate(matrices, 1, &handle), "start"));
  std::shared_ptr<void> booster(handle, [](void* old) { XGBoosterFree(old); });
  // Corrections that hold for other kinds of kernels, too, are small and lean on many features.
  const bool corrects = options.lesson == Lesson::kOrder;
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", "reg:squarederror"},  // ours, in fact: see train
      {"base_score", "0"},
      {"tree_method", "hist"},
      {"max_depth", absl::StrCat(options.max_depth)},
      {"eta", absl::StrCat(options.learning_rate)},
      {"min_child_weight", corrects ? "4" : "0.5"},
      {"subsample", corrects ? "0.7" : "0.9"},
      {"colsample_bytree", corrects ? "0.5" : "1"},
      {"nthread", absl::StrCat(options.threads)},
      {"seed", absl::StrCat(options.seed)},
      {"verbosity", "0"},
  };
  for (const auto& [name, value] : parameters)
    TF_RETURN_IF_ERROR(check(XGBoosterSetParam(booster.get(), name, value.c_str()), name));
  return booster;
}

// So many rounds of trees that correct the scores that the examples start from.
absl::StatusOr<std::shared_ptr<void>> grow(std::span<const Example> examples, const std::vector<float>& start,
                                           int rounds, bool only_relative, const XGBoostOptions& options) {
  TF_ASSIGN_OR_RETURN(Matrix matrix, make_matrix(examples, only_relative));
  TF_ASSIGN_OR_RETURN(std::shared_ptr<void> booster, make_booster(matrix, options));
  for (int round = 0; round < rounds; ++round) {
    std::vector<float> scores = start;
    if (round > 0) {
      bst_ulong count = 0;
      const float* added = nullptr;
      TF_RETURN_IF_ERROR(
          check(XGBoosterPredict(booster.get(), matrix.get(), 1, 0, 1, &count, &added), "predict"));
      for (size_t i = 0; i < scores.size(); ++i) scores[i] += added[i];
    }
    Gradient gradient = options.lesson == Lesson::kOrder
                            ? pair_gradient(examples, scores, options.seed + static_cast<uint64_t>(round))
                            : speed_gradient(examples, scores);
    TF_RETURN_IF_ERROR(check(XGBoosterBoostOneIter(booster.get(), matrix.get(), gradient.first.data(),
                                                   gradient.second.data(), examples.size()),
                             "train"));
  }
  return booster;
}

// What the trees of so many rounds add.
std::vector<float> added_by(const std::shared_ptr<void>& booster, int rounds,
                            std::span<const Features> rows) {
  // The rows where they are, without a matrix of XGBoost's own.
  const std::string values =
      absl::StrCat(R"({"data":[)", reinterpret_cast<uintptr_t>(rows.data()), R"(,true],"shape":[)",
                   rows.size(), ",", kRowFeatures, R"(],"typestr":"<f4","version":3})");
  const std::string config =
      absl::StrCat(R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":)", rounds,
                   R"(,"strict_shape":false,"missing":)", kMissing, R"(,"cache_id":0})");
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* added = nullptr;
  const absl::Status status = check(XGBoosterPredictFromDense(booster.get(), values.c_str(), config.c_str(),
                                                              nullptr, &shape, &dimensions, &added),
                                    "predict");
  TF_CHECK(status.ok() && dimensions > 0 && shape[0] == rows.size()) << status.message();
  return {added, added + rows.size()};
}

}  // namespace

XGBoostModel::XGBoostModel(const XGBoostOptions& options) : options_(options) {}
XGBoostModel::~XGBoostModel() = default;

std::vector<float> XGBoostModel::without_trees(std::span<const Features> rows) const {
  if (options_.prior != nullptr) return options_.prior->score(rows);
  std::vector<float> scores(rows.size(), 0);
  if (options_.lesson == Lesson::kOrder)
    std::transform(rows.begin(), rows.end(), scores.begin(),
                   [](const Features& features) { return -features[kRooflineFeature]; });
  return scores;
}

absl::Status XGBoostModel::train(std::span<const Example> examples) {
  if (examples.size() < static_cast<size_t>(options_.min_examples)) return absl::OkStatus();
  const bool can_hold_out = std::ranges::any_of(
      examples, [&](const Example& example) { return example.group != examples.front().group; });
  const bool carries_over = options_.for_others && can_hold_out;
  int rounds = options_.rounds;
  if (carries_over) {
    TF_ASSIGN_OR_RETURN(rounds, rounds_for_others(examples));
  }
  std::shared_ptr<void> booster;
  if (rounds > 0) {
    TF_ASSIGN_OR_RETURN(booster,
                        grow(examples, without_trees(rows_of(examples)), rounds, carries_over, options_));
  }
  booster_ = std::move(booster);
  rounds_ = rounds;
  trained_ = true;
  return absl::OkStatus();
}

absl::StatusOr<int> XGBoostModel::rounds_for_others(std::span<const Example> examples) const {
  constexpr int kFolds = 4, kStep = 5;
  constexpr double kLeastGain = 0.003;  // of the pairs; less is luck
  std::map<int, int> fold_of;           // by group
  for (const Example& example : examples)
    fold_of.try_emplace(example.group, static_cast<int>(fold_of.size()) % kFolds);
  // Sums over tasks, after so many steps.
  std::vector<double> accuracy(static_cast<size_t>(options_.rounds / kStep) + 1, 0.0);
  double tasks = 0;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::vector<Example> learned, held_out;
    for (const Example& example : examples)
      (fold_of.at(example.group) == fold ? held_out : learned).push_back(example);
    if (held_out.empty()) break;
    TF_ASSIGN_OR_RETURN(const std::shared_ptr<void> booster,
                        grow(learned, without_trees(rows_of(learned)), options_.rounds,
                             /*only_relative=*/true, options_));
    const std::vector<Features> rows = rows_of(held_out);
    const std::vector<float> start = without_trees(rows);
    for (size_t step = 0; step < accuracy.size(); ++step) {
      std::vector<float> scores = start;
      if (step > 0) {
        const std::vector<float> added = added_by(booster, static_cast<int>(step) * kStep, rows);
        std::transform(scores.begin(), scores.end(), added.begin(), scores.begin(), std::plus<>());
      }
      const std::vector<double> right = order_accuracies(held_out, scores);
      accuracy[step] += std::accumulate(right.begin(), right.end(), 0.0);
      if (step == 0) tasks += static_cast<double>(right.size());
    }
  }
  const auto best = std::max_element(accuracy.begin(), accuracy.end());
  if (*best - accuracy[0] < kLeastGain * tasks) return 0;
  return static_cast<int>(best - accuracy.begin()) * kStep;
}

std::vector<float> XGBoostModel::score(std::span<const Features> rows) const {
  TF_CHECK(is_trained()) << "score before the model was trained";
  if (rows.empty()) return {};
  std::vector<float> scores = without_trees(rows);
  if (booster_ == nullptr) return scores;
  const std::vector<float> added = added_by(booster_, rounds_, rows);
  std::transform(scores.begin(), scores.end(), added.begin(), scores.begin(), std::plus<>());
  return scores;
}

std::vector<float> XGBoostModel::spread(std::span<const Features> rows) const {
  constexpr int kMembers = 4;
  if (rows.empty()) return {};
  if (booster_ == nullptr)
    return options_.prior != nullptr ? options_.prior->spread(rows) : std::vector<float>(rows.size(), 0.0f);
  std::vector<float> sums(rows.size(), 0), squares(rows.size(), 0);
  for (int member = 1; member <= kMembers; ++member) {
    const std::vector<float> added = added_by(booster_, rounds_ * (kMembers + member) / (2 * kMembers), rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      sums[i] += added[i];
      squares[i] += added[i] * added[i];
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const float mean = sums[i] / kMembers;
    sums[i] = std::sqrt(std::max(0.0f, squares[i] / kMembers - mean * mean));
  }
  return sums;
}

}  // namespace tf::model
