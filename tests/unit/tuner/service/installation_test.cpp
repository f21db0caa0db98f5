#include "tuner/service/installation.h"

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"

namespace tf::service {
namespace {

using testing::HasSubstr;

TEST(Installation, IsTheSameForADatabaseAndAnotherForAnother) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const Installation first = *begin_run(folder.file("a.db"));
  const Installation again = *begin_run(folder.file("a.db"));
  const Installation other = *begin_run(folder.file("b.db"));
  EXPECT_EQ(first.run_number, 1u);
  EXPECT_EQ(again.run_number, 2u);
  EXPECT_EQ(again.id, first.id);
  EXPECT_NE(other.id, first.id);
  EXPECT_EQ(other.run_number, 1u);
}

TEST(Installation, IsOfTheDatabaseItselfByWhateverLinkItIsNamed) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::filesystem::create_symlink("a.db", folder.file("link.db"));
  const Installation first = *begin_run(folder.file("link.db"));
  const Installation again = *begin_run(folder.file("a.db"));
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.run_number, 2u);
}

TEST(Installation, FileThatIsNoneIsRefusedWithItsPath) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  for (const char* text : {"", "x", "0123456789abcdef", "0123456789abcdef one\n", "0123456789abcdef 1 2\n"}) {
    ASSERT_TRUE(write_file(folder.file("a.db.installation"), text).ok());
    const absl::Status refused = begin_run(folder.file("a.db")).status();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("a.db.installation"));
  }
}

}  // namespace
}  // namespace tf::service
