// Who is let in to a secured farm, and who is refused why.

#include <algorithm>
#include <filesystem>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/access_table.h"
#include "rpc/access/audit_log.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/connection/server.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/secured_farm.h"
#include "tests/farm/tls_handshake.h"

namespace tf::farm_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using tunefarm::farm::v1::Trial;

TEST_F(SecuredFarm, MeasuresASignedTrial) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  EXPECT_EQ(agent.agent().id(), "box-1") << "its certificate names it";
  const auto runner = connect(member(Role::kTuner, "ada"));
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_EQ((*runner)->leased_device().device_id, "box-1");
  for (int i = 0; i < 20; ++i) {
    const Trial trial;
    const auto result = (*runner)->run(request(trial, absl::StrCat("candidate ", i), "reference"));
    ASSERT_TRUE(result.ok()) << result.status();
    (*runner)->acknowledge(*result);
  }
}

TEST_F(SecuredFarm, AnswersNobodyInPlainText) {
  const auto runner = FarmRunner::connect(
      {.tracker = endpoint(), .device_key = "box", .first_wait = absl::Milliseconds(100)});
  EXPECT_TRUE(absl::IsUnavailable(runner.status())) << runner.status();
  EXPECT_THAT(std::string(runner.status().message()), HasSubstr("requires TLS"));
}

TEST_F(SecuredFarm, MemberOfItHearsThatAnotherTrackerSpeaksPlainText) {
  const auto plain =
      tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir_.file("plain.db")});
  ASSERT_TRUE(plain.ok()) << plain.status();
  const absl::Status status = tracker::revoke_member({(*plain)->endpoint(), admin_}, "ada").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("does not speak TLS, so it is not a tracker of a secured farm: compare the port"));
}

TEST_F(SecuredFarm, CallerOfAnotherMembersPortHearsWhoIsThereAndWhichPortsToCompare) {
  const auto channel = rpc::make_channel(endpoint(), member(Role::kViewer, "eve"), Role::kTuner);
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(10));
  tunefarm::farm::v1::Description reply;
  const absl::Status status =
      rpc::from_grpc(tunefarm::farm::v1::Agents::NewStub(channel)->Describe(&context, {}, &reply), "tuner",
                     endpoint(), true);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("the server at ", endpoint().text(),
                                     " is the tracker tracker, not a tuner: compare the "
                                     "port with that of `tuner serve --listen`")));
}

TEST_F(SecuredFarm, AnswersNoMethodWithoutItsRole) {
  int refused = 0;
  for (const std::string& name : rpc::joinable_roles()) {
    const Role role = *rpc::parse_role(name);
    const auto channel =
        rpc::make_channel(endpoint(), member(role, absl::StrCat("m-", name)), Role::kTracker);
    for (const rpc::AccessRule& rule : rpc::access_table()) {
      if (rule.anyone || std::ranges::find(rule.roles, role) != rule.roles.end()) continue;
      const absl::Status status = call(channel, rule.method).status();
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << name << " calls " << rule.method << ": " << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(name, " m-", name, " may not call")));
      ++refused;
    }
    EXPECT_TRUE(absl::IsPermissionDenied(call(channel, "/tunefarm.farm.v1.Agents/Unheard").status()));
  }
  EXPECT_GT(refused, 80) << "the test looked at too little to mean anything";
}

TEST_F(SecuredFarm, AnswersOnlyJoiningWithoutACertificate) {
  const rpc::JoinToken token = *rpc::JoinToken::parse(*this->token(Role::kViewer));
  const auto channel = rpc::make_channel(endpoint(), rpc::joining_channel(token.ca));
  for (const rpc::AccessRule& rule : rpc::access_table()) {
    if (rule.anyone) continue;
    const absl::Status status = call(channel, rule.method).status();
    EXPECT_TRUE(absl::IsUnauthenticated(status)) << rule.method << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("shows no certificate"));
  }
  // Its token is none, but it was heard.
  const absl::Status join = call(channel, "/tunefarm.identity.v1.Members/Join").status();
  EXPECT_THAT(std::string(join.message()), HasSubstr("token is unknown")) << join;
}

// An empty message mostly is a mistake, and some methods are another server's: but never is it the caller
// who is refused.
TEST_F(SecuredFarm, EveryRoleMayCallWhatItsRowSays) {
  int answered = 0;
  for (const std::string& name : rpc::joinable_roles()) {
    const Role role = *rpc::parse_role(name);
    const auto channel =
        rpc::make_channel(endpoint(), member(role, absl::StrCat("m-", name)), Role::kTracker);
    for (const rpc::AccessRule& rule : rpc::access_table()) {
      if (rule.method.ends_with("/Watch")) continue;  // has no end
      if (!rule.anyone && std::ranges::find(rule.roles, role) == rule.roles.end()) continue;
      const absl::Status status = call(channel, rule.method).status();
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("may not call")))
          << name << " calls " << rule.method;
      const bool is_join = rule.method.ends_with("/Join");  // refuses tokens in the same words
      EXPECT_TRUE(is_join || !absl::IsUnauthenticated(status))
          << name << " calls " << rule.method << ": " << status;
      EXPECT_FALSE(absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status))
          << rule.method << ": " << status;
      if (status.ok()) ++answered;
    }
  }
  EXPECT_GT(answered, 10) << "the test looked at too little to mean anything";
}

class ReflectingFarm : public SecuredFarm {
 protected:
  ReflectingFarm() { rpc::serve_reflection(); }
};

