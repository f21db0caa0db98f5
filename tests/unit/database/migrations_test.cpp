#include "database/sqlite/migrations.h"

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/sqlite/sqlite_store.h"
#include "database/stores/open_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::HasSubstr;

// What the first schema holds of problem 7: one attempt and one measurement.
constexpr char kProblemOfTheFirstSchema[] =
    "INSERT INTO problems VALUES (7, 1, 'N=1', '', '', 'x86_64', 2);"
    "INSERT INTO attempts VALUES (1, 7, 's', 'a', 'c', 'd', 'l', 1, 5, 1);"
    "INSERT INTO measurements (digest, problem_id, schedule, schedule_digest, semantics_version, "
    "sketch_hash, "
    "slot_values, numerics, outcome, detail, samples, median_ns, cache_mode, device_class, fingerprint, "
    "model, "
    "throttled, governor, artifact_digest, code_digest, job_id, finished_unix_ns) "
    "VALUES (x'01', 7, 'split', x'02', 1, '', '4,2', '', 1, '', x'640000000000000001000000', 100, 1, 'box', "
    "'', '', 0, '', '', '', 5, 1)";

// That the rows of problem 7, and what guards them, came through the replacement of the table that they name.
void expect_first_problem_kept(Store& store, const std::string& path) {
  EXPECT_EQ(*store.count_attempts(5), 1);
  std::vector<Measurement> kept;
  const auto keep = [&](const Measurement& m) { return kept.push_back(m), absl::OkStatus(); };
  ASSERT_TRUE(store.scan({}, keep).ok());
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].schedule, "split");
  EXPECT_EQ(kept[0].median_ns(), 100);
  EXPECT_EQ(kept[0].problem.binding, "N=1");
  auto connection = Connection::open(path, Access::kWrite);
  EXPECT_EQ(*(*connection)->query_int("SELECT reuse_distance_bytes FROM problems WHERE id = 7"), 0);
  EXPECT_EQ(*(*connection)->query_int("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  for (const std::string table : {"attempts", "measurements"}) {
    EXPECT_EQ(*(*connection)
                   ->query_int("SELECT count(*) FROM pragma_foreign_key_list('" + table +
                               "') WHERE \"table\" = 'problems'"),
              1)
        << table;
  }
  for (const char* change : {"DELETE FROM measurements", "UPDATE measurements SET problem_id = 8"})
    EXPECT_THAT(std::string((*connection)->execute(change).message()), HasSubstr("append-only"));
}

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
      ASSERT_TRUE(
          (*connection)
              ->execute("INSERT INTO workloads (key, text, op, flops) VALUES "
                        "(x'e3b98a4da31a127d4bde6e43033f66ba274cab0eb7eb1c70ec41402bf6273dd8', 't', 'o', 1)")
              .ok());
      if (known < 3) {
        const absl::Status inserted = (*connection)->execute(kProblemOfTheFirstSchema);
        ASSERT_TRUE(inserted.ok()) << inserted;
      }
    }
    EXPECT_THAT(std::string(open_records(path).status().message()), HasSubstr("its schema is older"));
    auto store = open_sqlite_store(path);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->workloads()->at(0).text, "t");
    EXPECT_TRUE((*store)->add_job({.model_name = "n"}).ok());
    if (known < 3) expect_first_problem_kept(**store, path);
  }
}

TEST(Migrations, AJobOfBeforeHasNoSubmitter) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  {
    auto connection = Connection::open(path, Access::kWrite);
    ASSERT_TRUE(migrate(**connection, {migrations().begin(), migrations().begin() + 5}).ok());
    const absl::Status inserted =
        (*connection)
            ->execute(
                "INSERT INTO jobs VALUES (3, 'net.onnx', 'd', 'p', 'host', 'desk', '{}', 1, '', 0, 5, 0, 0)");
    ASSERT_TRUE(inserted.ok()) << inserted;
  }
  const auto store = open_sqlite_store(path);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto job = (*store)->find_job(3);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->submitter, "");
  EXPECT_EQ(job->created_unix_ns, 5);
}

