// A secured farm in this process, over real connections: who is let in, and who is refused why.

#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/temporary_folder.h"
#include "device_agent/agent/agent.h"
#include "device_agent/agent/artifact_fetcher.h"
#include "device_agent/agent/facts.h"
#include "device_agent/agent/trial_runner.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/grpc_status.h"
#include "rpc/identity/access_table.h"
#include "rpc/identity/artifact_signature.h"
#include "rpc/identity/membership.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/fake_executor.h"
#include "tests/farm/harness.h"
#include "tracker/ca/member_service.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"
#include "tracker/daemon.h"

namespace tf::farm_test {
namespace {

using measure::FarmRunner;
using rpc::Credentials;
using rpc::Role;
using testing::HasSubstr;
using tunefarm::farm::v1::DeviceFacts;
using tunefarm::farm::v1::Trial;

// A farm in this process, whose CA is at hand.
class SecuredFarm : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(tracker::Authority::make(ca_, rpc::real_wall_clock().now()).ok());
    start();
  }

  void start(absl::Duration certificate_life = absl::Hours(1)) {
    daemon_ = nullptr;
    life_ = certificate_life;
    {
      // The first admin comes with the CA.
      const auto members = tracker::Members::open(ca_, rpc::real_wall_clock(), {.certificate_life = life_});
      ASSERT_TRUE(members.ok()) << members.status();
      const std::string folder = dir_.file(absl::StrCat("admin", ++admins_));
      ASSERT_TRUE(tracker::make_member(**members, folder, {rpc::Role::kAdmin, "admin"}).ok());
      admin_ = *Credentials::load(folder);
      admin_folder_ = folder;
    }
    auto daemon = tracker::Daemon::start({.listen = {"127.0.0.1", 0},
                                          .ca_folder = ca_,
                                          .members = {.certificate_life = life_},
                                          .state_path = dir_.file("tracker.db")});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }

  agent::AgentOptions options(std::shared_ptr<Credentials> credentials, const std::string& id = "") {
    const std::string device = id.empty() ? credentials->identity().name : id;
    return {.tracker = endpoint(),
            .credentials = std::move(credentials),
            .id = device,
            .state_dir = dir_.file("a")};
  }

  const rpc::Endpoint& endpoint() const { return daemon_->endpoint(); }

  absl::StatusOr<std::string> token(Role role, const std::string& name = "") {
    return tracker::request_token({endpoint(), admin_}, std::string(rpc::role_name(role)), name);
  }

  std::shared_ptr<Credentials> member(Role role, const std::string& name) {
    const auto text = token(role);
    EXPECT_TRUE(text.ok()) << text.status();
    const std::string folder = dir_.file(name);
    const auto joined =
        rpc::join_farm({.tracker = endpoint(), .token = *text, .name = name, .folder = folder});
    EXPECT_TRUE(joined.ok()) << joined.status();
    return *Credentials::load(folder);
  }

  absl::StatusOr<std::unique_ptr<FarmRunner>> connect(const std::shared_ptr<Credentials>& credentials) {
    for (int i = 0; i < 100; ++i) {
      auto runner = FarmRunner::connect({.tracker = endpoint(),
                                         .credentials = credentials,
                                         .device_key = "box",
                                         .first_wait = absl::Seconds(5)});
      if (!absl::IsNotFound(runner.status())) return runner;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return absl::NotFoundError("the agent never registered");
  }

  // One empty message to the method, whatever its kind; how the server answers.
  absl::Status call(const std::shared_ptr<grpc::Channel>& channel, std::string_view method) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(5));
    grpc::CompletionQueue queue;
    const grpc::Slice nothing(std::string{});
    const grpc::ByteBuffer request(&nothing, 1);
    const auto reader = stub.PrepareUnaryCall(&context, std::string(method), request, &queue);
    reader->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    reader->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return rpc::from_grpc(status);
  }

  std::string audit() const {
    std::string text;
    for (const std::string& line : lines_of(ca_ + "/audit.jsonl")) text += line + "\n";
    return text;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string ca_ = dir_.file("ca");
  absl::Duration life_;
  int admins_ = 0;
  std::string admin_folder_;
  std::shared_ptr<Credentials> admin_;
  std::unique_ptr<tracker::Daemon> daemon_;
};

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
}

TEST_F(SecuredFarm, AnswersNoMethodWithoutItsRole) {
  int refused = 0;
  for (const std::string& name : rpc::joinable_roles()) {
    const Role role = *rpc::parse_role(name);
    const auto channel =
        rpc::make_channel(endpoint(), member(role, absl::StrCat("m-", name)), Role::kTracker);
    for (const rpc::AccessRule& rule : rpc::access_table()) {
      if (rule.anyone || std::ranges::find(rule.roles, role) != rule.roles.end()) continue;
      const absl::Status status = call(channel, rule.method);
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << name << " calls " << rule.method << ": " << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(name, " m-", name, " may not call")));
      ++refused;
    }
    EXPECT_TRUE(absl::IsPermissionDenied(call(channel, "/tunefarm.farm.v1.Agents/Unheard")));
  }
  EXPECT_GT(refused, 80) << "the test looked at too little to mean anything";
}

