// How members of a secured farm come, go on and go.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <set>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/files/file.h"
#include "proto/farm/v1/farm.pb.h"
#include "proto/identity/v1/identity.grpc.pb.h"
#include "rpc/connection/grpc_status.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/secured_farm.h"
#include "tests/support/fake_clock.h"

namespace tf::farm_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using tunefarm::farm::v1::Trial;

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

TEST_F(SecuredFarm, AdminThatRevokesItselfHearsOfItAndIsCutOff) {
  const tracker::TrackerLink eve{endpoint(), member(Role::kAdmin, "eve")};
  const auto serials = tracker::revoke_member(eve, "admin/eve");
  ASSERT_TRUE(serials.ok()) << serials.status();
  EXPECT_EQ(serials->size(), 1u);
  const absl::Status next = tracker::revoke_member(eve, "nobody").status();
  EXPECT_TRUE(absl::IsUnauthenticated(next)) << next;
}

TEST_F(SecuredFarm, RevocationOutlivesTheTracker) {
  const auto vera = member(Role::kViewer, "vera");
  ASSERT_TRUE(tracker::revoke_member({endpoint(), admin_}, "vera").ok());
  start();
  const auto channel = rpc::make_channel(endpoint(), vera, Role::kTracker);
  const absl::Status status = call(channel, "/tunefarm.farm.v1.Operators/ListDevices").status();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
}

TEST_F(SecuredFarm, ReplayedTokenLetsNobodyIn) {
  const std::string text = *token(Role::kTuner);
  ASSERT_TRUE(rpc::join_farm({endpoint(), text, "ada", dir_.file("1")}).ok());
  const absl::Status again = rpc::join_farm({endpoint(), text, "eve", dir_.file("2")}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(again)) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("already used"));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("2"))) << "nor is a key left behind";
  ASSERT_TRUE(rpc::make_private_folder(dir_.file("3")).ok());
  ASSERT_TRUE(write_file(dir_.file("3") + "/note", "kept").ok());
  EXPECT_FALSE(rpc::join_farm({endpoint(), text, "eve", dir_.file("3")}).ok());
  EXPECT_FALSE(std::filesystem::exists(rpc::identity_files(dir_.file("3")).key));
  EXPECT_TRUE(std::filesystem::exists(dir_.file("3") + "/note"));
}

// gRPC takes their calls for ended, and the tracker's threads are still in them: what these touch after its
// server is gone the sanitizers see.
TEST_F(SecuredFarm, TrackerEndsAfterJoinersWhoHaveGivenUp) {
  namespace pb = tunefarm::identity::v1;
  for (int round = 0; round < 5; ++round) {
    const rpc::JoinToken token = *rpc::JoinToken::parse(*this->token(Role::kTuner));
    const auto stub = pb::Members::NewStub(rpc::make_channel(endpoint(), rpc::joining_channel(token.ca)));
    const auto guess = [&](absl::Duration grace_period) {
      grpc::ClientContext context;
      rpc::set_deadline(context, grace_period);
      pb::JoinRequest request;
      request.set_secret(sha256("guess").hex());
      pb::Credential reply;
      return stub->Join(&context, request, &reply).error_code();
    };
    EXPECT_EQ(guess(absl::Seconds(30)), grpc::StatusCode::UNAUTHENTICATED);
    std::vector<std::future<grpc::StatusCode>> joiners;
    for (int i = 0; i < 16; ++i)
      joiners.push_back(std::async(std::launch::async, [&] { return guess(absl::Milliseconds(2)); }));
    for (auto& joiner : joiners) EXPECT_NE(joiner.get(), grpc::StatusCode::OK);
    start();
  }
}

