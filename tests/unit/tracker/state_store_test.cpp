#include "tracker/state_store.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tf::tracker {
namespace {

using testing::HasSubstr;

class StateStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(testing::TempDir()) + "/state_store" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    path_ = folder_ + "/made/tracker.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Lease lease(const std::string& id, uint64_t epoch) {
    return {{id}, {"device", 0}, epoch, "holder", "run", absl::Seconds(60), absl::ZeroDuration()};
  }

  std::string folder_;
  std::string path_;
};

TEST_F(StateStoreTest, KeepsLeasesAndEpochs) {
  {
    const auto store = *StateStore::open(path_);
    ASSERT_TRUE(store->save_lease(lease("a", 1)).ok());
    ASSERT_TRUE(store->end_lease({"a"}).ok());
    ASSERT_TRUE(store->save_lease(lease("b", 2)).ok());
  }
  const StoredState state = *(*StateStore::open(path_))->load();
  ASSERT_EQ(state.leases.size(), 1u);
  EXPECT_EQ(state.leases[0].id.text, "b");
  EXPECT_EQ(state.leases[0].epoch, 2u);
  EXPECT_EQ(state.leases[0].term, absl::Seconds(60));
  EXPECT_EQ(state.epochs.at({"device", 0}), 2u);
}

TEST_F(StateStoreTest, NewLeaseOfASlotReplacesOneWhoseEndWasNotWritten) {
  const auto store = *StateStore::open(path_);
  ASSERT_TRUE(store->save_lease(lease("a", 1)).ok());
  ASSERT_TRUE(store->save_lease(lease("b", 2)).ok());
  EXPECT_EQ(store->load()->leases.size(), 1u);
}

TEST_F(StateStoreTest, RefusesASecondTracker) {
  const auto first = StateStore::open(path_);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = StateStore::open(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("stop that tracker, or give this one another --state"));
}

TEST_F(StateStoreTest, RefusesAFileThatIsNoDatabase) {
  std::filesystem::create_directories(folder_ + "/made");
  std::ofstream(path_) << std::string(8192, 'x');
  const absl::Status status = StateStore::open(path_).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
}

TEST_F(StateStoreTest, RefusesAFolderThatCannotBeMade) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/file") << "x";
  const absl::Status status = StateStore::open(folder_ + "/file/tracker.db").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("--state"));
}

}  // namespace
}  // namespace tf::tracker
