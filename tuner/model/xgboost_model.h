#pragma once
// Owns: gradient-boosted trees as the cost model (Chen and Guestrin, "XGBoost", KDD 2016, through its C API),
// as a regression of speed on the features.

#include <memory>
#include <string>

#include "tuner/model/cost_model.h"

namespace tf::model {

struct XGBoostOptions {
  int rounds = 60;
  int max_depth = 6;
  double learning_rate = 0.15;
  int min_examples = 24;  // below this the model stays untrained
  int threads = 1;        // measuring cores are not ours to use
  uint64_t seed = 1;
};

class XGBoostModel final : public CostModel {
 public:
  explicit XGBoostModel(const XGBoostOptions& options = {});
  ~XGBoostModel() override;

  absl::Status train(std::span<const Example> examples) override;
  bool is_trained() const override { return booster_ != nullptr; }
  std::vector<float> score(std::span<const Features> rows) const override;

 private:
  struct FreeBooster {
    void operator()(void* booster) const;
  };
  XGBoostOptions options_;
  std::unique_ptr<void, FreeBooster> booster_;
};

}  // namespace tf::model
