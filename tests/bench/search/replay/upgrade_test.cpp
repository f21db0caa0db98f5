#include "tests/bench/search/replay/upgrade.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/temporary_folder.h"
#include "database/sqlite/migrations.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_store.h"

namespace tf::replay {
namespace {

TEST(Upgrade, MakesWhatAnEarlierProgramRecordedReadable) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string old = folder.file("calibration.db"), none = folder.file("none.db");
  {
    const auto connection = database::Connection::open(old, database::Access::kWrite);
    ASSERT_TRUE(connection.ok()) << connection.status();
    ASSERT_TRUE(database::migrate(**connection, {database::migrations().front()}).ok());
  }
  EXPECT_FALSE(database::open_sqlite_records(old).ok());
  const absl::Status upgraded = upgrade({none, old});
  EXPECT_TRUE(upgraded.ok()) << upgraded;
  EXPECT_TRUE(database::open_sqlite_records(old).ok());
  EXPECT_FALSE(std::filesystem::exists(none)) << "what is not there is not made";
}

}  // namespace
}  // namespace tf::replay
