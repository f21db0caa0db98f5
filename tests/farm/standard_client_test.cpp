// What programs that know nothing of our roles make of the farm's certificates: they check a server by its
// host.

#include "base/files/file.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/identity/identity_folder.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/secured_farm.h"

namespace tf::farm_test {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

class StandardClient : public SecuredFarm {
 protected:
  void SetUp() override {
    SecuredFarm::SetUp();
    viewer_ = member(Role::kViewer, "probe")->folder();
  }

  // As `grpc_health_probe -tls` with that member's files asks.
  absl::Status health(const rpc::Endpoint& server) const {
    const rpc::IdentityFiles files = rpc::identity_files(viewer_);
    const auto credentials = grpc::SslCredentials({.pem_root_certs = *read_file(files.ca),
                                                   .pem_private_key = *read_file(files.key),
                                                   .pem_cert_chain = *read_file(files.certificate)});
    return call(grpc::CreateChannel(server.text(), credentials), "/grpc.health.v1.Health/Check").status();
  }

  std::shared_ptr<Credentials> member_at(Role role, const std::string& name, const std::string& host) {
    const auto token =
        tracker::request_token({endpoint(), admin_}, {.role = role, .name = name, .hosts = {host}});
    EXPECT_TRUE(token.ok()) << token.status();
    EXPECT_THAT(token->tracker_hosts, Contains(host)) << "the admin is told whose name that is here";
    const std::string folder = dir_.file(name);
    const auto joined =
        rpc::join_farm({.tracker = endpoint(), .token = token->text, .name = name, .folder = folder});
    EXPECT_TRUE(joined.ok()) << joined.status();
    return *Credentials::load(folder);
  }

  std::string viewer_;
};

TEST_F(StandardClient, VerifiesTheTrackerByItsHost) {
  EXPECT_TRUE(health(endpoint()).ok()) << health(endpoint());
  EXPECT_TRUE(health({"localhost", endpoint().port}).ok()) << health({"localhost", endpoint().port});
}

TEST_F(StandardClient, TrackersCertificateNamesNoUnspecifiedAddress) {
  daemon_ = nullptr;
  auto daemon = tracker::Daemon::start({.listen = {"0.0.0.0", 0},
                                        .ca_folder = ca_,
                                        .members = {.certificate_life = life_},
                                        .advertise = {"Farm.Example.org"},
                                        .state_path = dir_.file("any.db")});
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  daemon_ = *std::move(daemon);
  const std::vector<std::string> hosts =
      rpc::load_member(ca_ + "/tracker", rpc::real_wall_clock().now())->certificate.hosts();
  EXPECT_THAT(hosts, Not(Contains("0.0.0.0")));
  for (const char* host : {"farm.example.org", "localhost", "127.0.0.1"}) EXPECT_THAT(hosts, Contains(host));
  const rpc::Endpoint here{"127.0.0.1", endpoint().port};
  EXPECT_TRUE(health(here).ok()) << health(here);
}

TEST_F(StandardClient, VerifiesAnAgentByTheHostOfItsTokenAndStillAfterRenewal) {
  const auto credentials = member_at(Role::kAgent, "box-1", "127.0.0.1");
  const auto again = rpc::Certificate::from_der(credentials->certificate().der());
  EXPECT_THAT(again->hosts(), testing::ElementsAre("127.0.0.1"));
  AgentThread agent(listening(credentials));
  EXPECT_TRUE(health(*agent.agent().endpoint()).ok()) << health(*agent.agent().endpoint());
}

TEST_F(StandardClient, TakesNoMemberForAHostThatNobodyGaveIt) {
  const auto credentials = member(Role::kAgent, "box-1");
  EXPECT_THAT(credentials->certificate().hosts(), IsEmpty()) << "the loopback address is every machine's";
  AgentThread agent(listening(credentials));
  const absl::Status refused = health(*agent.agent().endpoint());
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
}

TEST_F(StandardClient, FleetTokenLetsInManyAndEachUseIsAudited) {
  const auto token = tracker::request_token(
      {endpoint(), admin_},
      {.role = Role::kAgent, .name_pattern = "rack1-*", .uses = 2, .life = absl::Hours(24)});
  ASSERT_TRUE(token.ok()) << token.status();
  const auto join = [&](const std::string& name) {
    return rpc::join_farm(
               {.tracker = endpoint(), .token = token->text, .name = name, .folder = dir_.file(name)})
        .status();
  };
  EXPECT_TRUE(absl::IsInvalidArgument(join("rack2-1"))) << "another rack";
  EXPECT_TRUE(join("rack1-1").ok());
  const auto listed = tracker::render_tokens({endpoint(), admin_}, tracker::MembersFormat::kTable);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_THAT(*listed, testing::HasSubstr(token->id));
  EXPECT_THAT(*listed, testing::HasSubstr("1 of 2"));
  EXPECT_TRUE(join("rack1-2").ok());
  EXPECT_TRUE(absl::IsUnauthenticated(join("rack1-3"))) << "it is used up";
  const auto second = tracker::request_token({endpoint(), admin_}, {.role = Role::kAgent, .uses = 2});
  EXPECT_TRUE(tracker::revoke_token({endpoint(), admin_}, second->id).ok());
  EXPECT_EQ(*tracker::render_tokens({endpoint(), admin_}, tracker::MembersFormat::kTable), "");
  daemon_ = nullptr;  // all of the log is on the disk
  const std::string log = audit();
  EXPECT_THAT(log, testing::HasSubstr("by token " + token->id + "\",\"outcome\":\"OK\""));
  EXPECT_THAT(log,
              testing::HasSubstr("\"method\":\"Members/RevokeToken\",\"object\":\"" + second->id + "\""));
}

}  // namespace
}  // namespace tf::farm_test
