#include "tracker/ca/members.h"

#include <grpcpp/support/status.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/remedy.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/identity/identity_folder.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/tracker/prepared_grpc.h"
#include "tracker/ca/own_certificate.h"

namespace tf::tracker {
namespace {

using rpc::Certificate;
using rpc::Identity;
using rpc::JoinToken;
using rpc::KeyPair;
using rpc::Role;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

// As the caller hears of it whom the guard refuses.
absl::Status heard(const absl::Status& refused) {
  return rpc::from_grpc(rpc::to_grpc(refused));
}

class MembersTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Authority::make(folder_, clock_.now()).ok());
    open();
  }

  void open() {
    members_ = nullptr;
    auto members = Members::open(folder_, clock_);
    ASSERT_TRUE(members.ok()) << members.status();
    members_ = *std::move(members);
    members_->on_revoked([this](std::set<std::string> serials) { told_ = std::move(serials); });
  }

  std::string request(const std::string& name = "asked") const {
    return rpc::make_certificate_request(key_, name);
  }

  absl::StatusOr<Certificate> join(Role role, const std::string& token_name, const std::string& name) {
    return members_->join(members_->issue_token({.role = role, .name = token_name})->secret, request(),
                          {.name = name});
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string folder_ = dir_.file("ca");
  const KeyPair key_ = *KeyPair::generate();
  rpc::FakeWallClock clock_;
  std::unique_ptr<Members> members_;
  std::set<std::string> told_;
};

TEST_F(MembersTest, KeyOfTheCaIsForThisUserOnlyAndNeverOverwritten) {
  struct stat there {};
  ASSERT_EQ(stat((folder_ + "/ca-key.pem").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0600u);
  EXPECT_TRUE(absl::IsAlreadyExists(Authority::make(folder_, clock_.now())));
}

// The admin's folder stands beside the CA's files: made a CA's, it would let nobody in any more.
TEST_F(MembersTest, NoCaIsMadeInAMembersFolderAndNoneIsLookedForThere) {
  const std::string folder = dir_.file("admin");
  ASSERT_TRUE(make_member(*members_, folder, {Role::kAdmin, "admin"}).ok());
  const std::string ca = *read_file(rpc::identity_files(folder).ca);
  const absl::Status opened = Authority::open(folder).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(opened)) << opened;
  EXPECT_THAT(std::string(opened.message()),
              EndsWith("is a member's folder: give the CA's folder, which `tracker ca init` made"));
  const rpc::IdentityFiles files = rpc::identity_files(folder);
  for (const std::string& gone : {std::string(), files.certificate, files.key}) {
    if (!gone.empty()) std::filesystem::remove(gone);
    const absl::Status made = Authority::make(folder, clock_.now());
    EXPECT_TRUE(absl::IsAlreadyExists(made)) << made;
    EXPECT_THAT(std::string(made.message()), EndsWith("give another --dir"));
    EXPECT_EQ(*read_file(files.ca), ca);
    EXPECT_FALSE(std::filesystem::exists(rpc::ca_key_file(folder)));
  }
}

TEST_F(MembersTest, CaWhoseKeyIsMissingIsNotMadeAnew) {
  members_ = nullptr;
  std::filesystem::remove(rpc::ca_key_file(folder_));
  const absl::Status opened = Authority::open(folder_).status();
  EXPECT_THAT(std::string(opened.message()), HasSubstr("ca-key.pem from a copy"));
  EXPECT_TRUE(absl::IsAlreadyExists(Authority::make(folder_, clock_.now())));
}

TEST_F(MembersTest, TokenGivesACertificateOfItsRole) {
  const auto certificate = join(Role::kAgent, "", "box");
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_EQ(certificate->identity(), (Identity{Role::kAgent, "box"}));
  EXPECT_TRUE(certificate->matches(key_));
  EXPECT_TRUE(certificate->check_issued_by(members_->ca(), clock_.now()).ok());
  EXPECT_GE(certificate->not_after(), clock_.now() + absl::Hours(24 * 30) - absl::Seconds(2));
}