TEST_F(SecuredFarm, AnswersOnlyJoiningWithoutACertificate) {
  const rpc::JoinToken token = *rpc::JoinToken::parse(*this->token(Role::kViewer));
  const auto channel = rpc::make_channel(endpoint(), rpc::joining_channel(token.ca));
  for (const rpc::AccessRule& rule : rpc::access_table()) {
    if (rule.anyone) continue;
    const absl::Status status = call(channel, rule.method);
    EXPECT_TRUE(absl::IsUnauthenticated(status)) << rule.method << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("shows no certificate"));
  }
  // Its token is none, but it was heard.
  const absl::Status join = call(channel, "/tunefarm.identity.v1.Members/Join");
  EXPECT_THAT(std::string(join.message()), HasSubstr("token is not known")) << join;
}

TEST_F(SecuredFarm, EveryRoleMayCallWhatItsRowSays) {
  const auto channel = rpc::make_channel(endpoint(), member(Role::kViewer, "vera"), Role::kTracker);
  EXPECT_TRUE(call(channel, "/tunefarm.farm.v1.Operators/ListDevices").ok());
}

TEST_F(SecuredFarm, RevokedAgentIsCutOffAndHearsWhy) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  ASSERT_TRUE(connect(member(Role::kTuner, "ada")).ok());  // it is there
  const auto serials = tracker::revoke_member({endpoint(), admin_}, "box-1");
  ASSERT_TRUE(serials.ok()) << serials.status();
  EXPECT_EQ(serials->size(), 1u);
  const absl::Status ended = agent.join();
  EXPECT_TRUE(absl::IsUnauthenticated(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("of agent box-1 is revoked"));
}

TEST_F(SecuredFarm, RevokedTunerIsCutOffInTheMiddleOfItsTrials) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  const auto runner = connect(member(Role::kTuner, "ada"));
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  ASSERT_TRUE((*runner)->run(request(trial, "candidate")).ok());
  ASSERT_TRUE(tracker::revoke_member({endpoint(), admin_}, "tuner/ada").ok());
  absl::Status refused;
  for (int i = 0; refused.ok() && i < 1000; ++i)
    refused = (*runner)->run(request(trial, absl::StrCat("next ", i))).status();
  EXPECT_TRUE(absl::IsUnauthenticated(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is revoked"));
}

TEST_F(SecuredFarm, RevocationOutlivesTheTracker) {
  const auto vera = member(Role::kViewer, "vera");
  ASSERT_TRUE(tracker::revoke_member({endpoint(), admin_}, "vera").ok());
  start();
  const auto channel = rpc::make_channel(endpoint(), vera, Role::kTracker);
  const absl::Status status = call(channel, "/tunefarm.farm.v1.Operators/ListDevices");
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
}

TEST_F(SecuredFarm, ReplayedTokenLetsNobodyIn) {
  const std::string text = *token(Role::kTuner);
  ASSERT_TRUE(rpc::join_farm({endpoint(), text, "ada", dir_.file("1")}).ok());
  const absl::Status again = rpc::join_farm({endpoint(), text, "eve", dir_.file("2")}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(again)) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("used before"));
}

