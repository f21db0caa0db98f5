#include "device_agent/agent/trials/trial_runner.h"

#include <grpcpp/grpcpp.h>

#include "base/digest.h"
#include "base/files/temporary_folder.h"
#include "device_agent/agent/slots/exclusive_execution.h"
#include "device_agent/agent/trials/artifact_fetcher.h"
#include "device_agent/agent/trials/executor.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/connection/channel.h"
#include "tests/unit/device_agent/agent/cached_candidate.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr size_t kMuch = 5 << 20;  // more than a message holds

// Says of each trial what it was told to say.
class SayingExecutor final : public TrialExecutor {
 public:
  absl::Status begin_lease(std::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<pb::TrialResult> run(const pb::Trial&, std::string_view, std::string_view,
                                      std::stop_token) override {
    return says;
  }
  bool has_reference(std::string_view, uint64_t) const override { return false; }

  absl::StatusOr<pb::TrialResult> says = pb::TrialResult();
};

class TrialRunnerTest : public testing::Test {
 protected:
  static StartedTrial started(const std::string& artifact_digest) {
    pb::Trial trial;
    trial.set_artifact_digest(artifact_digest);
    return {.lease = {"L", 1}, .trial = {7, trial.SerializeAsString()}};
  }

  // What its holder is told of a trial of which the executor says this.
  pb::MeasureReply reply(absl::StatusOr<pb::TrialResult> says) {
    executor_.says = std::move(says);
    const auto bytes = measure(
        started(sha256(kCandidate).hex()),
        TrialMeans{.fetcher = fetcher_, .executor = executor_, .exclusive_execution = exclusive_execution_},
        std::stop_token());
    pb::MeasureReply reply;
    EXPECT_TRUE(bytes && reply.ParseFromString(*bytes));
    EXPECT_EQ(reply.sequence(), 7u);
    EXPECT_LE(bytes ? bytes->size() : 0, size_t{1} << 20);
    return reply;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  ArtifactFetcher fetcher_{rpc::make_channel({"127.0.0.1", 1}), cache_with_candidate(dir_.path())};
  ExclusiveExecution exclusive_execution_;
  SayingExecutor executor_;
};

TEST_F(TrialRunnerTest, AFailureIsToldInALineThatFitsIntoAMessage) {
  const pb::MeasureReply told =
      reply(absl::InvalidArgumentError("port '\xff\n" + std::string(kMuch, 'x') + "' does not have a role"));
  EXPECT_EQ(told.failure().kind(), pb::FAILURE_KIND_REFUSED);
  EXPECT_THAT(told.failure().message(), testing::StartsWith("port '??xxx"));
  EXPECT_EQ(told.failure().message().size(), 4096u);
}

TEST_F(TrialRunnerTest, SoIsTheDetailOfAResult) {
  pb::TrialResult result;
  result.set_outcome(pb::OUTCOME_WRONG_OUTPUT);
  result.set_detail("output '" + std::string(kMuch, 'x'));
  const pb::MeasureReply told = reply(result);
  EXPECT_EQ(told.result().outcome(), pb::OUTCOME_WRONG_OUTPUT);
  EXPECT_THAT(told.result().detail(), testing::StartsWith("output 'xxx"));
  EXPECT_EQ(told.result().detail().size(), 4096u);
}

TEST_F(TrialRunnerTest, AResultThatIsTooMuchForAMessageIsTheDevicesFailure) {
  pb::TrialResult result;
  result.set_outcome(pb::OUTCOME_OK);
  result.set_printed(std::string(kMuch, 'x'));
  const pb::MeasureReply told = reply(result);
  EXPECT_EQ(told.failure().kind(), pb::FAILURE_KIND_DEVICE);
  EXPECT_THAT(told.failure().message(), testing::HasSubstr("result takes 5242"));
}

TEST_F(TrialRunnerTest, AnOutcomeNamesADigestAndNothingElse) {
  pb::MeasureReply refused;
  refused.mutable_failure()->set_kind(pb::FAILURE_KIND_REFUSED);
  const auto candidate_of = [&](const std::string& digest) {
    pb::TrialOutcome outcome;
    EXPECT_TRUE(outcome.ParseFromString(outcome_of(started(digest), refused.SerializeAsString())));
    EXPECT_EQ(outcome.lease_id(), "L");
    EXPECT_EQ(outcome.failure(), pb::FAILURE_KIND_REFUSED);
    return outcome.candidate_digest();
  };
  const std::string digest = sha256(kCandidate).hex();
  EXPECT_EQ(candidate_of(digest), digest);
  EXPECT_EQ(candidate_of(std::string(kMuch, 'x')), "");
}

}  // namespace
}  // namespace tf::agent
