#include "database/migrations.h"

#include "base/temporary_folder.h"
#include "database/open_records.h"
#include "database/sqlite_connection.h"
#include "database/sqlite_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::HasSubstr;

TEST(Migrations, AreNumberedFromOneWithoutGaps) {
  for (size_t i = 0; i < migrations().size(); ++i)
    EXPECT_EQ(migrations()[i].version, static_cast<int>(i + 1));
}

TEST(Migrations, EveryEarlierVersionBecomesCurrent) {
  for (size_t known = 1; known < migrations().size(); ++known) {
    const TemporaryFolder folder = *TemporaryFolder::make();
    const std::string path = folder.file("t.db");
    {
      auto connection = Connection::open(path, Access::kWrite);
      ASSERT_TRUE(
          migrate(**connection, {migrations().begin(), migrations().begin() + static_cast<long>(known)})
              .ok());
      EXPECT_EQ(*schema_state(**connection), SchemaState::kOlder);
      ASSERT_TRUE((*connection)
                      ->execute("INSERT INTO workloads (key, text, op, flops) VALUES (x'00', 't', 'o', 1)")
                      .ok());
      if (known < 3) {
        EXPECT_TRUE((*connection)
                        ->execute("INSERT INTO problems VALUES (7, 1, 'N=1', '', '', 'x86_64', 2);"
                                  "INSERT INTO attempts VALUES (1, 7, 's', 'a', 'c', 'd', 'l', 1, 5, 1)")
                        .ok());
      }
    }
    EXPECT_THAT(std::string(open_records(path).status().message()), HasSubstr("its schema is older"));
    auto store = open_sqlite_store(path);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->workloads()->at(0).text, "t");
    EXPECT_TRUE((*store)->add_job({.model_name = "n"}).ok());
    if (known >= 3) continue;
    EXPECT_EQ(*(*store)->count_attempts(5), 1);
    auto connection = Connection::open(path, Access::kReadOnly);
    EXPECT_EQ(*(*connection)->query_int("SELECT reuse_distance_bytes FROM problems WHERE id = 7"), 0);
    EXPECT_EQ(*(*connection)->query_int("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    EXPECT_EQ(
        *(*connection)
             ->query_int(
                 "SELECT count(*) FROM pragma_foreign_key_list('attempts') WHERE \"table\" = 'problems'"),
        1);
  }
}

TEST(Migrations, AFailingStepLeavesTheVersionBeforeIt) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  auto connection = Connection::open(folder.file("t.db"), Access::kWrite);
  const std::vector<Migration> steps = {{1, "0001_good", "CREATE TABLE a (x)"},
                                        {2, "0002_bad", "CREATE TABLE b (x); CREATE TABLE a (x)"}};
  absl::Status status = migrate(**connection, steps);
  EXPECT_THAT(std::string(status.message()), HasSubstr("by 0002_bad"));
  EXPECT_EQ(*(*connection)->query_int("PRAGMA user_version"), 1);
  EXPECT_EQ(*(*connection)->query_int("SELECT count(*) FROM sqlite_schema"), 1);
}

}  // namespace
}  // namespace tf::database
