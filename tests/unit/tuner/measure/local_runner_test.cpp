#include "tuner/measure/local_runner.h"

#include <gtest/gtest.h>

#include <thread>

#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::measure::LocalRunner;
using tf::measure::make_artifact_bytes;
using tf::test::candidate;
using tf::test::serialized;

TEST(LocalRunner, MeasuresFromSeveralThreadsAndFillsTheDigests) {
  auto runner = LocalRunner::start({.sandbox = {.without = {}, .without_missing = true}});
  ASSERT_TRUE(runner.ok()) << runner.status();
  const auto good = make_artifact_bytes(serialized(candidate("good")));
  const auto wrong = make_artifact_bytes(serialized(candidate("wrong")));
  const auto reference = make_artifact_bytes(serialized(candidate("reference")));
  farm::Trial trial = tf::test::trial_of(*good.bytes, *reference.bytes);
  trial.clear_artifact_digest();
  trial.clear_reference_digest();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 4; ++i) {
        const bool is_good = (t + i) % 2 == 0;
        const auto result = (*runner)->run({is_good ? good : wrong, reference, &trial});
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(result->outcome(), is_good ? farm::OUTCOME_OK : farm::OUTCOME_WRONG_OUTPUT)
            << result->detail();
        EXPECT_EQ(result->artifact_digest(), is_good ? good.digest : wrong.digest);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE((*runner)->slots(), 1);
  EXPECT_GT((*runner)->peak_gflops(), 0.5);
  EXPECT_NE((*runner)->device()->fingerprint(), "");
}

TEST(LocalRunner, IsCancelledForGood) {
  auto runner = *LocalRunner::start({.sandbox = {.without = {}, .without_missing = true}});
  runner->cancel();
  const auto good = make_artifact_bytes(serialized(candidate("good")));
  const farm::Trial trial = tf::test::trial_of(*good.bytes, "");
  EXPECT_EQ(runner->run({good, {}, &trial}).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
