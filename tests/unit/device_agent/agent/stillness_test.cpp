#include "device_agent/agent/stillness.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace tf::agent {
namespace {

// Whether a trial does that comes now.
bool begins_soon(Stillness& stillness) {
  std::stop_source end;
  const std::jthread impatience([end]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    end.request_stop();
  });
  if (!stillness.begin_trial(end.get_token())) return false;
  stillness.end_trial();
  return true;
}

TEST(Stillness, TrialsRunBesideEachOtherAndTheGoldenKernelOnlyWhereNoneDoes) {
  Stillness stillness;
  EXPECT_TRUE(stillness.begin_trial({}));
  EXPECT_TRUE(stillness.begin_trial({}));
  EXPECT_FALSE(stillness.begin_golden({}, {}));
  stillness.end_trial();
  EXPECT_FALSE(stillness.begin_golden({.most = absl::Milliseconds(1)}, {}));
  EXPECT_TRUE(stillness.begin_trial({})) << "whoever was held back goes on";
  stillness.end_trial();
  stillness.end_trial();
  EXPECT_TRUE(stillness.begin_golden({}, {}));
}

TEST(Stillness, ATrialWaitsForTheGoldenKernelUnlessItIsEnded) {
  Stillness stillness;
  ASSERT_TRUE(stillness.begin_golden({}, {}));
  std::stop_source end;
  end.request_stop();
  EXPECT_FALSE(stillness.begin_trial(end.get_token()));
  std::atomic<bool> over = false;
  std::thread trial([&] {
    EXPECT_TRUE(stillness.begin_trial({}));
    EXPECT_TRUE(over);
    stillness.end_trial();
  });
  EXPECT_FALSE(begins_soon(stillness));
  over = true;
  stillness.end_golden();
  trial.join();
}

TEST(Stillness, AGoldenKernelWithPatienceHoldsTrialsBackUntilThoseThatRunHaveEnded) {
  Stillness stillness;
  ASSERT_TRUE(stillness.begin_trial({}));
  std::atomic<bool> golden = false;
  std::thread patient([&] {
    EXPECT_TRUE(stillness.begin_golden({.most = absl::Minutes(1)}, {}));
    golden = true;
    stillness.end_golden();
  });
  while (begins_soon(stillness)) {  // until it waits
  }
  EXPECT_FALSE(golden);
  stillness.end_trial();
  patient.join();
  EXPECT_TRUE(stillness.begin_trial({}));
}

// A second one that waited its hour would be the end of the test.
TEST(Stillness, WhereTrialsHaveOutlastedAPatienceNobodyElsesHoldsThemBackForAWhile) {
  Stillness stillness;
  ASSERT_TRUE(stillness.begin_trial({}));
  EXPECT_FALSE(stillness.begin_golden({.most = absl::Milliseconds(1), .again_after = absl::Hours(1)}, {}));
  EXPECT_FALSE(stillness.begin_golden({.most = absl::Hours(1), .again_after = absl::Hours(1)}, {}));
  EXPECT_TRUE(begins_soon(stillness));
  stillness.end_trial();
  EXPECT_TRUE(stillness.begin_golden({}, {})) << "in stillness it needs no patience";
}

TEST(Stillness, AfterThatWhileAPatienceHoldsTrialsBackAgain) {
  Stillness stillness;
  ASSERT_TRUE(stillness.begin_trial({}));
  EXPECT_FALSE(stillness.begin_golden({.most = absl::Milliseconds(1)}, {}));
  std::thread patient([&] {
    EXPECT_TRUE(stillness.begin_golden({.most = absl::Minutes(1)}, {}));
    stillness.end_golden();
  });
  while (begins_soon(stillness)) {
  }
  stillness.end_trial();
  patient.join();
}

TEST(Stillness, GoldenKernelsTakeTheirTurnsWithNoTrialBetween) {
  Stillness stillness;
  ASSERT_TRUE(stillness.begin_golden({}, {}));
  std::atomic<int> goldens = 0;
  const auto golden = [&] {
    EXPECT_TRUE(stillness.begin_golden({}, {}));
    ++goldens;
    stillness.end_golden();
  };
  std::thread second(golden), third(golden);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // they wait for their turns
  std::thread trial([&] {
    EXPECT_TRUE(stillness.begin_trial({}));
    EXPECT_EQ(goldens, 2);
    stillness.end_trial();
  });
  EXPECT_FALSE(begins_soon(stillness));
  stillness.end_golden();
  for (std::thread* thread : {&second, &third, &trial}) thread->join();
}

// Each would otherwise wait for an hour, or for ever.
TEST(Stillness, AGoldenKernelThatWaitsCanBeEnded) {
  Stillness stillness;
  std::stop_source end;
  ASSERT_TRUE(stillness.begin_trial({}));
  std::thread for_trials(
      [&] { EXPECT_FALSE(stillness.begin_golden({.most = absl::Hours(1)}, end.get_token())); });
  while (begins_soon(stillness)) {
  }
  std::thread for_its_turn([&] { EXPECT_FALSE(stillness.begin_golden({}, end.get_token())); });
  end.request_stop();
  for_trials.join();
  for_its_turn.join();
  EXPECT_TRUE(begins_soon(stillness)) << "and nobody waits for them";
}

}  // namespace
}  // namespace tf::agent
