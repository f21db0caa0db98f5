#include "base/output_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "base/temporary_folder.h"

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

}  // namespace
}  // namespace tf
