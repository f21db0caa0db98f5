#include "rpc/transfer/artifact_store.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
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
  static absl::Status put_where_files_are_small(ArtifactStore& store, const std::string& bytes) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const absl::Status put = store.put(sha256(bytes), bytes);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    return put;
  }

  std::filesystem::path folder_;
};

TEST_F(ArtifactStoreTest, ReturnsWhatWasStoredAlsoAfterReopening) {
  const Digest digest = sha256("abc");
  ASSERT_TRUE(open()->put(digest, "abc").ok());
  const auto store = open();
  EXPECT_TRUE(store->contains(digest));
  EXPECT_EQ(*store->get(digest), "abc");
  EXPECT_EQ(store->size_of(digest), 3u);
  EXPECT_EQ(store->size_bytes(), 3u);
}

TEST_F(ArtifactStoreTest, RefusesBytesOfAnotherDigest) {
  const auto store = open();
  EXPECT_TRUE(absl::IsInvalidArgument(store->put(sha256("abc"), "abd")));
  EXPECT_FALSE(store->contains(sha256("abc")));
  EXPECT_FALSE(store->size_of(sha256("abc")));
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

TEST_F(ArtifactStoreTest, KeepsTheOrderOfUsesAcrossAReopening) {
  const std::string a(4, 'a'), b(4, 'b'), c(4, 'c');
  {
    const auto store = open(10);
    ASSERT_TRUE(store->put(sha256(a), a).ok());
    ASSERT_TRUE(store->put(sha256(b), b).ok());
    for (const std::string& bytes : {a, b}) {  // as if an hour ago
      std::filesystem::last_write_time(folder_ / sha256(bytes).hex(),
                                       std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    }
    ASSERT_TRUE(store->get(sha256(a)).ok());
  }
  const auto store = open(10);
  ASSERT_TRUE(store->put(sha256(c), c).ok());
  EXPECT_TRUE(store->contains(sha256(a)));
  EXPECT_FALSE(store->contains(sha256(b)));
}

TEST_F(ArtifactStoreTest, WhoHasPutMoreThanHalfOfItMakesRoomAmongHisOwn) {
  const auto store = open(10);
  const auto put = [&](const std::string& bytes, const std::string& whose) {
    EXPECT_TRUE(store->put(Received{sha256(bytes), bytes}, whose).ok());
  };
  const auto has = [&](const std::string& bytes) { return store->contains(sha256(bytes)); };
  const std::string hers(2, 'x'), more(2, 'y');
  put(hers, "alice");
  for (const char each : {'a', 'b', 'c', 'd', 'e'}) put(std::string(2, each), "bob");
  EXPECT_TRUE(has(hers)) << "though the least recently used";
  EXPECT_FALSE(has("aa")) << "the first of his";
  EXPECT_TRUE(has("bb"));
  put(more, "alice");
  EXPECT_FALSE(has("cc")) << "the least recently used, since she has little";
  EXPECT_TRUE(has("dd") && has("ee") && has("bb") && has(hers) && has(more));
}

TEST_F(ArtifactStoreTest, WhoIsAloneMayFillItAndWhatIsLargerThanHalfFindsRoom) {
  const auto store = open(10);
  const std::string large(8, 'x');
  for (const std::string& bytes : {std::string(4, 'a'), std::string(4, 'b'), std::string(2, 'c')})
    ASSERT_TRUE(store->put(Received{sha256(bytes), bytes}, "bob").ok());
  EXPECT_EQ(store->size_bytes(), 10u);
  ASSERT_TRUE(store->put(Received{sha256(large), large}, "alice").ok());
  EXPECT_TRUE(store->contains(sha256(large)));
}

TEST_F(ArtifactStoreTest, NeverEvictsWhatIsPinned) {
  const auto store = open(10);
  const std::string a(4, 'a'), b(4, 'b'), c(4, 'c');
  {
    const auto pin = store->pin(sha256(a));  // before it comes
    ASSERT_TRUE(store->put(sha256(a), a).ok());
    ASSERT_TRUE(store->put(sha256(b), b).ok());
    ASSERT_TRUE(store->put(sha256(c), c).ok());
    EXPECT_TRUE(store->contains(sha256(a))) << "the oldest";
    EXPECT_FALSE(store->contains(sha256(b)));
  }
  ASSERT_TRUE(store->get(sha256(c)).ok());
  ASSERT_TRUE(store->put(sha256(b), b).ok());
  EXPECT_FALSE(store->contains(sha256(a))) << "unpinned";
}

TEST_F(ArtifactStoreTest, RefusesWhatFindsNoRoomBesideWhatIsPinned) {
  const auto store = open(10);
  const std::string a(6, 'a'), b(6, 'b');
  const auto pin = store->pin(sha256(a));
  ASSERT_TRUE(store->put(sha256(a), a).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(store->put(sha256(b), b)));
  EXPECT_EQ(*store->get(sha256(a)), a);
  EXPECT_EQ(store->size_bytes(), 6u);
}

// A limit on the size of files fails the same write that a full disk fails.
TEST_F(ArtifactStoreTest, FullDiskCostsTheNewArtifactAndLeavesNoHalfOfIt) {
  const auto store = open(1 << 20);
  const std::string large(64 << 10, 'x');
  ASSERT_TRUE(store->put(sha256("abc"), "abc").ok());
  const auto pin = store->pin(sha256("abc"));
  const absl::Status full = put_where_files_are_small(*store, large);
  EXPECT_TRUE(absl::IsUnavailable(full)) << full;
  EXPECT_FALSE(store->contains(sha256(large)));
  EXPECT_EQ(*store->get(sha256("abc")), "abc") << "pinned";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  ASSERT_TRUE(store->put(sha256(large), large).ok());
  EXPECT_EQ(*store->get(sha256(large)), large);
}

// The limit stands for all errors but a full disk's, after which removing something would help.
TEST_F(ArtifactStoreTest, WriteThatFailsForAnotherReasonThanAFullDiskEvictsNothing) {
  const auto store = open(1 << 20);
  const std::string large(64 << 10, 'x');
  ASSERT_TRUE(store->put(sha256("abc"), "abc").ok());
  const absl::Status refused = put_where_files_are_small(*store, large);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("File too large"));
  EXPECT_TRUE(store->contains(sha256("abc"))) << "though nothing pins it";
}

TEST_F(ArtifactStoreTest, FileThatCannotBeRemovedStillTakesItsRoom) {
  const auto store = open(10);
  const std::string a(6, 'a'), b(6, 'b');
  ASSERT_TRUE(store->put(sha256(a), a).ok());
  const auto path = folder_ / sha256(a).hex();
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);  // which no unlink removes
  EXPECT_TRUE(absl::IsResourceExhausted(store->put(sha256(b), b)));
  EXPECT_EQ(store->size_bytes(), 6u);
  std::filesystem::remove(path);
  EXPECT_TRUE(store->put(sha256(b), b).ok());
  EXPECT_EQ(store->size_bytes(), 6u);
}

TEST_F(ArtifactStoreTest, LeavesHalfTheMemoryOfTransfersToOthers) {
  const auto store = *ArtifactStore::open(folder_.string(), 1000, 100);
  auto of_ada = store->transfers().begin([] {}), of_bob = store->transfers().begin([] {});
  EXPECT_TRUE(of_ada.take(50, "ada").ok());
  EXPECT_TRUE(absl::IsUnavailable(of_ada.take(1, "ada")));
  EXPECT_TRUE(of_bob.take(50, "bob").ok());
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

TEST_F(ArtifactStoreTest, AProcessThatHasNoDescriptorLeftLosesNoArtifact) {
  const auto store = open();
  const Digest digest = sha256("abc");
  ASSERT_TRUE(store->put(digest, "abc").ok());
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const absl::Status unread = store->get(digest).status();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(absl::IsUnavailable(unread)) << unread;
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