// The fifth schema had an index of them.
TEST(Migrations, ResultsOfLeasesAreKnownByTheirStampsAfterwards) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  Measurement known = measured(100);
  known.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L1", .epoch = 2, .sequence = 5};
  {
    auto connection = Connection::open(path, Access::kWrite);
    ASSERT_TRUE(migrate(**connection, {migrations().begin(), migrations().begin() + 5}).ok());
    ASSERT_TRUE(rows::add_workload(**connection, conv_workload()).ok());
    for (const char* row : {"'L1', 2, 4", "'L1', 2, 5", "'L1', 3, 5", "'L2', 2, 5", "NULL, NULL, NULL"}) {
      const absl::Status added =
          (*connection)
              ->execute(
                  absl::StrCat("INSERT OR IGNORE INTO problems VALUES (1, 1, 'N=1', '', '', 'x86_64', 2, 0); "
                               "INSERT INTO measurements (digest, problem_id, schedule, schedule_digest, "
                               "semantics_version, sketch_hash, "
                               "slot_values, numerics, outcome, detail, samples, median_ns, cache_mode, "
                               "device_class, fingerprint, model, "
                               "throttled, governor, artifact_digest, code_digest, slot, lease_id, epoch, "
                               "sequence, job_id, "
                               "finished_unix_ns) SELECT randomblob(32), 1, 's', x'02', 1, '', '', '', 1, "
                               "'', x'640000000000000001000000', "
                               "100, 1, 'box', '', '', 0, '', '', '', 'desk/0', ",
                               row, ", 0, 1"));
      ASSERT_TRUE(added.ok()) << added;
    }
  }
  auto store = open_sqlite_store(path);
  ASSERT_TRUE(store.ok()) << store.status();
  const absl::StatusOr<InsertResult> again = (*store)->insert(known);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->id, 2);
  known.lease->sequence = 6;
  EXPECT_FALSE((*store)->insert(known)->duplicate);
}

// Before the ninth schema dates alone decided; imported records are those without a job.
TEST(Migrations, LocalRowsAreOrderedByInsertionAfterwardsAndImportedOnesByDate) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  {
    auto connection = Connection::open(path, Access::kWrite);
    ASSERT_TRUE(migrate(**connection, {migrations().begin(), migrations().begin() + 8}).ok());
    ASSERT_TRUE(rows::add_workload(**connection, conv_workload()).ok());
    // The schedule's digest, whether it is the untuned one, job, date.
    for (const char* row : {"x'02', 0, 7, 900", "x'02', 0, 7, 100", "x'02', 0, 0, 500", "x'02', 0, 0, 50",
                            "x'02', 0, 7, 60", "x'03', 1, 7, 10", "x'04', 1, 0, 20", "x'04', 0, 0, 20"}) {
      const absl::Status added =
          (*connection)
              ->execute(absl::StrCat(
                  "INSERT OR IGNORE INTO problems VALUES (1, 1, 'N=1', '', '', 'x86_64', 2, 0); "
                  "INSERT INTO measurements (digest, problem_id, schedule, semantics_version, "
                  "sketch_hash, slot_values, numerics, outcome, detail, samples, median_ns, cache_mode, "
                  "device_class, fingerprint, model, throttled, governor, artifact_digest, code_digest, "
                  "schedule_digest, untuned, job_id, finished_unix_ns) "
                  "SELECT randomblob(32), 1, 's', 1, '', '', '', 1, '', "
                  "x'640000000000000001000000', 100, 1, 'box', '', '', 0, '', '', '', ",
                  row));
      ASSERT_TRUE(added.ok()) << added;
    }
  }
  auto store = open_sqlite_store(path);
  ASSERT_TRUE(store.ok()) << store.status();
  std::vector<std::optional<int64_t>> after;
  const auto keep = [&](const Measurement& m) { return after.push_back(m.imported_after), absl::OkStatus(); };
  ASSERT_TRUE((*store)->scan({}, keep).ok());
  EXPECT_EQ(after, (std::vector<std::optional<int64_t>>{{}, {}, 2, 0, {}, {}, 6, 0}));
  auto connection = Connection::open(path, Access::kReadOnly);
  EXPECT_EQ(*(*connection)->query_int("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"), 6);
}

