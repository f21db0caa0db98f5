// Tokens for several members, and the hosts that certificates carry.

#include "base/files/temporary_folder.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/tracker/prepared_grpc.h"
#include "tracker/ca/members.h"

namespace tf::tracker {
namespace {

using rpc::Certificate;
using rpc::JoinToken;
using rpc::KeyPair;
using rpc::Role;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JoinTokensTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Authority::make(folder_, clock_.now()).ok());
    open();
  }

  void open() {
    members_ = nullptr;
    auto members =
        Members::open(folder_, clock_, {.tracker_hosts = {"farm.example.org", "10.0.0.1", "127.0.0.1"}});
    ASSERT_TRUE(members.ok()) << members.status();
    members_ = *std::move(members);
  }

  std::string request() const { return rpc::make_certificate_request(key_, "asked"); }

  absl::StatusOr<Certificate> join(const TokenOptions& options, const Joiner& joiner) {
    const absl::StatusOr<JoinToken> token = members_->issue_token(options);
    if (!token.ok()) return token.status();
    return members_->join(token->secret, request(), joiner);
  }

  std::string refusal(const TokenOptions& options) {
    const absl::Status refused = members_->issue_token(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    return std::string(refused.message());
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string folder_ = dir_.file("ca");
  const KeyPair key_ = *KeyPair::generate();
  rpc::FakeWallClock clock_;
  std::unique_ptr<Members> members_;
};

TEST_F(JoinTokensTest, FleetTokenLetsInAsManyAsItSaysAndNoMore) {
  const JoinToken token = *members_->issue_token({.role = Role::kAgent, .uses = 3, .life = absl::Hours(24)});
  for (const char* name : {"a", "b"})
    EXPECT_TRUE(members_->join(token.secret, request(), {.name = name}).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(members_->join(token.secret, request(), {.name = "a"}).status()))
      << "that uses up nothing";
  ASSERT_EQ(members_->tokens()->size(), 1u);
  EXPECT_EQ(members_->tokens()->front().token.used, 2u);
  open();  // remembered
  clock_.advance(absl::Hours(23));
  EXPECT_TRUE(members_->join(token.secret, request(), {.name = "c"}).ok());
  const absl::Status fourth = members_->join(token.secret, request(), {.name = "d"}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(fourth)) << fourth;
  EXPECT_THAT(std::string(fourth.message()), HasSubstr("was used 3 times, which is its limit"));
  EXPECT_THAT(*members_->tokens(), IsEmpty());
}

TEST_F(JoinTokensTest, TokenExpiresAtItsOwnTime) {
  const JoinToken token = *members_->issue_token({.role = Role::kAgent, .uses = 3, .life = absl::Hours(24)});
  const JoinToken usual = *members_->issue_token({.role = Role::kAgent});
  clock_.advance(absl::Minutes(15));
  EXPECT_THAT(std::string(members_->join(usual.secret, request(), {.name = "a"}).status().message()),
              HasSubstr("has expired"));
  EXPECT_TRUE(members_->join(token.secret, request(), {.name = "a"}).ok());
  clock_.advance(absl::Hours(24));
  EXPECT_THAT(std::string(members_->join(token.secret, request(), {.name = "b"}).status().message()),
              HasSubstr("has expired"));
  EXPECT_THAT(*members_->tokens(), IsEmpty());
}

TEST_F(JoinTokensTest, RevokedTokenLetsInNobodyElseAndItsMembersStay) {
  const JoinToken token = *members_->issue_token({.role = Role::kAgent, .uses = 3});
  const auto first = members_->join(token.secret, request(), {.name = "a"});
  ASSERT_TRUE(first.ok());
  const std::string id = token_id(token.digest());
  ASSERT_EQ(members_->tokens()->front().id, id);
  EXPECT_TRUE(members_->revoke_token(id).ok());
  const absl::Status refused = members_->join(token.secret, request(), {.name = "b"}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("was revoked"));
  EXPECT_TRUE(members_->renew(*first, request()).ok());
  EXPECT_THAT(*members_->tokens(), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(members_->revoke_token(id)));
  EXPECT_TRUE(absl::IsNotFound(members_->revoke_token("0123456789ab")));
}

TEST_F(JoinTokensTest, NameMustMatchTheTokensPattern) {
  const JoinToken token =
      *members_->issue_token({.role = Role::kAgent, .name_pattern = "rack1-*-pi", .uses = 9});
  for (const char* name : {"rack1-7-pi", "rack1-a-b-pi", "rack1--pi"})
    EXPECT_TRUE(members_->join(token.secret, request(), {.name = name}).ok()) << name;
  for (const char* name : {"rack1-7", "rack2-7-pi", "rack1-pi", "x", "xrack1-7-pi"}) {
    const absl::Status refused = members_->join(token.secret, request(), {.name = name}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << name << ": " << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("for names like rack1-*-pi"));
  }
  EXPECT_EQ(members_->tokens()->front().token.used, 3u);
}

TEST_F(JoinTokensTest, BoundsAreTold) {
  EXPECT_THAT(refusal({.role = Role::kAgent, .uses = 1001}), HasSubstr("1 to 1000"));
  EXPECT_THAT(refusal({.role = Role::kAgent, .uses = 0}), HasSubstr("1 to 1000"));
  EXPECT_THAT(refusal({.role = Role::kAgent, .life = absl::Hours(24 * 8)}), HasSubstr("at most 168h"));
  EXPECT_THAT(refusal({.role = Role::kAdmin, .uses = 2}), HasSubstr("admits one member"));
  EXPECT_THAT(refusal({.role = Role::kDeviceOwner, .uses = 2}), HasSubstr("admits one member"));
  EXPECT_THAT(refusal({.role = Role::kAgent, .name = "a", .uses = 2}), HasSubstr("several members"));
  EXPECT_THAT(refusal({.role = Role::kAgent, .uses = 2, .hosts = {"a.lab"}}), HasSubstr("several members"));
  EXPECT_THAT(refusal({.role = Role::kAgent, .name = "a", .name_pattern = "a*"}), HasSubstr("not both"));
  EXPECT_THAT(refusal({.role = Role::kAgent, .name_pattern = "a b*"}), HasSubstr("is not valid"));
  EXPECT_THAT(refusal({.role = Role::kUser, .hosts = {"a.lab"}}), HasSubstr("no program connects to a user"));
  EXPECT_THAT(refusal({.role = Role::kAgent, .hosts = {"*.lab"}}), HasSubstr("is not a host"));
}

TEST_F(JoinTokensTest, CertificateCarriesTheTokensHostsAndTheAddressOfTheJoinerAlsoWhenRenewed) {
  const auto certificate = join({.role = Role::kTuner, .hosts = {"Tuner.Lab", "192.168.7.7"}},
                                {.name = "t", .address = "10.0.0.9"});
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_THAT(certificate->hosts(), ElementsAre("tuner.lab", "192.168.7.7", "10.0.0.9"));
  EXPECT_EQ(certificate->identity()->uri(), "tunefarm://tuner/t");
  open();
  const auto renewed = members_->renew(*certificate, request(), "10.0.0.9");
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_THAT(renewed->hosts(), ElementsAre("tuner.lab", "192.168.7.7", "10.0.0.9"));
  const auto moved = members_->renew(*renewed, request(), "10.0.0.10");
  EXPECT_THAT(moved->hosts(), ElementsAre("tuner.lab", "192.168.7.7", "10.0.0.10"))
      << "its old address may be another machine's by now";
}

TEST_F(JoinTokensTest, AskingForAnAddressDoesNotGiveIt) {
  const auto of_tracker = join({.role = Role::kAgent}, {.name = "a", .address = "10.0.0.1"});
  EXPECT_THAT(of_tracker->hosts(), IsEmpty()) << "the tracker's own";
  for (const char* address : {"127.0.0.1", "::1", "169.254.0.3", "fe80::1", "", "localhost"}) {
    const auto shared = join({.role = Role::kAgent}, {.name = "b", .address = address});
    ASSERT_TRUE(shared.ok()) << shared.status();
    EXPECT_THAT(shared->hosts(), IsEmpty()) << address;
    ASSERT_TRUE(members_->revoke("agent/b").ok());
  }
  EXPECT_THAT(join({.role = Role::kUser}, {.name = "c", .address = "10.0.0.9"})->hosts(), IsEmpty())
      << "no program connects to a person";
}

TEST_F(JoinTokensTest, AddressOfOneMemberIsNotGivenToAnother) {
  const auto first = join({.role = Role::kTuner}, {.name = "t", .address = "10.0.0.9"});
  EXPECT_THAT(first->hosts(), ElementsAre("10.0.0.9"));
  const auto second = join({.role = Role::kAgent}, {.name = "a", .address = "10.0.0.9"});
  EXPECT_THAT(second->hosts(), IsEmpty());
  open();
  EXPECT_THAT(members_->renew(*second, request(), "10.0.0.9")->hosts(), IsEmpty());
  EXPECT_THAT(members_->renew(*first, request(), "10.0.0.9")->hosts(), ElementsAre("10.0.0.9"));
  ASSERT_TRUE(members_->revoke("tuner/t").ok());
  EXPECT_THAT(members_->renew(*second, request(), "10.0.0.9")->hosts(), ElementsAre("10.0.0.9"))
      << "its holder is no member any more";
}

TEST_F(JoinTokensTest, AnAdminIsToldThatAHostIsTheTrackers) {
  EXPECT_THAT(members_->tracker_hosts_among({"Farm.example.org", "other.example.org"}),
              ElementsAre("farm.example.org"));
}

}  // namespace
}  // namespace tf::tracker
