#include "base/files/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "base/files/file.h"

namespace tf {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, GoesWithAllThatIsInIt) {
  std::string path;
  {
    const TemporaryFolder folder = *TemporaryFolder::make();
    path = folder.path();
    ASSERT_TRUE(fs::create_directories(folder.file("a/b")));
    ASSERT_TRUE(write_file(folder.file("a/b/c"), "x").ok());
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, LetsNobodyElseIn) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  EXPECT_EQ(fs::status(folder.path()).permissions(), fs::perms::owner_all);
}

TEST(TemporaryFolder, IsOwnedByOneValueAtATime) {
  std::optional<TemporaryFolder> first = *TemporaryFolder::make();
  const TemporaryFolder second = *std::move(first);
  first.reset();
  EXPECT_TRUE(fs::exists(second.path()));
}

TEST(TemporaryFolder, IsMadeInTheFirstParentThatTakesIt) {
  const TemporaryFolder parent = *TemporaryFolder::make();
  const TemporaryFolder child = *TemporaryFolder::make_in({parent.file("missing"), parent.path()});
  EXPECT_EQ(fs::path(child.path()).parent_path(), parent.path());
}

TEST(TemporaryFolder, NamesTheParentsThatRefuse) {
  const absl::StatusOr<TemporaryFolder> folder = TemporaryFolder::make_in({"/proc", "/missing"});
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(folder.status().message()), testing::HasSubstr("/proc or /missing"));
}

}  // namespace
}  // namespace tf