TEST_F(MembersTest, TokenIsGoodForOneUseAlsoAcrossARestart) {
  const JoinToken token = *members_->issue_token({.role = Role::kTuner});
  ASSERT_TRUE(members_->join(token.secret, request(), {.name = "a"}).ok());
  open();
  const absl::Status again = members_->join(token.secret, request(), {.name = "b"}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(again)) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("already used"));
}

TEST_F(MembersTest, TokenEndsAfterFifteenMinutes) {
  const JoinToken token = *members_->issue_token({.role = Role::kTuner});
  clock_.advance(absl::Minutes(15) + absl::Seconds(1));
  const absl::Status late = members_->join(token.secret, request(), {.name = "a"}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr("has expired"));
}

TEST_F(MembersTest, UnknownTokenIsRefused) {
  const absl::Status status = members_->join(sha256("guess").hex(), request(), {.name = "a"}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
}

TEST_F(MembersTest, SecretOfATokenIsNotKept) {
  const JoinToken token = *members_->issue_token({.role = Role::kTuner});
  for (const char* file : {"/members.db", "/members.db-wal"}) {
    const absl::StatusOr<std::string> bytes = read_file(folder_ + file);
    if (bytes.ok()) {
      EXPECT_EQ(bytes->find(token.secret), std::string::npos) << file;
    }
  }
}

TEST_F(MembersTest, BadRequestDoesNotUseUpTheToken) {
  const JoinToken token = *members_->issue_token({.role = Role::kTuner});
  std::string broken = request();
  broken.back() = static_cast<char>(broken.back() ^ 1);
  EXPECT_TRUE(absl::IsInvalidArgument(members_->join(token.secret, broken, {.name = "a"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(members_->join(token.secret, "", {.name = "a"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(members_->join(token.secret, request(), {.name = "a/b"}).status()));
  EXPECT_TRUE(members_->join(token.secret, request(), {.name = "a"}).ok());
}

TEST_F(MembersTest, TokenForAnotherRoleIsRefusedAndCanStillBeUsed) {
  const JoinToken board = *members_->issue_token({.role = Role::kAgent});
  const absl::Status no_agent =
      members_->join(board.secret, request(), {.name = "a", .roles = rpc::roles_joining_by("tuner")})
          .status();
  EXPECT_TRUE(absl::IsFailedPrecondition(no_agent)) << no_agent;
  EXPECT_THAT(std::string(no_agent.message()), HasSubstr("for the role agent"));
  EXPECT_THAT(std::string(no_agent.message()), HasSubstr("use `device_agent join`"));
  EXPECT_TRUE(
      members_->join(board.secret, request(), {.name = "a", .roles = rpc::roles_joining_by("device_agent")})
          .ok());
  const JoinToken person = *members_->issue_token({.role = Role::kViewer});
  const absl::Status no_viewer =
      members_->join(person.secret, request(), {.name = "a", .roles = {"agent"}}).status();
  EXPECT_THAT(std::string(no_viewer.message()), HasSubstr("use `tuner join`"));
  EXPECT_TRUE(
      members_->join(person.secret, request(), {.name = "a", .roles = rpc::roles_joining_by("tuner")}).ok());
}

TEST_F(MembersTest, JoinerOfAnOlderVersionNamesNoRoleAndGetsTheTokens) {
  for (const Role role : {Role::kAgent, Role::kTuner}) {
    const auto certificate = join(role, "", "old");
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    EXPECT_EQ(certificate->identity()->role, role);
  }
}

TEST_F(MembersTest, NameOfAnotherIsNotTaken) {
  ASSERT_TRUE(join(Role::kAgent, "", "box").ok());
  const absl::Status taken = join(Role::kAgent, "", "box").status();
  EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
  EXPECT_TRUE(join(Role::kViewer, "", "box").ok()) << "another role is another member";
}

TEST_F(MembersTest, APersonCannotTakeATunersNameNorATunerAPersons) {
  ASSERT_TRUE(join(Role::kTuner, "", "lab").ok());
  const absl::Status person = join(Role::kUser, "", "lab").status();
  EXPECT_TRUE(absl::IsAlreadyExists(person)) << person;
  EXPECT_THAT(std::string(person.message()), HasSubstr("the name of tuner lab is taken"));
  ASSERT_TRUE(join(Role::kUser, "", "ada").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(join(Role::kTuner, "", "ada").status()));
  EXPECT_TRUE(join(Role::kTuner, "ada", "").ok()) << "the token's issuer knows what they do";
}

TEST_F(MembersTest, TokenThatNamesItsHolderReplacesTheOldOne) {
  const auto old = join(Role::kAgent, "", "box");
  const auto now = join(Role::kAgent, "box", "whatever");
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->identity()->name, "box");
  EXPECT_THAT(members_->revocations().serials, ElementsAre(old->serial()));
  EXPECT_THAT(told_, ElementsAre(old->serial()));
}

TEST_F(MembersTest, NobodyJoinsAsATracker) {
  EXPECT_TRUE(absl::IsInvalidArgument(members_->issue_token({.role = Role::kTracker}).status()));
}

TEST_F(MembersTest, RenewedCertificateIsOfTheSameMemberUntilLater) {
  const auto first = join(Role::kAgent, "", "box");
  clock_.advance(absl::Hours(24 * 20) + absl::Minutes(2));
  EXPECT_GE(clock_.now(), first->renew_at());
  const auto second = members_->renew(*first, request());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->identity(), first->identity());
  EXPECT_GT(second->not_after(), first->not_after());
  EXPECT_NE(second->serial(), first->serial());
  EXPECT_THAT(members_->revocations().serials, IsEmpty()) << "the first is good until its end";
}

TEST_F(MembersTest, RevokesAllOfAMemberByItsNameOrASerial) {
  const auto box = join(Role::kAgent, "", "box");
  const auto box_again = members_->renew(*box, request());
  const auto ada = join(Role::kTuner, "", "ada");
  EXPECT_EQ(members_->revoke("box")->size(), 2u);
  EXPECT_EQ(told_, (std::set<std::string>{box->serial(), box_again->serial()}));
  EXPECT_EQ(members_->revoke("box")->size(), 0u) << "they are revoked already";
  EXPECT_THAT(*members_->revoke(ada->serial()), ElementsAre(ada->serial()));
  EXPECT_TRUE(absl::IsNotFound(members_->revoke("nobody").status()));
  open();
  EXPECT_EQ(members_->revocations().serials.size(), 3u) << "durable";
}

TEST_F(MembersTest, LastAdminIsNotRevokedByNameOrBySerial) {
  const auto admin = join(Role::kAdmin, "", "admin");
  const auto late = join(Role::kAdmin, "", "late");
  ASSERT_TRUE(members_->revoke("late").ok());
  ASSERT_TRUE(join(Role::kViewer, "", "vera").ok());
  for (const std::string& name : {std::string("admin/admin"), admin->serial()}) {
    const absl::Status refused = members_->revoke(name).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("is the last admin"));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("`tracker ca token --role admin`"));
  }
  EXPECT_TRUE(members_->renew(*admin, request()).ok()) << "it is as good as before";
  EXPECT_THAT(*members_->revoke("late"), IsEmpty()) << "which is revoked already";
  ASSERT_TRUE(join(Role::kAdmin, "", "next").ok());
  EXPECT_EQ(members_->revoke("admin/admin")->size(), 2u);
}

TEST_F(MembersTest, AdminWhoseCertificateHasEndedDoesNotCountAsAnother) {
  ASSERT_TRUE(join(Role::kAdmin, "", "old").ok());
  clock_.advance(absl::Hours(24 * 31));
  ASSERT_TRUE(join(Role::kAdmin, "", "admin").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(members_->revoke("admin/admin").status()));
}

TEST_F(MembersTest, TrackersOwnCertificateIsNotRevoked) {
  ASSERT_TRUE(members_->issue({Role::kTracker, "tracker"}, request(), {}).ok());
  const absl::Status refused = members_->revoke("tracker/tracker").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("this tracker's own certificate"));
}

TEST_F(MembersTest, RevokedCertificateIsNotRenewed) {
  const auto box = join(Role::kAgent, "", "box");
  ASSERT_TRUE(members_->revoke("box").ok());
  const absl::Status refused = members_->renew(*box, request()).status();
  EXPECT_TRUE(absl::IsUnauthenticated(refused)) << refused;
  open();
  EXPECT_TRUE(absl::IsUnauthenticated(members_->renew(*box, request()).status())) << "nor after a restart";
}

TEST_F(MembersTest, CertificateThatIsNotOfThisTrackersMakingIsNotRenewed) {
  const auto box = join(Role::kAgent, "", "box");
  ASSERT_TRUE(Authority::make(dir_.file("other"), clock_.now()).ok());
  const auto other = Members::open(dir_.file("other"), clock_);
  EXPECT_TRUE(absl::IsUnauthenticated((*other)->renew(*box, request()).status()));
  EXPECT_TRUE(absl::IsUnauthenticated(members_->renew(members_->ca(), request()).status())) << "no member";
}

TEST_F(MembersTest, SerialEndsAlsoWhatWasRenewedFromIt) {
  const auto stolen = join(Role::kTuner, "", "ada");
  const auto successor = members_->renew(*stolen, request());
  EXPECT_EQ(members_->revoke(stolen->serial())->size(), 2u);
  EXPECT_EQ(told_, (std::set<std::string>{stolen->serial(), successor->serial()}));
  EXPECT_TRUE(absl::IsUnauthenticated(members_->renew(*successor, request()).status()));
}

TEST_F(MembersTest, SerialThatIsRevokedSaysNothingOfWhoHasTheNameNow) {
  const auto old = join(Role::kAgent, "", "box");
  const auto now = join(Role::kAgent, "box", "");
  EXPECT_THAT(*members_->revoke(old->serial()), IsEmpty());
  EXPECT_TRUE(members_->renew(*now, request()).ok());
}

TEST_F(MembersTest, NothingThatWasRenewedDuringARevocationIsGoodAfterIt) {
  for (int round = 0; round < 10; ++round) {
    const std::string name = "thief-" + std::to_string(round);
    const auto first = join(Role::kTuner, "", name);
    ASSERT_TRUE(first.ok()) << first.status();
    std::atomic<bool> begun = false;
    std::thread thief([&, present = *first]() mutable {
      for (auto next = members_->renew(present, request()); next.ok();
           next = members_->renew(present, request())) {
        present = *next;
        begun = true;
      }
      begun = true;
    });
    while (!begun) std::this_thread::yield();
    ASSERT_TRUE(members_->revoke(name).ok());
    thief.join();
    const auto all = members_->list(0, 1'000'000);
    for (const IssuedCertificate& issued : all->certificates) EXPECT_TRUE(issued.revoked) << issued.serial;
  }
}

TEST_F(MembersTest, RevocationsAreToldOnceAGeneration) {
  const uint64_t none = members_->revocations().generation;
  EXPECT_NE(none, 0u);
  EXPECT_FALSE(members_->revocations_since(none));
  const auto box = join(Role::kAgent, "", "box");
  EXPECT_FALSE(members_->revocations_since(none)) << "nothing was revoked";
  ASSERT_TRUE(members_->revoke("box").ok());
  const auto changed = members_->revocations_since(none);
  ASSERT_TRUE(changed);
  EXPECT_THAT(changed->serials, ElementsAre(box->serial()));
  EXPECT_FALSE(members_->revocations_since(changed->generation));
  open();
  EXPECT_TRUE(members_->revocations_since(changed->generation)) << "another run's generations are others";
}

TEST_F(MembersTest, WhatHasEndedByItselfIsForgotten) {
  const auto box = join(Role::kAgent, "", "box");
  ASSERT_TRUE(members_->revoke("box").ok());
  clock_.advance(absl::Hours(24 * 31));
  ASSERT_TRUE(join(Role::kAgent, "", "box").ok()) << "the name is free";
  EXPECT_THAT(members_->revocations().serials, IsEmpty());
  EXPECT_EQ(members_->list(0, 100)->certificates.size(), 2u) << "but listed for ever";
}

TEST_F(MembersTest, NameOfTwoMembersMustBeSaidInFull) {
  ASSERT_TRUE(join(Role::kAgent, "", "box").ok());
  ASSERT_TRUE(join(Role::kViewer, "", "box").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(members_->revoke("box").status()));
  EXPECT_EQ(members_->revoke("viewer/box")->size(), 1u);
}

TEST_F(MembersTest, SecondTrackerOnTheFolderIsRefused) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Members::open(folder_, clock_).status()));
}

