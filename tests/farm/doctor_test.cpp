// What the doctors of agent and tuner share, against trackers good and strange.

#include "rpc/doctor/doctor.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "tests/farm/secured_farm.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;
using testing::HasSubstr;

class Doctor : public SecuredFarm {
 protected:
  static Check examine(const std::shared_ptr<Credentials>& credentials, absl::Time now,
                       Health otherwise = Health::kFailed) {
    return rpc::examine_certificate(
        credentials, {.role = Role::kAgent, .why = "only an agent may", .otherwise = otherwise}, now);
  }
};

TEST_F(Doctor, CertificateIsGoodUntilItShouldHaveBeenRenewed) {
  const auto box = member(Role::kAgent, "box");
  const absl::Time renew_at = box->certificate().renew_at();
  const Check fresh = examine(box, renew_at - absl::Seconds(1));
  EXPECT_EQ(fresh.health, Health::kGood);
  EXPECT_THAT(fresh.detail, HasSubstr("of agent box, until 20"));
  const Check old = examine(box, renew_at);
  EXPECT_EQ(old.health, Health::kWeak);
  EXPECT_THAT(old.remedy, HasSubstr("its renewal was due at 20"));
  EXPECT_THAT(old.remedy, HasSubstr("`device_agent join` again"));
}

TEST_F(Doctor, CertificateOfAnotherRoleIsOfNoUse) {
  const auto eve = member(Role::kViewer, "eve");
  const Check failed = examine(eve, absl::Now());
  EXPECT_EQ(failed.health, Health::kFailed);
  EXPECT_THAT(failed.detail, HasSubstr("of viewer eve"));
  EXPECT_THAT(failed.remedy,
              HasSubstr("only an agent may: ask an admin to run `tracker ca token --role agent`"));
  EXPECT_EQ(examine(eve, absl::Now(), Health::kWeak).health, Health::kWeak);
}

TEST_F(Doctor, DaemonDoesNotStartWithACertificateOfAnotherRole) {
  const auto eve = member(Role::kViewer, "eve");
  const absl::Status refused = rpc::require_role(eve, Role::kTuner, "only a tuner may");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr("/eve belongs to viewer eve, but only a tuner may: ask an admin to run `tracker ca token "
                "--role tuner`, then `tuner join` into another folder"));
  EXPECT_TRUE(rpc::require_role(eve, Role::kViewer, "").ok());
  EXPECT_TRUE(rpc::require_role(nullptr, Role::kTuner, "").ok()) << "plain text";
}

TEST_F(Doctor, CertificateThatCannotBeLoadedSaysWhy) {
  const Check none = rpc::examine_certificate(Credentials::load(dir_.file("none")), {}, absl::Now());
  EXPECT_EQ(none.health, Health::kFailed);
  EXPECT_THAT(none.detail, HasSubstr("none does not exist"));
  EXPECT_THAT(none.remedy, HasSubstr("device_agent join"));
}

TEST_F(Doctor, TrackerTellsItsProtocolAndItsClock) {
  const auto checks = rpc::examine_tracker(endpoint(), member(Role::kViewer, "eve"), "this program");
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(exit_code_of(checks), 0) << checks_json(checks);
  EXPECT_THAT(checks[0].detail, HasSubstr("responds at " + endpoint().text()));
  EXPECT_EQ(checks[1].what, "protocol");
  EXPECT_EQ(checks[2].what, "clock");
  EXPECT_EQ(checks[2].health, Health::kGood) << "it is this machine's";
}

TEST_F(Doctor, RevokedMemberIsToldThatAndOneThingToDo) {
  const auto box = member(Role::kAgent, "box");
  ASSERT_TRUE(tracker::revoke_member({endpoint(), admin_}, "agent/box").ok());
  const auto checks = rpc::examine_tracker(endpoint(), box, "this agent");
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].health, Health::kFailed);
  EXPECT_THAT(checks[0].detail, testing::EndsWith(" of agent box is revoked"));
  EXPECT_EQ(checks[0].remedy, "join again with a new token into another folder");
}

TEST_F(Doctor, PortOfAnotherMemberIsNoTrackers) {
  pb::Agents::Service service;
  rpc::CallGuard guard;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&service}, {member(Role::kTuner, "ada"), &guard});
  ASSERT_TRUE(server.ok()) << server.status();
  const rpc::Endpoint& port = (*server)->endpoint();
  const auto checks = rpc::examine_tracker(port, member(Role::kViewer, "eve"), "this program");
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].health, Health::kFailed);
  EXPECT_EQ(checks[0].detail,
            absl::StrCat("the server at ", port.text(), " is the tuner ada, not a tracker"));
  EXPECT_THAT(checks[0].remedy, HasSubstr("compare the port with that of `tracker serve --listen`"));
}

// Another version, and a clock that is an hour ahead.
class StrangeTracker final : public pb::Agents::Service {
 public:
  grpc::Status Describe(grpc::ServerContext*, const pb::DescribeRequest*, pb::Description* reply) override {
    reply->set_protocol_version(rpc::kProtocolVersion + 1);
    reply->set_unix_time_ns(absl::ToUnixNanos(absl::Now() + absl::Hours(1)));
    return grpc::Status::OK;
  }
};

TEST(DoctorInPlainText, SaysWhatIsStrangeOfATrackerAndWhatToDo) {
  StrangeTracker tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto checks = rpc::examine_tracker((*server)->endpoint(), nullptr, "this program");
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks[1].health, Health::kFailed);
  EXPECT_THAT(checks[1].detail, HasSubstr("uses version"));
  EXPECT_EQ(checks[1].remedy, "upgrade the older of the two");
  EXPECT_EQ(checks[2].health, Health::kWeak);
  EXPECT_THAT(checks[2].remedy, HasSubstr("NTP"));
}

TEST(DoctorInPlainText, SaysThatNobodyAnswersOrMay) {
  for (const rpc::Endpoint& tracker : {free_endpoint(), rpc::Endpoint{"192.0.2.1", 7190}}) {
    const auto checks = rpc::examine_tracker(tracker, nullptr, "this program");
    ASSERT_EQ(checks.size(), 1u);
    EXPECT_EQ(checks[0].health, Health::kFailed);
    EXPECT_THAT(checks[0].detail, HasSubstr(tracker.text()));
    EXPECT_THAT(checks[0].remedy, testing::Not(testing::IsEmpty()));
  }
}

TEST(DoctorInPlainText, LooksWhetherAPortIsFree) {
  pb::Agents::Service service;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(rpc::examine_listen(free_endpoint(), "--listen", false).detail, HasSubstr("is free"));
  const Check used = rpc::examine_listen((*server)->endpoint(), "--listen", false);
  EXPECT_EQ(used.health, Health::kWeak) << "who uses it is not known";
  EXPECT_THAT(used.detail, HasSubstr("is in use"));
  EXPECT_THAT(used.remedy, HasSubstr("choose another HOST:PORT of this machine for --listen"));
  const Check open = rpc::examine_listen({"0.0.0.0", 7190}, "--listen", false);
  EXPECT_EQ(open.health, Health::kFailed);
  EXPECT_THAT(open.detail, HasSubstr("--listen"));
  EXPECT_THAT(open.remedy, HasSubstr("give --tls DIR"));
}

}  // namespace
}  // namespace tf::farm_test
