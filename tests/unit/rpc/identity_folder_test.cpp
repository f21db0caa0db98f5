#include "rpc/identity/identity_folder.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/files/temporary_folder.h"

namespace tf::rpc {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const std::string& path) {
  struct stat there {};
  EXPECT_EQ(::stat(path.c_str(), &there), 0) << path;
  return there.st_mode & 07777;
}

TEST(PrivateFolder, IsMadeForItsOwnerAloneAndFoundAgain) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  for (const char* name : {"box.tls", "slash.tls/", "deep/er/box.tls"}) {
    EXPECT_TRUE(make_private_folder(dir.file(name)).ok()) << name;
    EXPECT_EQ(mode_of(dir.file(name)), 0700u) << name;
    EXPECT_TRUE(make_private_folder(dir.file(name)).ok()) << name;
  }
}

TEST(PrivateFolder, OneThatOthersUseIsRefusedAndStaysAsItIs) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const std::string shared = dir.file("etc");
  fs::create_directory(shared);
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  const absl::Status made = make_member_key(shared).status();
  EXPECT_TRUE(absl::IsPermissionDenied(made)) << made;
  EXPECT_THAT(std::string(made.message()), testing::HasSubstr("give a new folder"));
  EXPECT_EQ(mode_of(shared), 01777u);
  EXPECT_TRUE(fs::is_empty(shared));
}

}  // namespace
}  // namespace tf::rpc