TEST_F(MembersTest, CertificateOfAnotherCaIsRefused) {
  ASSERT_TRUE(Authority::make(dir_.file("other"), clock_.now()).ok());
  const auto other = Members::open(dir_.file("other"), clock_);
  const auto foreign = (*other)->issue({Role::kAdmin, "eve"}, request(), {});
  const absl::Status status = foreign->check_issued_by(members_->ca(), clock_.now());
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("not issued by this farm's CA"));
}

TEST_F(MembersTest, GuardSaysWhoIsRefusedAndWhichRoleIsNeeded) {
  rpc::CallGuard guard(clock_);
  const auto viewer = join(Role::kViewer, "", "vera");
  const char* drain = "/tunefarm.farm.v1.Operators/SetAdmission";
  const absl::Status denied = guard.check(drain, &*viewer);
  EXPECT_TRUE(absl::IsPermissionDenied(denied)) << denied;
  EXPECT_EQ(denied.message(),
            "viewer vera may not call Operators/SetAdmission: that needs the role device-owner or admin");
  const absl::Status nobody = guard.check(drain, nullptr);
  EXPECT_TRUE(absl::IsUnauthenticated(nobody));
  EXPECT_EQ(trouble_of(heard(nobody)).remedy, "join the farm and give --tls");
  EXPECT_TRUE(absl::IsUnauthenticated(guard.check(drain, &members_->ca()))) << "a CA is no member";
  EXPECT_TRUE(guard.check("/tunefarm.farm.v1.Operators/ListDevices", &*viewer).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(guard.check("/tunefarm.farm.v1.Operators/Unheard", &*viewer)));
  EXPECT_TRUE(absl::IsPermissionDenied(guard.check("", &*viewer)));
}

