#include "rpc/identity/identity.h"

#include <google/protobuf/descriptor.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.pb.h"
#include "proto/identity/v1/identity.pb.h"
#include "proto/tune/v1/report.pb.h"
#include "proto/tune/v1/token.pb.h"
#include "proto/tune/v1/tune.pb.h"
#include "rpc/access/access_table.h"
#include "rpc/clock.h"
#include "rpc/identity/certificate.h"
#include "rpc/identity/identity_folder.h"
#include "rpc/identity/join_token.h"

namespace tf::rpc {
namespace {

using testing::HasSubstr;

TEST(Identity, RoundTripsThroughItsUri) {
  for (const std::string& role : joinable_roles()) {
    const Identity identity{*parse_role(role), "box-1.lab"};
    const absl::StatusOr<Identity> parsed = parse_identity_uri(identity.uri());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, identity);
  }
}

TEST(Identity, EveryRoleThatATokenGivesIsOfOneJoinCommand) {
  EXPECT_THAT(roles_joining_by("device_agent"), testing::ElementsAre("agent"));
  std::vector<std::string> all = roles_joining_by("tuner");
  EXPECT_THAT(all, testing::Not(testing::Contains("agent")));
  all.emplace_back("agent");
  EXPECT_THAT(all, testing::UnorderedElementsAreArray(joinable_roles()));
}

TEST(Identity, NoProgramsJoinCommandMakesMembersOfAnyRole) {
  EXPECT_DEATH(roles_joining_by("agent"), "agent has no join command");
}

TEST(Identity, RefusesWhatIsNoMember) {
  for (const char* uri : {"", "tunefarm://", "tunefarm://agent", "tunefarm://agent/", "tunefarm://king/x",
                          "tunefarm://agent/a/b", "tunefarm://agent/a,URI:tunefarm", "https://agent/x"}) {
    EXPECT_FALSE(parse_identity_uri(uri).ok()) << uri;
  }
}

TEST(Identity, NamesTakeNothingThatACertificateCouldMisread) {
  for (const char* name : {"a", "box-1", "pi_4.lab.example.org", "7"})
    EXPECT_TRUE(check_identity_name(name).ok());
  for (const char* name : {"", "-a", ".a", "a b", "a/b", "a,b", "a:b", "ä"}) {
    EXPECT_FALSE(check_identity_name(name).ok()) << name;
  }
  EXPECT_FALSE(check_identity_name(std::string(129, 'a')).ok());
}

TEST(Identity, AgentServesItsOwnDevicesOnly) {
  const Identity agent{Role::kAgent, "box"};
  EXPECT_TRUE(check_may_serve(agent, "box").ok());
  EXPECT_TRUE(check_may_serve(agent, "box/cuda-0").ok());
  for (const char* device : {"box2", "box-1", "other", "", "bo"}) {
    const absl::Status status = check_may_serve(agent, device);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << device;
  }
  EXPECT_FALSE(check_may_serve({Role::kTuner, "box"}, "box").ok());
}

TEST(ExpectedServerTest, IsAMemberOfTheRoleOrTheAgentOfTheDevice) {
  const ExpectedServer tracker = Role::kTracker;
  EXPECT_TRUE(tracker.check({Role::kTracker, "tracker"}).ok());
  EXPECT_TRUE(absl::IsUnauthenticated(tracker.check({Role::kAgent, "tracker"})));
  const ExpectedServer box = ExpectedServer::agent_of("box/cuda-0");
  EXPECT_TRUE(box.check({Role::kAgent, "box"}).ok());
  EXPECT_TRUE(absl::IsUnauthenticated(box.check({Role::kTracker, "box"})));
  const absl::Status other = box.check({Role::kAgent, "box2"});
  EXPECT_TRUE(absl::IsUnauthenticated(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("the server is the agent box2"));
}

TEST(JoinTokenTest, RoundTripsAndRefusesHalfOfIt) {
  const absl::StatusOr<JoinToken> token = JoinToken::make(sha256("a CA"));
  ASSERT_TRUE(token.ok()) << token.status();
  const absl::StatusOr<JoinToken> parsed = JoinToken::parse(token->text());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->secret, token->secret);
  EXPECT_EQ(parsed->ca, sha256("a CA"));
  EXPECT_NE(JoinToken::make(sha256("a CA"))->secret, token->secret);
  EXPECT_FALSE(JoinToken::parse(token->text().substr(0, 100)).ok());
  EXPECT_FALSE(JoinToken::parse(token->text() + "0").ok());
  EXPECT_FALSE(JoinToken::parse("").ok());
}

TEST(KeyPairTest, RoundTripsThroughPem) {
  const absl::StatusOr<KeyPair> key = KeyPair::generate();
  ASSERT_TRUE(key.ok()) << key.status();
  const absl::StatusOr<KeyPair> read = KeyPair::from_pem(key->pem());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->pem(), key->pem());
  EXPECT_FALSE(KeyPair::from_pem("no key").ok());
}

