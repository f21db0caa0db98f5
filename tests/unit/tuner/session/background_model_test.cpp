#include "tuner/session/loop/background_model.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tf::session {
namespace {

// Notes with what priority it was trained.
class Nicety final : public model::CostModel {
 public:
  explicit Nicety(std::atomic<int>& nice) : nice_(nice) {}
  absl::Status train(std::span<const model::Example>) override {
    nice_ = getpriority(PRIO_PROCESS, 0);
    return absl::OkStatus();
  }
  bool is_trained() const override { return true; }
  std::vector<float> score(std::span<const model::Features> rows) const override {
    return std::vector<float>(rows.size());
  }

 private:
  std::atomic<int>& nice_;
};

TEST(BackgroundModel, LearnsInThreadsThatMakeWayForTheDevices) {
  const int own = getpriority(PRIO_PROCESS, 0);
  if (own >= 5) GTEST_SKIP() << "this process makes way itself";
  std::atomic<int> nice = own;
  BackgroundModel model([&](BackgroundModel::Prior) { return std::make_unique<Nicety>(nice); });
  model.begin([] { return nullptr; }, {});
  model.wait(false);
  EXPECT_GT(nice, own) << "the first";
  nice = own;
  model.start({});
  ASSERT_TRUE(model.adopt());
  EXPECT_GT(nice, own) << "a later one";
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own) << "but not who asked for it";
}

TEST(BackgroundModel, LearnsOnCpusWhereCandidatesAreTimedOnlyInItsTurn) {
  constexpr int kUntrained = 99;
  std::atomic<int> nice = kUntrained;
  CpuTurn cpu(true);
  BackgroundModel model([&](BackgroundModel::Prior) { return std::make_unique<Nicety>(nice); }, &cpu);
  CpuTurn::Hold timing = cpu.take();
  model.start({});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(nice, kUntrained);
  {
    const WithoutTurn waiting(timing);
    EXPECT_TRUE(model.adopt());
  }
  EXPECT_NE(nice, kUntrained);
  EXPECT_TRUE(timing.owns_lock()) << "it has its turn again";
}

TEST(BackgroundModel, IsNotWaitedForOnceStopped) {
  std::atomic<int> nice = 0;
  std::atomic<bool> stop = false, end = false;
  BackgroundModel model([&](BackgroundModel::Prior) { return std::make_unique<Nicety>(nice); });
  model.begin(
      [&] {
        while (!end) std::this_thread::yield();
        return nullptr;
      },
      {});
  std::jthread later([&] { stop = true; });
  model.wait(stop);
  end = true;
}

}  // namespace
}  // namespace tf::session