TEST_F(MembersTest, GuardRefusesWhatHasEndedOrIsRevoked) {
  rpc::CallGuard guard(clock_);
  const auto viewer = join(Role::kViewer, "", "vera");
  const char* list = "/tunefarm.farm.v1.Operators/ListDevices";
  guard.set_revoked({viewer->serial()});
  const absl::Status revoked = guard.check(list, &*viewer);
  EXPECT_TRUE(absl::IsUnauthenticated(revoked));
  EXPECT_THAT(trouble_of(heard(revoked)).truth, EndsWith(" of viewer vera is revoked"));
  EXPECT_EQ(trouble_of(heard(revoked)).remedy, "join again with a new token into another folder");
  guard.set_revoked({});
  EXPECT_TRUE(guard.check(list, &*viewer).ok());
  clock_.advance(absl::Hours(24 * 31));
  const absl::Status ended = guard.check(list, &*viewer);
  EXPECT_TRUE(absl::IsUnauthenticated(ended));
  EXPECT_EQ(trouble_of(heard(ended)).truth, "the certificate of viewer vera has expired");
  EXPECT_EQ(trouble_of(heard(ended)).remedy, "join again with a new token into another folder");
}

TEST_F(MembersTest, FolderWhoseCertificateHasEndedSaysSo) {
  const std::string folder = dir_.file("member");
  const auto key = rpc::make_member_key(folder);
  const auto certificate =
      members_->issue({Role::kAgent, "box"}, rpc::make_certificate_request(*key, "box"), {});
  ASSERT_TRUE(rpc::save_member(folder, *certificate, members_->ca(), "127.0.0.1:1").ok());
  const auto member = rpc::load_member(folder, clock_.now());
  ASSERT_TRUE(member.ok()) << member.status();
  EXPECT_EQ(member->tracker, "127.0.0.1:1");
  const absl::Status ended = rpc::load_member(folder, clock_.now() + absl::Hours(24 * 31)).status();
  EXPECT_TRUE(absl::IsUnauthenticated(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("expired at"));
  chmod(rpc::identity_files(folder).key.c_str(), 0644);
  EXPECT_TRUE(absl::IsPermissionDenied(rpc::load_member(folder, clock_.now()).status()));
}

}  // namespace
}  // namespace tf::tracker
