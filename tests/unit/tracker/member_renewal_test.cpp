// How many certificates a member may have, and what becomes of those that it has lost.

#include <set>

#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_connection.h"
#include "tests/support/fake_clock.h"
#include "tracker/ca/members.h"

namespace tf::tracker {
namespace {

using rpc::Certificate;
using rpc::KeyPair;
using rpc::Role;
using testing::HasSubstr;

class MemberRenewalTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Authority::make(folder_, clock_.now()).ok());
    open();
    const auto joined =
        members_->join(members_->issue_token({.role = Role::kAgent})->secret, request(key_), {.name = "box"});
    ASSERT_TRUE(joined.ok()) << joined.status();
    first_.emplace(*joined);
  }

  void open() {
    members_ = nullptr;
    auto members = Members::open(folder_, clock_);
    ASSERT_TRUE(members.ok()) << members.status();
    members_ = *std::move(members);
  }

  static std::string request(const KeyPair& key) { return rpc::make_certificate_request(key, "box"); }

  // Asks with the first certificate, as a member that could keep none of the others; the last one.
  std::string renew_until_the_limit() {
    std::set<std::string> serials = {first_->serial()};
    std::string last;
    while (serials.size() < Members::kMostGood) {
      const auto next = members_->renew(*first_, request(key_));
      EXPECT_TRUE(next.ok()) << next.status();
      EXPECT_TRUE(serials.insert(next->serial()).second) << "another one";
      last = next->serial();
    }
    return last;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string folder_ = dir_.file("ca");
  const KeyPair key_ = *KeyPair::generate();
  rpc::FakeWallClock clock_;
  std::unique_ptr<Members> members_;
  std::optional<Certificate> first_;
};

TEST_F(MemberRenewalTest, MemberThatLosesWhatItIsGivenGetsTheLastOneAgainAndNoMore) {
  const std::string last = renew_until_the_limit();
  for (int i = 0; i < 3; ++i) {
    const auto again = members_->renew(*first_, request(key_));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->serial(), last);
    EXPECT_TRUE(again->matches(key_));
    EXPECT_TRUE(again->check_issued_by(members_->ca(), clock_.now()).ok());
    open();  // also after a restart
  }
  EXPECT_EQ(members_->revoke("box")->size(), Members::kMostGood);
}

TEST_F(MemberRenewalTest, NobodyGetsCertificatesWithoutEndForKeysOfHis) {
  renew_until_the_limit();
  const absl::Status refused = members_->renew(*first_, request(*KeyPair::generate())).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("has another key"));
  EXPECT_TRUE(absl::IsInvalidArgument(members_->renew(*first_, "no request").status()));
}

TEST_F(MemberRenewalTest, WhatIsRevokedIsGivenToNobodyAgain) {
  renew_until_the_limit();
  ASSERT_TRUE(members_->revoke("box").ok());
  EXPECT_TRUE(absl::IsUnauthenticated(members_->renew(*first_, request(key_)).status()));
}

TEST_F(MemberRenewalTest, CertificateThatHasEndedIsNotRenewed) {
  renew_until_the_limit();
  clock_.advance(absl::Hours(24 * 31));
  EXPECT_TRUE(absl::IsUnauthenticated(members_->renew(*first_, request(key_)).status()));
}

TEST(MemberStoreMigration, BringsAFileOfTheFirstVersionUpToDate) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const std::string path = dir.file("members.db");
  {
    const auto old = *database::Connection::open(path, database::Access::kWrite);
    ASSERT_TRUE(old->execute(R"sql(
        CREATE TABLE certificate (id INTEGER PRIMARY KEY, serial TEXT NOT NULL UNIQUE, role TEXT NOT NULL,
                                  name TEXT NOT NULL, issued_s INTEGER NOT NULL, ends_s INTEGER NOT NULL,
                                  revoked_s INTEGER);
        CREATE TABLE token (secret_sha256 TEXT PRIMARY KEY, role TEXT NOT NULL, name TEXT NOT NULL,
                            ends_s INTEGER NOT NULL, used_s INTEGER) WITHOUT ROWID;
        INSERT INTO certificate (serial, role, name, issued_s, ends_s) VALUES ('1', 'agent', 'box', 5, 6);
        PRAGMA user_version = 1;)sql")
                    .ok());
  }
  const rpc::Identity box{Role::kAgent, "box"};
  for (int opened = 0; opened < 2; ++opened) {
    const auto store = MemberStore::open(path);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(*(*store)->newest(box), opened == 0 ? "" : "bytes");
    const IssuedCertificate next{.serial = "2", .identity = box, .der = "bytes"};
    EXPECT_EQ((*store)->apply({.issued = next}, absl::UnixEpoch()).ok(), opened == 0)
        << "its serial is taken";
  }
}

}  // namespace
}  // namespace tf::tracker