TEST_F(SecuredFarm, JoinerTellsItsTokenToNoOtherFarm) {
  rpc::JoinToken token = *rpc::JoinToken::parse(*this->token(Role::kTuner));
  const std::string real = token.text();
  token.ca = sha256("another CA");
  const absl::Status status = rpc::join_farm({endpoint(), token.text(), "ada", dir_.file("1")}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(audit(), Not(HasSubstr("Members/Join")));
  EXPECT_TRUE(rpc::join_farm({endpoint(), real, "ada", dir_.file("2")}).ok()) << "the token was not used";
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

// Certificates that TLS itself would not take any more make this one last as long as they do.
TEST_F(SecuredFarm, RenewedCertificateCarriesOnBeyondTheEndOfTheFirst) {
  start(absl::Seconds(16));
  const auto box = member(Role::kAgent, "box-1");
  const auto ada = member(Role::kTuner, "ada");
  const absl::Time first_end = std::max(box->certificate().not_after(), ada->certificate().not_after());
  const rpc::MembershipKeeper keep_box(box, endpoint());
  const rpc::MembershipKeeper keep_ada(ada, endpoint());
  AgentThread agent(options(box));
  const auto runner = connect(ada);
  ASSERT_TRUE(runner.ok()) << runner.status();
  absl::Time last = absl::Now();
  for (int i = 0; rpc::real_wall_clock().now() < first_end + absl::Seconds(1); ++i) {
    const Trial trial;
    const auto result = (*runner)->run(request(trial, absl::StrCat("candidate ", i)));
    const bool stood_still = absl::Now() - last > absl::Seconds(3);
    last = absl::Now();
    if (!result.ok() && stood_still) GTEST_SKIP() << "this machine slept through the time to renew";
    ASSERT_TRUE(result.ok()) << result.status();
    (*runner)->acknowledge(*result);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_GT(box->certificate().not_after(), first_end);
}

// Its reply must not be asked for again and again: a member may have only so many certificates.
TEST_F(SecuredFarm, MemberThatCannotKeepItsNextCertificateAsksForNoOtherAndKeepsItLater) {
  const auto box = member(Role::kAgent, "box-1");
  const std::string first = box->certificate().serial();
  const std::string in_the_way =
      absl::StrCat(rpc::identity_files(box->folder()).certificate, ".", getpid(), ".tmp");
  ASSERT_TRUE(std::filesystem::create_directory(in_the_way));  // where it is written first
  rpc::FakeWallClock clock;
  clock.advance(life_ * 0.8);
  {
    const rpc::MembershipKeeper keeper(box, endpoint(), {.look_every = absl::Milliseconds(5)}, clock);
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      clock.advance(absl::Seconds(10));  // it tries again
    }
    EXPECT_EQ(box->certificate().serial(), first);
    const std::vector<std::string> around = absl::StrSplit(audit(), "Members/Renew");
    EXPECT_EQ(around.size(), 2u) << "asked once";
    ASSERT_TRUE(std::filesystem::remove(in_the_way));
    for (int i = 0; i < 1000 && box->certificate().serial() == first; ++i) {
      clock.advance(absl::Seconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  EXPECT_NE(box->certificate().serial(), first);
  EXPECT_EQ(Credentials::load(box->folder()).value()->certificate().serial(), box->certificate().serial());
}

// What a keeper says of the end of a membership; OK if it says nothing for 20 s.
absl::Status told_end(const std::shared_ptr<Credentials>& credentials, const rpc::Endpoint& tracker,
                      const std::function<void()>& meanwhile) {
  std::promise<absl::Status> told;
  std::future<absl::Status> ended = told.get_future();
  const rpc::MembershipKeeper keeper(credentials, tracker,
                                     {.revoked = [](const std::set<std::string>&) {},
                                      .ended = [&](const absl::Status& why) { told.set_value(why); }});
  meanwhile();
  if (ended.wait_for(std::chrono::seconds(20)) != std::future_status::ready) return absl::OkStatus();
  return ended.get();
}

TEST_F(SecuredFarm, KeeperTellsThatItsCertificateIsRevoked) {
  const absl::Status ended = told_end(member(Role::kTuner, "ada"), endpoint(), [&] {
    EXPECT_TRUE(tracker::revoke_member({endpoint(), admin_}, "ada").ok());
  });
  EXPECT_TRUE(absl::IsUnauthenticated(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("of tuner ada is revoked"));
}

TEST_F(SecuredFarm, KeeperTellsThatItsCertificateHasEndedWithoutATracker) {
  start(absl::Seconds(3));
  const absl::Status ended = told_end(member(Role::kTuner, "ada"), free_endpoint(), [] {});
  EXPECT_TRUE(absl::IsUnauthenticated(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("join again with a new token"));
}

TEST_F(SecuredFarm, KeeperTellsOfRevocationsOnlyWhenThereAreNewOnes) {
  member(Role::kViewer, "vera");
  std::mutex mutex;
  std::vector<std::set<std::string>> told;
  const rpc::MembershipKeeper keeper(
      member(Role::kAgent, "box-1"), endpoint(),
      {.look_every = absl::Milliseconds(20), .revoked = [&](const std::set<std::string>& serials) {
         const std::scoped_lock lock(mutex);
         told.push_back(serials);
       }});
  const auto wait_for = [&](size_t count) {
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::scoped_lock lock(mutex);
      if (told.size() >= count) return;
    }
  };
  wait_for(1);
  const auto serials = tracker::revoke_member({endpoint(), admin_}, "vera");
  ASSERT_TRUE(serials.ok()) << serials.status();
  wait_for(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // ten more looks
  const std::scoped_lock lock(mutex);
  EXPECT_THAT(told, testing::ElementsAre(std::set<std::string>{},
                                         std::set<std::string>(serials->begin(), serials->end())));
}

TEST_F(SecuredFarm, MembersAreListedInPages) {
  namespace pb = tunefarm::identity::v1;
  for (const char* name : {"box-1", "box-2", "box-3"}) member(Role::kAgent, name);
  const auto stub = pb::Members::NewStub(rpc::make_channel(endpoint(), admin_, Role::kTracker));
  const auto list = [&](uint32_t page_size, const std::string& token, pb::ListMembersReply& reply) {
    grpc::ClientContext context;
    pb::ListMembersRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    return rpc::from_grpc(stub->ListMembers(&context, request, &reply));
  };
  pb::ListMembersReply all;
  ASSERT_TRUE(list(0, "", all).ok());
  ASSERT_GE(all.certificates_size(), 3);
  EXPECT_EQ(all.next_page_token(), "");
  std::vector<std::string> listed, expected;
  for (const auto& certificate : all.certificates()) expected.push_back(certificate.serial());
  pb::ListMembersReply page;
  do {
    ASSERT_TRUE(list(2, page.next_page_token(), page).ok());
    EXPECT_LE(page.certificates_size(), 2);
    for (const auto& certificate : page.certificates()) listed.push_back(certificate.serial());
  } while (!page.next_page_token().empty());
  EXPECT_EQ(listed, expected);
  EXPECT_TRUE(absl::IsInvalidArgument(list(2, "no token", page)));
}

}  // namespace
}  // namespace tf::farm_test
