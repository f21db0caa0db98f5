// Another program, which knows nothing of FILE.lock, holds the file locked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::HasSubstr;

TEST(LockedFile, AWriteWaitsAsLongAsItIsToldToForAProgramThatHoldsTheFileLocked) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  std::unique_ptr<Connection> other;
  std::vector<std::string> told;
  bool waits = true;
  auto store = open_sqlite_store(path, {.write = {.keep_trying = [&](const absl::Status& locked) {
                                          told.emplace_back(locked.message());
                                          if (waits) other = nullptr;  // it ends
                                          return waits;
                                        }}});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
  const auto lock = [&] {
    other = *Connection::open(path, Access::kWrite);
    ASSERT_TRUE(other->execute("BEGIN IMMEDIATE").ok());
  };
  lock();
  EXPECT_TRUE((*store)->insert(measured(100)).ok());
  EXPECT_THAT(told, testing::ElementsAre(HasSubstr("another program has locked it")));
  lock();
  waits = false;
  EXPECT_TRUE(absl::IsUnavailable((*store)->insert(measured(200)).status()));
}

}  // namespace
}  // namespace tf::database
