#include "tuner/session/loop/throttling.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "proto/farm/v1/trial.pb.h"

namespace tf::session {
namespace {

namespace farm = tunefarm::farm::v1;

Finished finished(bool throttled, int tries = 0, farm::Outcome outcome = farm::OUTCOME_OK,
                  const std::string& fingerprint = "desk") {
  farm::TrialResult result;
  result.set_outcome(outcome);
  result.mutable_device()->set_fingerprint(fingerprint);
  result.mutable_device()->set_throttled(throttled);
  return {.work = {.tries = tries}, .result = std::make_shared<farm::TrialResult>(result)};
}

TEST(Throttling, SpoilsWhatADeviceMeasuresThatCanDoWithout) {
  Throttling throttling;
  EXPECT_FALSE(throttling.spoils(finished(true))) << "it may always throttle";
  EXPECT_FALSE(throttling.spoils(finished(false)));
  EXPECT_TRUE(throttling.spoils(finished(true)));
  EXPECT_TRUE(throttling.spoils(finished(true, 0, farm::OUTCOME_STOPPED_EARLY)));
  EXPECT_FALSE(throttling.spoils(finished(true, 0, farm::OUTCOME_OK, "another")));
}

TEST(Throttling, SpoilsNoFailure) {
  Throttling throttling;
  EXPECT_FALSE(throttling.spoils(finished(false)));
  for (const farm::Outcome outcome : {farm::OUTCOME_CRASHED, farm::OUTCOME_WRONG_OUTPUT,
                                      farm::OUTCOME_TIMED_OUT, farm::OUTCOME_OUT_OF_MEMORY})
    EXPECT_FALSE(throttling.spoils(finished(true, 0, outcome))) << outcome;
  EXPECT_TRUE(throttling.spoils(finished(true))) << "which says nothing of the device";
  EXPECT_FALSE(throttling.spoils({.status = absl::UnavailableError("the agent went away")}));
}

TEST(Throttling, BelievesADeviceThatStaysHotUntilItHasCooled) {
  Throttling throttling;
  EXPECT_FALSE(throttling.spoils(finished(false)));
  for (int tries = 0; tries + 1 < kMaxTries; ++tries) EXPECT_TRUE(throttling.spoils(finished(true, tries)));
  EXPECT_FALSE(throttling.spoils(finished(true, kMaxTries - 1)));
  EXPECT_FALSE(throttling.spoils(finished(true))) << "the next one would wait in vain, too";
  EXPECT_FALSE(throttling.spoils(finished(false)));
  EXPECT_TRUE(throttling.spoils(finished(true)));
}

}  // namespace
}  // namespace tf::session
