#pragma once
// Owns: a cost model that learns in a thread of its own while the one before goes on ranking. Does not know:
// what kind of model, when it should learn.

#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "tuner/model/cost_model.h"

namespace tf::session {

// For one thread, but for the training inside.
class BackgroundModel final : public model::CostModel {
 public:
  // `prior`, which may be null, is what the made model corrects.
  using Make =
      std::function<std::unique_ptr<model::CostModel>(std::shared_ptr<const model::CostModel> prior)>;
  explicit BackgroundModel(Make make) : make_(std::move(make)) {}

  // What all models from now on correct. Nothing may be learning.
  void set_prior(std::shared_ptr<const model::CostModel> prior) { prior_ = std::move(prior); }

  // Starts learning; adopt() takes the result. Nothing else may be learning.
  void start(std::vector<model::Example> examples) {
    learning_ =
        std::async(std::launch::async, [make = make_, prior = prior_, examples = std::move(examples)] {
          std::unique_ptr<model::CostModel> made = make(prior);
          if (!made->train(examples).ok()) made.reset();
          return made;
        });
  }
  bool is_learning() const { return learning_.valid(); }
  // From now on what was learned ranks. Waits for it. False if nothing came of it: the model before goes on.
  bool adopt() {
    std::unique_ptr<model::CostModel> made = learning_.get();
    if (made == nullptr || !made->is_trained()) return false;
    current_ = std::move(made);
    return true;
  }

  absl::Status train(std::span<const model::Example> examples) override {
    std::unique_ptr<model::CostModel> made = make_(prior_);
    absl::Status status = made->train(examples);
    if (status.ok()) current_ = std::move(made);
    return status;
  }
  bool is_trained() const override { return current_ != nullptr && current_->is_trained(); }
  std::vector<float> score(std::span<const model::Features> rows) const override {
    return current_->score(rows);
  }

 private:
  Make make_;
  std::shared_ptr<const model::CostModel> prior_;
  std::unique_ptr<model::CostModel> current_;
  std::future<std::unique_ptr<model::CostModel>> learning_;
};

}  // namespace tf::session
