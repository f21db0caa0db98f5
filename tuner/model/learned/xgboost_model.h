#pragma once
// Owns: gradient-boosted trees as the cost model (Chen and Guestrin, "XGBoost", KDD 2016, through its C API).

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tuner/model/learned/cost_model.h"

namespace tf::model {

// What the trees learn.
enum class Lesson {
  // To correct the roofline model: a candidate's score is minus the logarithm of its estimated time plus what
  // they add, learned from pairs of candidates of one task (Burges et al., "RankNet", ICML 2005).
  kOrder,
  kSpeed,  // by themselves, the speed: the baseline like Ansor
};

struct XGBoostOptions {
  Lesson lesson = Lesson::kOrder;
  int rounds = 100;
  int max_depth = 4;
  double learning_rate = 0.08;
  int min_examples = 24;  // below this the model stays untrained
  int threads = 1;        // measuring cores are not ours to use
  uint64_t seed = 1;
  // What the trees correct instead of the roofline model: trained, of the same features. May be null.
  std::shared_ptr<const CostModel> prior;
  // It is asked of other tasks than those of its examples. Where these are of two groups and more, trees look
  // at relative features only, and there are as many rounds as order groups best that were held out: none, if
  // trees do not help there (cross-validation; Stone, J. Royal Statistical Society B 36, 1974).
  bool for_others = false;
};

class XGBoostModel final : public CostModel {
 public:
  explicit XGBoostModel(const XGBoostOptions& options = {});
  ~XGBoostModel() override;

  absl::Status train(std::span<const Example> examples) override;
  bool is_trained() const override { return trained_ || options_.prior != nullptr; }
  std::vector<float> score(std::span<const Features> rows) const override;
  // Of a virtual ensemble: the trees up to four stages of the later half of the rounds (Malinin et al.,
  // "Uncertainty in gradient boosting via ensembles", ICLR 2021, section 4).
  std::vector<float> spread(std::span<const Features> rows) const override;

 private:
  absl::StatusOr<int> rounds_for_others(std::span<const Example> examples) const;
  // What scores are before any tree.
  std::vector<float> without_trees(std::span<const Features> rows) const;

  XGBoostOptions options_;
  bool trained_ = false;
  int rounds_ = 0;                 // of the booster
  std::shared_ptr<void> booster_;  // frees itself; null: no trees
};

}  // namespace tf::model
