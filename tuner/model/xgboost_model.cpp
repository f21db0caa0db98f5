#include "tuner/model/xgboost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

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

absl::StatusOr<Matrix> make_matrix(const std::vector<float>& values, size_t rows) {
  DMatrixHandle handle = nullptr;
  TF_RETURN_IF_ERROR(check(XGDMatrixCreateFromMat(values.data(), rows, kFeatureCount,
                                                  std::numeric_limits<float>::quiet_NaN(), &handle),
                           "take the features"));
  return Matrix(handle);
}

}  // namespace

XGBoostModel::XGBoostModel(const XGBoostOptions& options) : options_(options) {}
XGBoostModel::~XGBoostModel() = default;
void XGBoostModel::FreeBooster::operator()(void* booster) const {
  XGBoosterFree(booster);
}

absl::Status XGBoostModel::train(std::span<const Example> examples) {
  if (examples.size() < static_cast<size_t>(options_.min_examples)) return absl::OkStatus();
  std::vector<float> values, labels;
  values.reserve(examples.size() * kFeatureCount);
  for (const Example& example : examples) {
    values.insert(values.end(), example.features.begin(), example.features.end());
    labels.push_back(static_cast<float>(example.speed));
  }
  TF_ASSIGN_OR_RETURN(Matrix matrix, make_matrix(values, examples.size()));
  TF_RETURN_IF_ERROR(
      check(XGDMatrixSetFloatInfo(matrix.get(), "label", labels.data(), labels.size()), "take the labels"));
  // Fast candidates decide: an error on a slow one costs nothing.
  for (float& weight : labels) weight = std::max(weight, 0.05f);
  TF_RETURN_IF_ERROR(
      check(XGDMatrixSetFloatInfo(matrix.get(), "weight", labels.data(), labels.size()), "take the weights"));

  const DMatrixHandle matrices[] = {matrix.get()};
  BoosterHandle handle = nullptr;
  TF_RETURN_IF_ERROR(check(XGBoosterCreate(matrices, 1, &handle), "start"));
  std::unique_ptr<void, FreeBooster> booster(handle);
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", "reg:squarederror"},
      {"tree_method", "hist"},
      {"max_depth", absl::StrCat(options_.max_depth)},
      {"eta", absl::StrCat(options_.learning_rate)},
      {"min_child_weight", "0.5"},
      {"subsample", "0.9"},
      {"nthread", absl::StrCat(options_.threads)},
      {"seed", absl::StrCat(options_.seed)},
      {"verbosity", "0"},
  };
  for (const auto& [name, value] : parameters) {
    TF_RETURN_IF_ERROR(check(XGBoosterSetParam(booster.get(), name, value.c_str()), name));
  }
  for (int round = 0; round < options_.rounds; ++round) {
    TF_RETURN_IF_ERROR(check(XGBoosterUpdateOneIter(booster.get(), round, matrix.get()), "train"));
  }
  booster_ = std::move(booster);
  return absl::OkStatus();
}

std::vector<float> XGBoostModel::score(std::span<const Features> rows) const {
  TF_CHECK(booster_ != nullptr) << "score before the model was trained";
  if (rows.empty()) return {};
  std::vector<float> values;
  values.reserve(rows.size() * kFeatureCount);
  for (const Features& row : rows) values.insert(values.end(), row.begin(), row.end());
  absl::StatusOr<Matrix> matrix = make_matrix(values, rows.size());
  TF_CHECK(matrix.ok()) << matrix.status().message();
  bst_ulong count = 0;
  const float* scores = nullptr;
  const absl::Status status =
      check(XGBoosterPredict(booster_.get(), matrix->get(), 0, 0, 0, &count, &scores), "predict");
  TF_CHECK(status.ok() && count == rows.size()) << status.message();
  return {scores, scores + count};
}

}  // namespace tf::model
