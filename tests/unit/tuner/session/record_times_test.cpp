#include "tuner/session/loop/record_times.h"

#include <gtest/gtest.h>

#include "base/statistics/race.h"

namespace tf::session {
namespace {

using database::Measurement;
using database::Outcome;

Measurement row(Outcome outcome, std::vector<database::Sample> samples) {
  Measurement m;
  m.outcome = outcome;
  m.samples = std::move(samples);
  return m;
}

TEST(TimeOf, AnEarlyStopIsWhatItsSamplesRefuteNotWhatTheyWere) {
  const std::optional<Time> one = time_of(row(Outcome::kStoppedEarly, {{2'000'000, 1000}}));
  ASSERT_TRUE(one.has_value());
  EXPECT_TRUE(one->lower_bound);
  EXPECT_LT(one->seconds, 2e-6 * 0.7) << "one sample may have been unlucky";
  EXPECT_GT(one->seconds, 2e-6 * 0.3);
  const std::optional<Time> three =
      time_of(row(Outcome::kStoppedEarly, {{2'000'000, 1000}, {2'010'000, 1000}, {2'020'000, 1000}}));
  EXPECT_GT(three->seconds, one->seconds);
  EXPECT_LT(three->seconds, 2e-6 / (1 + kShared)) << "what they have in common may be";
  EXPECT_DOUBLE_EQ(three->sampled_seconds, 6.03e-3);
}

TEST(TimeOf, AnOkRecordIsItsMedianAndAFailureNone) {
  const std::optional<Time> ok = time_of(row(Outcome::kOk, {{1000, 1}, {3000, 1}, {2000, 1}}));
  ASSERT_TRUE(ok.has_value());
  EXPECT_FALSE(ok->lower_bound);
  EXPECT_DOUBLE_EQ(ok->seconds, 2e-6);
  EXPECT_FALSE(time_of(row(Outcome::kCrashed, {})).has_value());
}

TEST(IsFromHere, IsWhatASessionOfThisDatabaseMeasuredOnSuchAMachine) {
  Measurement m = row(Outcome::kOk, {{1000, 1}});
  m.device.fingerprint = "this";
  EXPECT_FALSE(is_from_here(m, "this")) << "an import";
  m.job_id = 1;
  EXPECT_TRUE(is_from_here(m, "this"));
  EXPECT_FALSE(is_from_here(m, "that"));
  EXPECT_TRUE(is_from_here(m, "that", 1)) << "of the job that asks";
  m.device.fingerprint = "";
  EXPECT_FALSE(is_from_here(m, "this"));
  m.outcome = Outcome::kCompileError;
  EXPECT_TRUE(is_from_here(m, "this"));
}

}  // namespace
}  // namespace tf::session
