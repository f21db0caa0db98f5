#include "base/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace tf {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }
  std::string file(const std::string& name) const { return root_ + "/" + name; }

  // A node of ours that behaves as the system's device with these numbers; only root may make one.
  bool make_device(const std::string& name, unsigned major, unsigned minor) const {
    return ::mknod(file(name).c_str(), S_IFCHR | 0600, makedev(major, minor)) == 0;
  }

  const std::string root_ = testing::TempDir() + "file_test." + std::to_string(getpid());
};

TEST_F(File, IsReplacedThroughSymbolicLinks) {
  ASSERT_TRUE(write_file(file("plain"), "old").ok());
  fs::create_symlink("plain", file("link"));
  fs::create_symlink("link", file("link of link"));
  ASSERT_TRUE(write_file(file("link of link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(file("link of link")) && fs::is_symlink(file("link")));
  EXPECT_EQ(*read_file(file("plain")), "new");
  fs::create_symlink("made", file("dangling"));
  ASSERT_TRUE(write_file(file("dangling"), "first").ok());
  EXPECT_TRUE(fs::is_symlink(file("dangling")));
  EXPECT_EQ(*read_file(file("made")), "first");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 5) << "a temporary file is left";
}

TEST_F(File, HasItsCompanionsBesideItselfByWhateverLinkItIsNamed) {
  fs::create_directory(file("far"));
  fs::create_symlink("far/plain", file("link"));
  fs::create_symlink("link", file("link of link"));
  for (const bool is_there : {false, true}) {
    if (is_there) {
      ASSERT_TRUE(write_file(file("far/plain"), "").ok());
    }
    for (const char* name : {"far/plain", "link", "link of link"})
      EXPECT_EQ(companion_of(file(name), ".lock"), file("far/plain.lock")) << name << " " << is_there;
  }
  fs::create_symlink("/dev/null", file("device"));
  EXPECT_EQ(companion_of(file("device"), ".lock"), file("device.lock")) << "nothing is made in /dev";
  EXPECT_EQ(companion_of(file("far"), ".lock"), file("far.lock"));
}

TEST_F(File, APipeStaysAndGetsTheBytes) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = *read_file(file("pipe")); });
  EXPECT_TRUE(write_file(file("pipe"), "through").ok());
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(file("pipe")));
}

TEST_F(File, ADeviceStaysAndItsErrorIsReported) {
  if (!make_device("full", 1, 7) || !make_device("null", 1, 3) || ::open(file("null").c_str(), O_WRONLY) < 0)
    GTEST_SKIP() << "this process may not make devices";
  EXPECT_TRUE(write_file(file("null"), "bytes").ok());
  EXPECT_THAT(std::string(write_file(file("full"), "bytes").message()), HasSubstr("No space left"));
  fs::create_symlink("full", file("link"));
  EXPECT_FALSE(write_file(file("link"), "bytes").ok());
  EXPECT_TRUE(fs::is_character_file(file("full")) && fs::is_character_file(file("null")));
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 3);
}

TEST_F(File, WhatStandardOutputIsIsNotReplaced) {
  ASSERT_TRUE(write_file(file("out"), "").ok());
  EXPECT_EXIT(
      {
        if (std::freopen(file("out").c_str(), "w", stdout) == nullptr) std::exit(99);
        std::printf("before ");
        const bool written = write_file("/dev/stdout", "bytes").ok();
        std::printf(" after");
        std::exit(written ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(*read_file(file("out")), "before bytes after");
}

TEST_F(File, IsReadOnlyIfItIsAFileOrAPipeAndNotTooLong) {
  ASSERT_TRUE(write_file(file("plain"), "12345").ok());
  EXPECT_EQ(*read_file(file("plain"), 5), "12345");
  EXPECT_THAT(std::string(read_file(file("plain"), 4).status().message()), HasSubstr("larger than"));
  EXPECT_FALSE(read_file(root_).ok());
  EXPECT_THAT(std::string(read_file("/dev/zero").status().message()), HasSubstr("it is a device"));
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  std::thread writer([&] { write_file(file("pipe"), "123456").IgnoreError(); });
  EXPECT_FALSE(read_file(file("pipe"), 4).ok());
  writer.join();
}

TEST_F(File, IsNotWaitedForWhereOnlyRegularOnesWillDo) {
  ASSERT_TRUE(write_file(file("plain"), "12345").ok());
  EXPECT_EQ(*read_regular_file(file("plain"), 5), "12345");
  EXPECT_FALSE(read_regular_file(file("plain"), 4).ok());
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(std::string(read_regular_file(file("pipe")).status().message()),
              HasSubstr("it is not a regular file"));
  EXPECT_FALSE(read_regular_file(root_).ok());
}

}  // namespace
}  // namespace tf