TEST(IdentityFolder, KeyIsMadeForThisUserOnly) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const std::string folder = dir.file("member");
  ASSERT_TRUE(make_member_key(folder).ok());
  struct stat there {};
  ASSERT_EQ(stat(identity_files(folder).key.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0600u);
  const absl::Status status = load_member(folder, real_wall_clock().now()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("holds no certificate: make one with `tuner join`"));
}

// NOT_FOUND would be a device that is not there, to who asks a tracker.
TEST(IdentityFolder, WhatIsMissingIsSaidWithWhatToDo) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const auto said = [&](const std::string& name) {
    const absl::Status status = load_member(dir.file(name), real_wall_clock().now()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(said("nonesuch"), HasSubstr("nonesuch does not exist: make one with `tuner join`"));
  ASSERT_TRUE(make_member_key(dir.file("ca/admin")).ok());
  ASSERT_TRUE(write_secret(ca_key_file(dir.file("ca")), "a CA's").ok());
  EXPECT_THAT(said("ca"), HasSubstr(dir.file("ca") + " is the CA's folder, not a member's: " + "give --tls " +
                                    dir.file("ca/admin")));
}

TEST(IdentityFolder, NobodyJoinsIntoTheFolderOfTheCa) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  ASSERT_TRUE(make_private_folder(dir.file("ca")).ok());
  ASSERT_TRUE(write_secret(ca_key_file(dir.file("ca")), "a CA's").ok());
  const absl::Status joined = make_member_key(dir.file("ca")).status();
  EXPECT_TRUE(absl::IsAlreadyExists(joined)) << joined;
  EXPECT_FALSE(std::filesystem::exists(identity_files(dir.file("ca")).key));
}

TEST(IdentityFolder, SecretIsNeverWrittenOverAnother) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  ASSERT_TRUE(write_secret(dir.file("key"), "first").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(write_secret(dir.file("key"), "second")));
  EXPECT_EQ(*read_file(dir.file("key")), "first");
}

std::set<std::string> methods_of_all_services() {
  std::set<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {tunefarm::farm::v1::AgentHello::descriptor()->file(),
        tunefarm::identity::v1::JoinRequest::descriptor()->file(),
        tunefarm::tune::v1::JobName::descriptor()->file(),
        tunefarm::tune::v1::DescribeJobRequest::descriptor()->file(),
        tunefarm::tune::v1::BearerToken::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.insert(
            absl::StrCat("/", file->service(s)->full_name(), "/", file->service(s)->method(m)->name()));
      }
    }
  }
  return methods;
}

TEST(AccessTable, HasARowForEveryMethodOfEveryService) {
  const std::set<std::string> methods = methods_of_all_services();
  EXPECT_GT(methods.size(), 30u) << "the test looked at too little to mean anything";
  for (const std::string& method : methods) EXPECT_NE(find_rule(method), nullptr) << method << " has no row";
}

