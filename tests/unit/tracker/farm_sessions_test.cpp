#include "tests/unit/tracker/farm_fixture.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;

class FarmSessionsTest : public FarmTest {
 protected:
  struct Agent {
    std::shared_ptr<FakeLink> link;
    absl::StatusOr<Farm::SessionId> session;
  };

  Agent attach_from(const std::string& address, const std::string& run) {
    const DeviceInfo info{
        .id = "clone", .key = "box", .slots = {{0, 2, 0}}, .hello = hello_bytes("clone", "box")};
    Agent agent{.link = std::make_shared<FakeLink>(), .session = absl::UnknownError("")};
    agent.session = farm_->attach(info, run, agent.link, address);
    return agent;
  }
};

TEST_F(FarmSessionsTest, NewcomerIsRefusedWhileTheAgentWithItsIdAnswers) {
  const Agent first = attach_from("10.0.0.1:5001", "run 1");
  const Lease granted = lease();
  const Agent second = attach_from("10.0.0.2:5002", "run 2");
  ASSERT_TRUE(second.session.ok()) << second.session.status();
  EXPECT_FALSE(farm_->is_attached(*second.session));
  EXPECT_TRUE(first.link->closed.ok()) << first.link->closed;
  EXPECT_GT(first.link->wakes, 0);
  const std::optional<uint64_t> ping = farm_->take_ping(*first.session);
  ASSERT_TRUE(ping);
  EXPECT_FALSE(farm_->take_ping(*first.session)) << "it is asked once";
  farm_->pong(*first.session, *ping);
  EXPECT_TRUE(absl::IsAlreadyExists(second.link->closed)) << second.link->closed;
  EXPECT_THAT(std::string(second.link->closed.message()), HasSubstr("10.0.0.1:5001"));
  EXPECT_THAT(std::string(second.link->closed.message()), HasSubstr("10.0.0.2:5002"));
  farm_->detach(*second.session);
  clock_.advance(absl::Seconds(10));
  farm_->tick();
  EXPECT_TRUE(farm_->is_attached(*first.session));
  EXPECT_TRUE(farm_->renew(granted.id, granted.epoch).ok()) << "the lease is not lost";
  EXPECT_EQ(devices_of(*farm_)[0].address, "10.0.0.1:5001");
}

TEST_F(FarmSessionsTest, NewcomerTakesOverFromAnAgentThatIsSilent) {
  const Agent first = attach_from("10.0.0.1:5001", "run 1");
  const Agent second = attach_from("10.0.0.1:5002", "run 2");
  const int wakes = second.link->wakes;
  ASSERT_TRUE(farm_->tick().has_value());
  EXPECT_LE(*farm_->tick() - clock_.now(), options_.ping_grace_period);
  clock_.advance(options_.ping_grace_period);
  farm_->tick();
  EXPECT_TRUE(farm_->is_attached(*second.session));
  EXPECT_GT(second.link->wakes, wakes);
  EXPECT_TRUE(absl::IsAlreadyExists(first.link->closed)) << first.link->closed;
  EXPECT_THAT(std::string(first.link->closed.message()), HasSubstr("at 10.0.0.1:5002 took over"));
  farm_->detach(*first.session);
  EXPECT_TRUE(devices_of(*farm_)[0].online);
  EXPECT_EQ(farm_->take_desired(*second.session).size(), 1u);
}

TEST_F(FarmSessionsTest, NewcomerTakesOverAtOnceWhenTheOldConnectionEnds) {
  const Agent first = attach_from("10.0.0.1:5001", "run 1");
  const Agent second = attach_from("10.0.0.1:5002", "run 2");
  farm_->detach(*first.session);
  EXPECT_TRUE(farm_->is_attached(*second.session));
  EXPECT_TRUE(devices_of(*farm_)[0].online);
  EXPECT_EQ(devices_of(*farm_)[0].address, "10.0.0.1:5002");
  clock_.advance(options_.agent_grace * 2);
  farm_->tick();
  EXPECT_TRUE(devices_of(*farm_)[0].online);
}

TEST_F(FarmSessionsTest, AnAnswerToAnEarlierPingRefusesNoLaterNewcomer) {
  const Agent first = attach_from("10.0.0.1:5001", "run 1");
  const Agent second = attach_from("10.0.0.2:5002", "run 2");
  const std::optional<uint64_t> ping = farm_->take_ping(*first.session);
  farm_->detach(*second.session);
  const Agent third = attach_from("10.0.0.2:5003", "run 3");
  farm_->pong(*first.session, *ping);
  EXPECT_TRUE(third.link->closed.ok()) << "the agent may have died since it sent that";
  EXPECT_NE(farm_->take_ping(*first.session), ping);
}

TEST_F(FarmSessionsTest, AgentThatReconnectsWhileANewcomerWaitsIsAskedAgainAndHasTheWholeTimeToAnswer) {
  const Agent first = attach_from("10.0.0.1:5001", "run 1");
  const Agent second = attach_from("10.0.0.2:5002", "run 2");
  ASSERT_TRUE(farm_->take_ping(*first.session));
  clock_.advance(options_.ping_grace_period - absl::Milliseconds(1));
  const Agent again = attach_from("10.0.0.1:5003", "run 1");
  EXPECT_GT(again.link->wakes, 0);
  const std::optional<uint64_t> ping = farm_->take_ping(*again.session);
  ASSERT_TRUE(ping) << "the first ping may be lost with its stream";
  clock_.advance(absl::Milliseconds(1));
  farm_->tick();
  EXPECT_TRUE(farm_->is_attached(*again.session));
  EXPECT_TRUE(second.link->closed.ok()) << second.link->closed;
  farm_->pong(*again.session, *ping);
  EXPECT_TRUE(absl::IsAlreadyExists(second.link->closed)) << second.link->closed;
  EXPECT_TRUE(farm_->is_attached(*again.session));
}

TEST_F(FarmSessionsTest, ThirdAgentWithTheSameIdTriesAgainLater) {
  attach_from("10.0.0.1:5001", "run 1");
  const Agent second = attach_from("10.0.0.2:5002", "run 2");
  const Agent third = attach_from("10.0.0.3:5003", "run 3");
  EXPECT_TRUE(absl::IsUnavailable(third.session.status())) << third.session.status();
  const Agent again = attach_from("10.0.0.2:5004", "run 2");
  EXPECT_TRUE(absl::IsAborted(second.link->closed)) << "a reconnection of the second replaces it";
  EXPECT_TRUE(again.session.ok());
}

TEST_F(FarmSessionsTest, NewcomerThatGoesAgainChangesNothing) {
  const Agent first = attach_from("10.0.0.1:5001", "run 1");
  const Agent second = attach_from("10.0.0.2:5002", "run 2");
  farm_->detach(*second.session);
  clock_.advance(options_.ping_grace_period * 2);
  farm_->tick();
  EXPECT_TRUE(farm_->is_attached(*first.session));
  EXPECT_TRUE(first.link->closed.ok());
}

}  // namespace
}  // namespace tf::tracker
