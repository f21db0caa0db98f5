#include "base/files/output_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"

namespace tf {
namespace {

using testing::HasSubstr;

TEST(OutputFile, ADatabaseIsNotReplaced) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string database("SQLite format 3\0 and so on", 26);
  ASSERT_TRUE(write_file(folder.file("tuning.db"), database).ok());
  std::filesystem::create_symlink("tuning.db", folder.file("link"));
  for (const char* name : {"tuning.db", "link"}) {
    const absl::Status refused = write_output(folder.file(name), "records");
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("a database is there"));
  }
  EXPECT_EQ(*read_file(folder.file("tuning.db")), database);
}

TEST(OutputFile, AnyOtherFileIsReplaced) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  for (const char* there : {"", "SQLite", "records of before, longer than the new ones"}) {
    ASSERT_TRUE(write_file(folder.file("out"), there).ok());
    ASSERT_TRUE(write_output(folder.file("out"), "records").ok());
    EXPECT_EQ(*read_file(folder.file("out")), "records");
  }
  EXPECT_TRUE(check_output("/dev/null").ok());
}

TEST(OutputFile, ACommandsInputIsNotReplacedUnderAnyName) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string input = folder.file("input"), other = folder.file("other");
  ASSERT_TRUE(write_file(input, "text").ok());
  ASSERT_TRUE(write_file(other, "text").ok());
  std::filesystem::create_symlink("input", folder.file("link"));
  std::filesystem::create_hard_link(input, folder.file("twin"));
  const auto refusal = [&](const std::string& output) {
    const absl::Status status = check_is_no_input(output, "-o", {"", folder.file("missing"), input});
    EXPECT_EQ(status.ok(), !absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(input), "cannot write " + input + ": this command uses that file; give another -o");
  for (const char* name : {"link", "twin"}) {
    const std::string path = folder.file(name);
    EXPECT_EQ(refusal(path),
              "cannot write " + path + ": it is " + input + ", which this command uses; give another -o");
  }
  EXPECT_EQ(refusal(folder.file("new")), "");
  EXPECT_EQ(refusal(other), "") << "equal bytes are not the same file";
  EXPECT_TRUE(check_is_no_input("/dev/null", "-o", {"/dev/null"}).ok()) << "a device loses nothing";
}

}  // namespace
}  // namespace tf