// Before the eleventh schema, times of kernels inside a network decided what a build takes.
TEST(Migrations, TimesInsideNetworksAreDroppedAndTheRestIsKept) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  {
    auto connection = Connection::open(path, Access::kWrite);
    ASSERT_TRUE(migrate(**connection, {migrations().begin(), migrations().begin() + 10}).ok());
    ASSERT_TRUE(rows::add_workload(**connection, conv_workload()).ok());
    // The cache mode, outcome and job; the failure inside the network counts for every build.
    for (const char* row : {"1, 1, 7", "3, 1, 7", "1, 6, 7", "3, 1, 0"}) {
      const std::string sql = absl::StrCat(
          "INSERT OR IGNORE INTO problems VALUES (1, 1, 'N=1', '', '', 'x86_64', 2, 0); "
          "INSERT INTO measurements (digest, problem_id, schedule, semantics_version, sketch_hash, "
          "slot_values, "
          "numerics, detail, samples, median_ns, device_class, fingerprint, model, throttled, governor, "
          "artifact_digest, code_digest, schedule_digest, untuned, finished_unix_ns, cache_mode, outcome, "
          "job_id) "
          "SELECT randomblob(32), 1, 's', 1, '', '', '', '', x'640000000000000001000000', 100, 'box', '', "
          "'', 0, "
          "'', '', '', x'02', 0, 1, ",
          row,
          "; INSERT OR IGNORE INTO leases VALUES (1, 'L', 1); "
          "INSERT INTO lease_results SELECT 1, max(id), max(id) FROM measurements");
      const absl::Status added = (*connection)->execute(sql);
      ASSERT_TRUE(added.ok()) << added;
    }
  }
  auto store = open_sqlite_store(path);
  ASSERT_TRUE(store.ok()) << store.status();
  std::vector<int64_t> kept;
  ASSERT_TRUE(
      (*store)->scan({}, [&](const Measurement& m) { return kept.push_back(m.id), absl::OkStatus(); }).ok());
  EXPECT_THAT(kept, testing::ElementsAre(1, 3));
  EXPECT_TRUE((*store)->verdicts()->empty());
  auto connection = Connection::open(path, Access::kWrite);
  EXPECT_EQ(*(*connection)->query_int("SELECT count(*) FROM lease_results"), 2);
  EXPECT_EQ(*(*connection)->query_int("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  for (const char* change : {"DELETE FROM measurements", "DELETE FROM lease_results"})
    EXPECT_THAT(std::string((*connection)->execute(change).message()), HasSubstr("append-only"));
}

TEST(Migrations, ATableOfTheSameNameIsToBeRenamedFirst) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  {
    auto connection = Connection::open(path, Access::kWrite);
    ASSERT_TRUE(migrate(**connection, {migrations().begin(), migrations().begin() + 6}).ok());
    ASSERT_TRUE((*connection)->execute("CREATE TABLE leases (of_a_flat)").ok());
  }
  const absl::Status refused = open_sqlite_store(path).status();
  EXPECT_THAT(std::string(refused.message()), testing::AllOf(HasSubstr("leases"), HasSubstr("rename")));
}

TEST(Migrations, AStepMayReplaceATableThatOthersName) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  auto connection = Connection::open(folder.file("t.db"), Access::kWrite);
  ASSERT_TRUE(migrate(**connection, {migrations().begin(), migrations().begin() + 2}).ok());
  ASSERT_TRUE(
      (*connection)
          ->execute("INSERT INTO workloads (id, key, text, op, flops) VALUES (1, "
                    "x'e3b98a4da31a127d4bde6e43033f66ba274cab0eb7eb1c70ec41402bf6273dd8', 't', 'o', 1)")
          .ok());
  ASSERT_TRUE((*connection)->execute(kProblemOfTheFirstSchema).ok());
  ASSERT_TRUE((*connection)->execute("PRAGMA foreign_keys = ON").ok());
  const absl::Status status = migrate(**connection);
  EXPECT_TRUE(status.ok()) << status;
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
