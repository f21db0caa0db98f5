#pragma once
// Owns: a cost model that learns in a thread of its own while the one before goes on ranking. Does not know:
// what kind of model, when it should learn.

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "tuner/model/learned/cost_model.h"
#include "tuner/session/loop/cpu_turn.h"

namespace tf::session {

// The calling thread comes after those that devices wait for. That this may fail does not matter.
inline void make_way() {
  constexpr int kNicer = 5;
  if (getpriority(PRIO_PROCESS, 0) < kNicer) setpriority(PRIO_PROCESS, 0, kNicer);
}

// For one thread, but for the training inside, which makes way for others.
class BackgroundModel final : public model::CostModel {
 public:
  using Prior = std::shared_ptr<const model::CostModel>;
  // `prior`, which may be null, is what the made model corrects.
  using Make = std::function<std::unique_ptr<model::CostModel>(Prior prior)>;
  // What is learned once candidates are timed waits for its turn on their CPUs; `cpu` outlives the model.
  explicit BackgroundModel(Make make, CpuTurn* cpu = nullptr) : make_(std::move(make)), cpu_(cpu) {}

  // Starts learning what all models correct from now on, and the first of them. Whoever asks first waits for
  // it: until then candidates can be tried that no model ranks. Nothing else may have been asked or learned.
  void begin(std::function<Prior()> learn_prior, std::vector<model::Example> examples) {
    first_ = std::async(std::launch::async,
                        [make = make_, learn_prior = std::move(learn_prior), examples = std::move(examples)] {
                          make_way();
                          Prior prior = learn_prior();
                          std::unique_ptr<model::CostModel> made = make(prior);
                          if (!made->train(examples).ok()) made.reset();
                          return First{std::move(prior), std::move(made)};
                        });
  }

  // Starts learning; adopt() takes the result. Nothing else may be learning.
  void start(std::vector<model::Example> examples) {
    settle();
    learning_ = std::async(std::launch::async,
                           [make = make_, cpu = cpu_, prior = prior_, examples = std::move(examples)] {
                             make_way();
                             const CpuTurn::Hold turn = CpuTurn::take(cpu);
                             std::unique_ptr<model::CostModel> made = make(prior);
                             if (!made->train(examples).ok()) made.reset();
                             return made;
                           });
  }
  // Until what began has ended, or `stop` is set.
  void wait(const std::atomic<bool>& stop) const {
    constexpr auto kLook = std::chrono::milliseconds(20);
    while (first_.valid() && !stop && first_.wait_for(kLook) != std::future_status::ready) {
    }
  }
  bool is_learning() const { return learning_.valid(); }
  // From now on what was learned ranks. Waits for it, so whoever asks must not have the turn. False if
  // nothing came of it: the model before goes on.
  bool adopt() {
    std::unique_ptr<model::CostModel> made = learning_.get();
    if (made == nullptr || !made->is_trained()) return false;
    current_ = std::move(made);
    return true;
  }

  absl::Status train(std::span<const model::Example> examples) override {
    settle();
    std::unique_ptr<model::CostModel> made = make_(prior_);
    absl::Status status = made->train(examples);
    if (status.ok()) current_ = std::move(made);
    return status;
  }
  bool is_trained() const override {
    settle();
    return current_ != nullptr && current_->is_trained();
  }
  std::vector<float> score(std::span<const model::Features> rows) const override {
    settle();
    return current_->score(rows);
  }
  std::vector<float> spread(std::span<const model::Features> rows) const override {
    settle();
    return current_->spread(rows);
  }

 private:
  struct First {
    Prior prior;
    std::unique_ptr<model::CostModel> current;  // null: nothing came of it
  };

  void settle() const {
    if (!first_.valid()) return;
    First first = first_.get();
    prior_ = std::move(first.prior);
    current_ = std::move(first.current);
  }

  Make make_;
  CpuTurn* cpu_;
  mutable std::future<First> first_;
  mutable Prior prior_;
  mutable std::unique_ptr<model::CostModel> current_;
  std::future<std::unique_ptr<model::CostModel>> learning_;
};

}  // namespace tf::session
