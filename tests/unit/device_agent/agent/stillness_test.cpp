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
  EXPECT_FALSE(stillness.begin_golden(absl::ZeroDuration()));
  stillness.end_trial();
  EXPECT_FALSE(stillness.begin_golden(absl::Milliseconds(1)));
  EXPECT_TRUE(stillness.begin_trial({})) << "whoever was held back goes on";
  stillness.end_trial();
  stillness.end_trial();
  EXPECT_TRUE(stillness.begin_golden(absl::ZeroDuration()));
}

TEST(Stillness, ATrialWaitsForTheGoldenKernelUnlessItIsEnded) {
  Stillness stillness;
  ASSERT_TRUE(stillness.begin_golden(absl::ZeroDuration()));
  std::stop_source end;
  end.request_stop();
  EXPECT_FALSE(stillness.begin_trial(end.get_token()));
  std::atomic<bool> over = false;
  std::thread trial([&] {
    EXPECT_TRUE(stillness.begin_trial({}));
    EXPECT_TRUE(over);
    stillness.end_trial();
  });
  over = true;
  stillness.end_golden();
  trial.join();
}

TEST(Stillness, AGoldenKernelWithPatienceHoldsTrialsBackUntilThoseThatRunHaveEnded) {
  Stillness stillness;
  ASSERT_TRUE(stillness.begin_trial({}));
  std::atomic<bool> golden = false;
  std::thread patient([&] {
    EXPECT_TRUE(stillness.begin_golden(absl::Minutes(1)));
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

}  // namespace
}  // namespace tf::agent