TEST_F(SecuredFarm, JoinerTellsItsTokenToNoOtherFarm) {
  rpc::JoinToken token = *rpc::JoinToken::parse(*this->token(Role::kTuner));
  const std::string real = token.text();
  token.ca = sha256("another CA");
  const absl::Status status = rpc::join_farm({endpoint(), token.text(), "ada", dir_.file("1")}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(audit(), testing::Not(HasSubstr("Members/Join")));
  EXPECT_TRUE(rpc::join_farm({endpoint(), real, "ada", dir_.file("2")}).ok()) << "the token was not used";
}

TEST_F(SecuredFarm, MemberOfAnotherFarmIsRefusedByBothSides) {
  const std::string other = dir_.file("other");
  ASSERT_TRUE(tracker::Authority::make(other, rpc::real_wall_clock().now()).ok());
  const auto members = tracker::Members::open(other);
  ASSERT_TRUE(tracker::make_member(**members, dir_.file("eve"), {rpc::Role::kAdmin, "admin"}).ok());
  // She would not talk to this tracker.
  const absl::Status refused =
      call(rpc::make_channel(endpoint(), *Credentials::load(dir_.file("eve")), Role::kTracker),
           "/tunefarm.farm.v1.Operators/ListDevices");
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  // Even if she trusts it, it does not talk to her.
  ASSERT_TRUE(std::filesystem::copy_file(admin_folder_ + "/ca.pem", dir_.file("eve") + "/ca.pem",
                                         std::filesystem::copy_options::overwrite_existing));
  const absl::Status mixed = Credentials::load(dir_.file("eve")).status();
  EXPECT_TRUE(absl::IsUnauthenticated(mixed)) << mixed;
  EXPECT_THAT(std::string(mixed.message()), HasSubstr("not of this farm's CA"));
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
      call(rpc::make_channel(there, admin_, Role::kTracker), "/tunefarm.farm.v1.Operators/ListDevices");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(SecuredFarm, CertificateThatEndsEndsTheConnection) {
  start(absl::Seconds(3));
  AgentThread agent(options(member(Role::kAgent, "box-1")));  // nobody renews it
  const absl::Status ended = agent.join();
  EXPECT_TRUE(absl::IsUnauthenticated(ended)) << ended;
  const absl::Status load = Credentials::load(dir_.file("box-1")).status();
  EXPECT_TRUE(absl::IsUnauthenticated(load)) << load;
  EXPECT_THAT(std::string(load.message()), HasSubstr("join again with a new token"));
}

TEST_F(SecuredFarm, RenewedCertificateCarriesOnBeyondTheEndOfTheFirst) {
  start(absl::Seconds(24));
  const auto box = member(Role::kAgent, "box-1");
  const auto ada = member(Role::kTuner, "ada");
  const absl::Time first_end = std::max(box->certificate().not_after(), ada->certificate().not_after());
  const rpc::MembershipKeeper keep_box(box, endpoint());
  const rpc::MembershipKeeper keep_ada(ada, endpoint());
  AgentThread agent(options(box));
  const auto runner = connect(ada);
  ASSERT_TRUE(runner.ok()) << runner.status();
  for (int i = 0; rpc::real_wall_clock().now() < first_end + absl::Seconds(3); ++i) {
    const Trial trial;
    const auto result = (*runner)->run(request(trial, absl::StrCat("candidate ", i)));
    ASSERT_TRUE(result.ok()) << result.status();
    (*runner)->acknowledge(*result);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_GT(box->certificate().not_after(), first_end);
}

TEST_F(SecuredFarm, SpeaksNoTlsBefore13) {
  const auto handshake = [&](int version) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                    SSL_CTX_free);
    SSL_CTX_set_max_proto_version(context.get(), version);
    const unsigned char h2[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context.get(), h2, sizeof h2);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint().port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
    SSL_set_fd(ssl.get(), fd);
    const bool done = SSL_connect(ssl.get()) == 1;
    close(fd);
    return done;
  };
  EXPECT_TRUE(handshake(TLS1_3_VERSION));
  EXPECT_FALSE(handshake(TLS1_2_VERSION));
}

TEST_F(SecuredFarm, AgentLoadsNothingThatNobodyHasSigned) {
  rpc::ArtifactVerifier verifier(member(Role::kAgent, "box-1"));
  FakeExecutor executor(std::chrono::milliseconds(0), dir_.file("runs"));
  agent::ArtifactFetcher fetcher(nullptr, *rpc::ArtifactStore::open(dir_.file("cache"), 1 << 20));
  Trial trial;
  trial.set_artifact_digest(sha256("candidate").hex());
  const agent::StartedTrial started{.lease = {"l", 1}, .trial = {1, trial.SerializeAsString()}};
  tunefarm::farm::v1::MeasureReply reply;
  ASSERT_TRUE(reply.ParseFromString(*agent::measure(started, fetcher, executor, &verifier)));
  EXPECT_EQ(reply.failure().kind(), tunefarm::farm::v1::FAILURE_KIND_REFUSED);
  EXPECT_THAT(reply.failure().message(), HasSubstr("nobody has signed it"));
  EXPECT_TRUE(lines_of(dir_.file("runs")).empty());
}

TEST_F(SecuredFarm, AuditLogTellsWhoDidWhat) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  const auto ada = member(Role::kTuner, "ada");
  ASSERT_TRUE(connect(ada).ok());
  const auto channel = rpc::make_channel(endpoint(), ada, Role::kTracker);
  EXPECT_TRUE(absl::IsPermissionDenied(call(channel, "/tunefarm.farm.v1.Operators/ForceRelease")));
  ASSERT_TRUE(tracker::revoke_member({endpoint(), admin_}, "ada").ok());
  daemon_ = nullptr;  // all of it is on the disk
  const std::string text = audit();
  for (const char* part :
       {"\"method\":\"Members/IssueToken\",\"object\":\"\",\"outcome\":\"OK\"", "\"who\":\"admin admin\"",
        "\"method\":\"Members/Join\"", "\"who\":\"agent box-1\"",
        "\"method\":\"Tuners/AcquireLease\",\"object\":\"box\",\"outcome\":\"OK\"",
        "\"method\":\"Operators/ForceRelease\"", "PERMISSION_DENIED", "\"who\":\"tuner ada\"",
        "\"method\":\"Members/Revoke\",\"object\":\"ada\",\"outcome\":\"OK\""}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace tf::farm_test