TEST(AccessTable, HasNoRowForWhatDoesNotExist) {
  const std::set<std::string> methods = methods_of_all_services();
  std::set<std::string_view> seen;
  for (const AccessRule& rule : access_table()) {
    EXPECT_TRUE(seen.insert(rule.method).second) << rule.method << " has two rows";
    if (!rule.method.starts_with("/grpc.")) {
      EXPECT_TRUE(methods.contains(std::string(rule.method))) << rule.method;
    }
    EXPECT_NE(rule.anyone, !rule.roles.empty()) << rule.method;
    EXPECT_EQ(std::ranges::count(rule.roles, Role::kTracker), 0) << rule.method;
  }
}

TEST(AccessTable, OnlyJoiningIsOpenToAnyone) {
  std::set<std::string_view> open;
  for (const AccessRule& rule : access_table()) {
    if (rule.anyone) open.insert(rule.method);
  }
  EXPECT_EQ(open, (std::set<std::string_view>{"/tunefarm.identity.v1.Members/Join"}));
}

TEST(AccessTable, HealthIsForEveryMemberAndReflectionForPeople) {
  for (const std::string& name : joinable_roles()) {
    const Role role = *parse_role(name);
    const auto may = [role](std::string_view method) {
      const AccessRule* rule = find_rule(method);
      return rule && std::ranges::count(rule->roles, role) == 1;
    };
    EXPECT_TRUE(may("/grpc.health.v1.Health/Check")) << name;
    EXPECT_TRUE(may("/grpc.health.v1.Health/Watch")) << name;
    EXPECT_EQ(may("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"), role != Role::kAgent)
        << name;
  }
}

TEST(AccessTable, AUserSubmitsJobsAndReadsButReachesNoDevice) {
  const auto may = [](std::string_view method) {
    return std::ranges::count(find_rule(method)->roles, Role::kUser) == 1;
  };
  for (const char* method :
       {"/tunefarm.tune.v1.Tuner/Submit", "/tunefarm.tune.v1.Tuner/WatchJob",
        "/tunefarm.tune.v1.Tuner/CancelJob", "/tunefarm.tune.v1.Tuner/PauseJob",
        "/tunefarm.tune.v1.Tuner/ResumeJob", "/tunefarm.tune.v1.Records/Best",
        "/tunefarm.farm.v1.Operators/ListDevices", "/tunefarm.identity.v1.Members/Renew"})
    EXPECT_TRUE(may(method)) << method;
  for (const AccessRule& rule : access_table()) {
    const bool reaches_devices = rule.method.starts_with("/tunefarm.farm.v1.Tuners/") ||
                                 rule.method.starts_with("/tunefarm.farm.v1.Agents/Sync") ||
                                 rule.method.starts_with("/tunefarm.farm.v1.Agents/Fetch");
    const bool operates = rule.method.starts_with("/tunefarm.farm.v1.Operators/") &&
                          !rule.method.starts_with("/tunefarm.farm.v1.Operators/List");
    EXPECT_FALSE((reaches_devices || operates) && may(rule.method)) << rule.method;
  }
}

// Whether "a.b" is a field.
bool has_field(const google::protobuf::Descriptor* message, const std::string& path) {
  const size_t dot = path.find('.');
  const auto* field = message->FindFieldByName(path.substr(0, dot));
  if (!field || dot == std::string::npos) return field != nullptr;
  return field->message_type() && has_field(field->message_type(), path.substr(dot + 1));
}

TEST(AccessTable, AuditsFieldsThatRequestAndReplyHave) {
  for (const AccessRule& rule : access_table()) {
    EXPECT_TRUE(rule.audited || rule.audited_reply.empty()) << rule.method;
    if (!rule.audited || rule.audited->empty()) continue;
    const std::string path(rule.method.substr(1));
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    const auto* method =
        pool->FindMethodByName(path.substr(0, path.find('/')) + "." + path.substr(path.find('/') + 1));
    ASSERT_NE(method, nullptr) << path;
    const std::vector<std::string> fields = absl::StrSplit(std::string(*rule.audited), '/');
    for (const std::string& field : fields) EXPECT_TRUE(has_field(method->input_type(), field)) << path;
    if (rule.audited_reply.empty()) continue;
    EXPECT_TRUE(has_field(method->output_type(), std::string(rule.audited_reply))) << path;
  }
}

}  // namespace
}  // namespace tf::rpc
