#include "rpc/artifact_store.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tf::rpc {
namespace {

class ArtifactStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("store" + std::to_string(getpid()));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<ArtifactStore> open(uint64_t max_bytes = 1000) {
    return *ArtifactStore::open(folder_.string(), max_bytes);
  }

  std::filesystem::path folder_;
};

TEST_F(ArtifactStoreTest, ReturnsWhatWasStoredAlsoAfterReopening) {
  const Digest digest = sha256("abc");
  ASSERT_TRUE(open()->put(digest, "abc").ok());
  const auto store = open();
  EXPECT_TRUE(store->contains(digest));
  EXPECT_EQ(*store->get(digest), "abc");
  EXPECT_EQ(store->size_bytes(), 3u);
}

TEST_F(ArtifactStoreTest, RefusesBytesOfAnotherDigest) {
  const auto store = open();
  EXPECT_TRUE(absl::IsInvalidArgument(store->put(sha256("abc"), "abd")));
  EXPECT_FALSE(store->contains(sha256("abc")));
}

TEST_F(ArtifactStoreTest, DropsTheLeastRecentlyUsedWhenFull) {
  const auto store = open(10);
  const std::string a(4, 'a');
  const std::string b(4, 'b');
  const std::string c(4, 'c');
  ASSERT_TRUE(store->put(sha256(a), a).ok());
  ASSERT_TRUE(store->put(sha256(b), b).ok());
  ASSERT_TRUE(store->get(sha256(a)).ok());  // b is now the least recent
  ASSERT_TRUE(store->put(sha256(c), c).ok());
  EXPECT_TRUE(store->contains(sha256(a)));
  EXPECT_FALSE(store->contains(sha256(b)));
  EXPECT_TRUE(store->contains(sha256(c)));
  EXPECT_EQ(store->size_bytes(), 8u);
}

TEST_F(ArtifactStoreTest, RefusesWhatIsLargerThanTheStore) {
  EXPECT_TRUE(absl::IsResourceExhausted(open(2)->put(sha256("abc"), "abc")));
}

TEST_F(ArtifactStoreTest, TreatsADamagedFileAsMissingAndTakesItAgain) {
  const auto store = open();
  const Digest digest = sha256("abc");
  ASSERT_TRUE(store->put(digest, "abc").ok());
  std::ofstream(folder_ / digest.hex()) << "torn";
  EXPECT_TRUE(absl::IsNotFound(store->get(digest).status()));
  ASSERT_TRUE(store->put(digest, "abc").ok());
  EXPECT_EQ(*store->get(digest), "abc");
}

TEST_F(ArtifactStoreTest, RemovesUnfinishedFilesAtStart) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "x.1.part") << "half";
  const auto store = open();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.1.part"));
  EXPECT_EQ(store->size_bytes(), 0u);
}

}  // namespace
}  // namespace tf::rpc