TEST_F(ReflectingFarm, HealthIsForEveryMemberAndReflectionForPeople) {
  for (const std::string& name : rpc::joinable_roles()) {
    const Role role = *rpc::parse_role(name);
    const auto channel =
        rpc::make_channel(endpoint(), member(role, absl::StrCat("m-", name)), Role::kTracker);
    const absl::Status health = call(channel, "/grpc.health.v1.Health/Check").status();
    EXPECT_TRUE(health.ok()) << name << ": " << health;
    const absl::Status reflection =
        call(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo").status();
    EXPECT_EQ(absl::IsPermissionDenied(reflection), role == Role::kAgent) << name << ": " << reflection;
    EXPECT_EQ(reflection.ok(), role != Role::kAgent) << name << ": " << reflection;
  }
}

TEST_F(SecuredFarm, MemberOfAnotherFarmIsRefusedByBothSides) {
  const std::string other = dir_.file("other");
  ASSERT_TRUE(tracker::Authority::make(other, rpc::real_wall_clock().now()).ok());
  const auto members = tracker::Members::open(other);
  ASSERT_TRUE(tracker::make_member(**members, dir_.file("eve"), {rpc::Role::kAdmin, "admin"}).ok());
  // She would not talk to this tracker.
  const absl::Status refused =
      call(rpc::make_channel(endpoint(), *Credentials::load(dir_.file("eve")), Role::kTracker),
           "/tunefarm.farm.v1.Operators/ListDevices")
          .status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  // Even if she trusts it, it does not talk to her.
  ASSERT_TRUE(std::filesystem::copy_file(admin_folder_ + "/ca.pem", dir_.file("eve") + "/ca.pem",
                                         std::filesystem::copy_options::overwrite_existing));
  const absl::Status mixed = Credentials::load(dir_.file("eve")).status();
  EXPECT_TRUE(absl::IsUnauthenticated(mixed)) << mixed;
  EXPECT_THAT(std::string(mixed.message()), HasSubstr("not issued by this farm's CA"));
}

TEST_F(SecuredFarm, AgentIsNoOtherDeviceThanItsCertificateNames) {
  AgentThread agent(options(member(Role::kAgent, "box-1"), "box-2"));
  const absl::Status ended = agent.join();
  EXPECT_TRUE(absl::IsPermissionDenied(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("agent box-1 may not be the device box-2"));
}

TEST_F(SecuredFarm, AgentCannotPassForTheTracker) {
  const auto agent = member(Role::kAgent, "box-1");
  const rpc::Endpoint there = free_endpoint();
  grpc::ServerBuilder builder;
  tunefarm::farm::v1::Operators::Service service;
  builder.RegisterService(&service);
  builder.AddListeningPort(there.text(), agent->server());
  const auto server = builder.BuildAndStart();
  const absl::Status status =
      call(rpc::make_channel(there, admin_, Role::kTracker), "/tunefarm.farm.v1.Operators/ListDevices")
          .status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(SecuredFarm, SpeaksNoTlsBefore13) {
  EXPECT_TRUE(handshake(endpoint(), TLS1_3_VERSION));
  EXPECT_FALSE(handshake(endpoint(), TLS1_2_VERSION));
}

TEST_F(SecuredFarm, AuditLogTellsWhoDidWhat) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  const auto ada = member(Role::kTuner, "ada");
  ASSERT_TRUE(connect(ada).ok());
  EXPECT_TRUE(absl::IsNotFound(FarmRunner::connect({.tracker = endpoint(),
                                                    .credentials = ada,
                                                    .device_key = "nowhere",
                                                    .first_wait = absl::Milliseconds(1)})
                                   .status()));
  const auto channel = rpc::make_channel(endpoint(), ada, Role::kTracker);
  EXPECT_TRUE(absl::IsPermissionDenied(call(channel, "/tunefarm.farm.v1.Operators/ForceRelease").status()));
  ASSERT_TRUE(tracker::revoke_member({endpoint(), admin_}, "ada").ok());
  daemon_ = nullptr;  // all of it is on the disk
  const std::string text = audit();
  for (const char* part :
       {"\"method\":\"Members/IssueToken\"", " agent\",\"outcome\":\"OK\"", "\"who\":\"admin admin\"",
        "\"method\":\"Members/Join\"", "\"who\":\"agent box-1\"",
        "\"method\":\"Tuners/AcquireLease\",\"object\":\"box\",\"outcome\":\"OK\"",
        "\"method\":\"Operators/ForceRelease\"", "PERMISSION_DENIED", "\"who\":\"tuner ada\"",
        "\"method\":\"Members/Revoke\",\"object\":\"ada\",\"outcome\":\"OK\""}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("nowhere"))) << "only grants change something";
}

TEST_F(SecuredFarm, AuditLogSaysOfAnOutcomeWhatWasAnswered) {
  const std::string path = dir_.file("audited.jsonl");
  {
    const auto log = rpc::AuditLog::open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    rpc::CallGuard guard(rpc::real_wall_clock(), log->get());
    tunefarm::farm::v1::Operators::Service nothing;
    const auto server =
        rpc::Server::start({"127.0.0.1", 0}, {&nothing}, {member(Role::kTuner, "ada"), &guard});
    ASSERT_TRUE(server.ok()) << server.status();
    const auto channel = rpc::make_channel((*server)->endpoint(), admin_, Role::kTuner);
    const absl::Status status = call(channel, "/tunefarm.farm.v1.Operators/SetAdmission").status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  }
  const std::vector<std::string> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("\"outcome\":\"UNIMPLEMENTED\"")) << "not what a caller makes of it";
}

}  // namespace
}  // namespace tf::farm_test
