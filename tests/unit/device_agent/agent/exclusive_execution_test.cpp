#include "device_agent/agent/slots/exclusive_execution.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace tf::agent {
namespace {

// Whether a trial does that comes now.
bool begins_soon(ExclusiveExecution& exclusive_execution) {
  std::stop_source end;
  const std::jthread impatience([end]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    end.request_stop();
  });
  if (!exclusive_execution.begin_trial(end.get_token())) return false;
  exclusive_execution.end_trial();
  return true;
}

TEST(ExclusiveExecution, TrialsRunBesideEachOtherAndTheGoldenKernelOnlyWhereNoneDoes) {
  ExclusiveExecution exclusive_execution;
  EXPECT_TRUE(exclusive_execution.begin_trial({}));
  EXPECT_TRUE(exclusive_execution.begin_trial({}));
  EXPECT_FALSE(exclusive_execution.begin_golden({}, {}));
  exclusive_execution.end_trial();
  EXPECT_FALSE(exclusive_execution.begin_golden({.most = absl::Milliseconds(1)}, {}));
  EXPECT_TRUE(exclusive_execution.begin_trial({})) << "whoever was held back goes on";
  exclusive_execution.end_trial();
  exclusive_execution.end_trial();
  EXPECT_TRUE(exclusive_execution.begin_golden({}, {}));
}

TEST(ExclusiveExecution, ATrialWaitsForTheGoldenKernelUnlessItIsEnded) {
  ExclusiveExecution exclusive_execution;
  ASSERT_TRUE(exclusive_execution.begin_golden({}, {}));
  std::stop_source end;
  end.request_stop();
  EXPECT_FALSE(exclusive_execution.begin_trial(end.get_token()));
  std::atomic<bool> over = false;
  std::thread trial([&] {
    EXPECT_TRUE(exclusive_execution.begin_trial({}));
    EXPECT_TRUE(over);
    exclusive_execution.end_trial();
  });
  EXPECT_FALSE(begins_soon(exclusive_execution));
  over = true;
  exclusive_execution.end_golden();
  trial.join();
}

TEST(ExclusiveExecution, AGoldenKernelWithAGracePeriodHoldsTrialsBackUntilThoseThatRunHaveEnded) {
  ExclusiveExecution exclusive_execution;
  ASSERT_TRUE(exclusive_execution.begin_trial({}));
  std::atomic<bool> golden = false;
  std::thread patient([&] {
    EXPECT_TRUE(exclusive_execution.begin_golden({.most = absl::Minutes(1)}, {}));
    golden = true;
    exclusive_execution.end_golden();
  });
  while (begins_soon(exclusive_execution)) {  // until it waits
  }
  EXPECT_FALSE(golden);
  exclusive_execution.end_trial();
  patient.join();
  EXPECT_TRUE(exclusive_execution.begin_trial({}));
}

// A second one that waited its hour would be the end of the test.
TEST(ExclusiveExecution, WhereTrialsHaveOutlastedAGracePeriodNoOtherHoldsThemBackForAWhile) {
  ExclusiveExecution exclusive_execution;
  ASSERT_TRUE(exclusive_execution.begin_trial({}));
  EXPECT_FALSE(
      exclusive_execution.begin_golden({.most = absl::Milliseconds(1), .again_after = absl::Hours(1)}, {}));
  EXPECT_FALSE(exclusive_execution.begin_golden({.most = absl::Hours(1), .again_after = absl::Hours(1)}, {}));
  EXPECT_TRUE(begins_soon(exclusive_execution));
  exclusive_execution.end_trial();
  EXPECT_TRUE(exclusive_execution.begin_golden({}, {})) << "where nothing runs it needs no grace period";
}

TEST(ExclusiveExecution, AfterThatWhileAGracePeriodHoldsTrialsBackAgain) {
  ExclusiveExecution exclusive_execution;
  ASSERT_TRUE(exclusive_execution.begin_trial({}));
  EXPECT_FALSE(exclusive_execution.begin_golden({.most = absl::Milliseconds(1)}, {}));
  std::thread patient([&] {
    EXPECT_TRUE(exclusive_execution.begin_golden({.most = absl::Minutes(1)}, {}));
    exclusive_execution.end_golden();
  });
  while (begins_soon(exclusive_execution)) {
  }
  exclusive_execution.end_trial();
  patient.join();
}

TEST(ExclusiveExecution, GoldenKernelsTakeTheirTurnsWithNoTrialBetween) {
  ExclusiveExecution exclusive_execution;
  ASSERT_TRUE(exclusive_execution.begin_golden({}, {}));
  std::atomic<int> goldens = 0;
  const auto golden = [&] {
    EXPECT_TRUE(exclusive_execution.begin_golden({}, {}));
    ++goldens;
    exclusive_execution.end_golden();
  };
  std::thread second(golden), third(golden);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // they wait for their turns
  std::thread trial([&] {
    EXPECT_TRUE(exclusive_execution.begin_trial({}));
    EXPECT_EQ(goldens, 2);
    exclusive_execution.end_trial();
  });
  EXPECT_FALSE(begins_soon(exclusive_execution));
  exclusive_execution.end_golden();
  for (std::thread* thread : {&second, &third, &trial}) thread->join();
}

// Each would otherwise wait for an hour, or for ever.
TEST(ExclusiveExecution, AGoldenKernelThatWaitsCanBeEnded) {
  ExclusiveExecution exclusive_execution;
  std::stop_source end;
  ASSERT_TRUE(exclusive_execution.begin_trial({}));
  std::thread for_trials(
      [&] { EXPECT_FALSE(exclusive_execution.begin_golden({.most = absl::Hours(1)}, end.get_token())); });
  while (begins_soon(exclusive_execution)) {
  }
  std::thread for_its_turn([&] { EXPECT_FALSE(exclusive_execution.begin_golden({}, end.get_token())); });
  end.request_stop();
  for_trials.join();
  for_its_turn.join();
  EXPECT_TRUE(begins_soon(exclusive_execution)) << "and nobody waits for them";
}

}  // namespace
}  // namespace tf::agent
