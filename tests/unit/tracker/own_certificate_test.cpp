#include "tracker/ca/own_certificate.h"

#include <filesystem>
#include <functional>
#include <thread>

#include "base/files/temporary_folder.h"
#include "rpc/identity/identity_folder.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/tracker/prepared_grpc.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/members.h"

namespace tf::tracker {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(5);

class OwnCertificateTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Authority::make(dir_.file("ca"), clock_.now()).ok());
    auto members = Members::open(dir_.file("ca"), clock_);
    ASSERT_TRUE(members.ok()) << members.status();
    members_ = *std::move(members);
    auto own = OwnCertificate::open(*members_, folder_, {"localhost"}, clock_, kLookEvery);
    ASSERT_TRUE(own.ok()) << own.status();
    own_ = *std::move(own);
  }

  // All that were ever issued to the tracker, the first first.
  std::vector<std::string> issued() {
    std::vector<std::string> serials;
    const auto page = members_->list(0, 10'000);
    EXPECT_TRUE(page.ok()) << page.status();
    for (const IssuedCertificate& each : page->certificates)
      if (each.identity.role == rpc::Role::kTracker) serials.push_back(each.serial);
    return serials;
  }

  std::string shown() { return own_->credentials()->certificate().serial(); }

  void reach_renewal() {
    clock_.advance(own_->credentials()->certificate().renew_at() - clock_.now() + absl::Seconds(1));
  }

  static bool wait_until(const std::function<bool()>& is_true) {
    for (int i = 0; i < 2000 && !is_true(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return is_true();
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string folder_ = dir_.file("tracker");
  rpc::FakeWallClock clock_;
  std::unique_ptr<Members> members_;
  std::unique_ptr<OwnCertificate> own_;
};

TEST_F(OwnCertificateTest, IsRenewedOnceWhenItIsTime) {
  const std::string first = shown();
  EXPECT_THAT(issued(), testing::ElementsAre(first));
  reach_renewal();
  ASSERT_TRUE(wait_until([&] { return shown() != first; }));
  EXPECT_THAT(issued(), testing::ElementsAre(first, shown()));
}

TEST_F(OwnCertificateTest, IsIssuedOnceThoughItsFolderCannotBeWrittenForLong) {
  const std::string first = shown();
  const std::string file = rpc::identity_files(folder_).certificate;
  std::filesystem::remove(file);
  std::filesystem::create_directories(file + "/in the way");  // of what replaces it
  reach_renewal();
  ASSERT_TRUE(wait_until([&] { return issued().size() > 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // many more looks
  const std::vector<std::string> serials = issued();
  EXPECT_EQ(serials.size(), 2u);
  EXPECT_EQ(shown(), first);
  std::filesystem::remove_all(file);
  ASSERT_TRUE(wait_until([&] { return shown() != first; }));
  EXPECT_EQ(shown(), serials.back());
  EXPECT_EQ(issued(), serials);
}

}  // namespace
}  // namespace tf::tracker
