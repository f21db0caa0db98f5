#include "database/sqlite/sqlite_store.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/remedy.h"
#include "database/sqlite/file_lock.h"
#include "database/sqlite/migrations.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/store_errors.h"
#include "database/stores/open_store.h"
#include "database/which_count.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string message(const absl::Status& status) {
  return std::string(status.message());
}

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    names.insert(file.path().filename().string());
  return names;
}

// Runs `body` in a forked child; its pid.
template <typename Body>
pid_t in_child(const Body& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  return pid;
}

void kill_and_wait(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(SqliteStore, WhatWasWrittenIsThereAfterOpeningAgain) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  {
    auto store = open_sqlite_store(folder.file("t.db"));
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    ASSERT_TRUE((*store)->insert(measured(100)).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("t.db-wal")));  // one file, which can be copied
  auto records = open_records(folder.file("t.db"));
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ((*(*records)->best({conv_problem()}))->median_ns(), 100);
}

// The index by which these rows are found.
std::string index_of(Connection& db, const std::string& statement, const char* rows = "m") {
  auto plan = db.prepare("EXPLAIN QUERY PLAN " + statement);
  EXPECT_TRUE(plan.ok()) << plan.status();
  const std::string search = absl::StrCat("SEARCH ", rows, " USING INDEX ");
  while (plan.ok() && plan->step().value_or(false)) {
    const std::string step = plan->text(3);
    if (step.starts_with(search)) return step.substr(search.size(), step.find(" (") - search.size());
  }
  return "none";
}

TEST(SqliteStore, ANarrowQuestionReadsNoMoreRowsThanItHas) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(open_sqlite_store(folder.file("t.db")).ok());
  const auto db = Connection::open(folder.file("t.db"), Access::kReadOnly).value();
  BestQuery query{.problem = conv_problem(), .device_class = "desk", .semantics_version = 3};
  EXPECT_EQ(index_of(*db, rows::top_statement(query)), "measurements_best");
  query.of = BestQuery::Of::kUntuned;
  EXPECT_EQ(index_of(*db, rows::top_statement(query)), "measurements_untuned");
  query.of = BestQuery::Of::kEvery;
  query.schedule = "one";
  EXPECT_EQ(index_of(*db, rows::top_statement(query)), "measurements_program");
  for (const bool of_untuned : {false, true}) {
    const std::string answer = "SELECT " + counting_answer_sql("m", of_untuned) + " FROM measurements m";
    for (const char* rows : {"a", "n"})
      EXPECT_EQ(index_of(*db, answer, rows), "measurements_program") << rows;
  }
}

TEST(SqliteStore, AReaderSeesWhatAWriterInTheMiddleOfItsLifeHasCommitted) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  auto store = open_sqlite_store(folder.file("t.db"));
  ASSERT_TRUE(store.ok());
  auto records = open_records(folder.file("t.db"));
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
  ASSERT_TRUE((*store)->insert(measured(100)).ok());
  EXPECT_TRUE((*(*records)->best({conv_problem()})).has_value());
}

TEST(SqliteStore, ASecondWriterInAnotherProcessIsRefusedWithTheFirstOnesPid) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = in_child([&] {
    auto store = open_sqlite_store(folder.file("t.db"));
    [[maybe_unused]] ssize_t n = ::write(ready[1], "x", 1);
    ::pause();
  });
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto refused = open_sqlite_store(folder.file("t.db"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message(refused.status()), HasSubstr("process " + std::to_string(holder) + " is writing it"));
  EXPECT_TRUE(open_records(folder.file("t.db")).ok());
  kill_and_wait(holder);
  EXPECT_TRUE(open_sqlite_store(folder.file("t.db")).ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(SqliteStore, ASecondWriterInTheSameProcessIsRefusedAndDoesNotFreeTheLock) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  auto store = open_sqlite_store(folder.file("t.db"));
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 2; ++i) {
    auto refused = open_sqlite_store(folder.file("t.db"));
    EXPECT_THAT(message(refused.status()),
                HasSubstr("process " + std::to_string(::getpid()) + " is writing it"));
  }
  const pid_t child = in_child([&] { ::_exit(open_sqlite_store(folder.file("t.db")).ok() ? 1 : 0); });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SqliteStore, HasOneWriterByWhateverLinkItIsNamed) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::filesystem::create_symlink("t.db", folder.file("link.db"));
  std::filesystem::create_symlink("link.db", folder.file("link of link.db"));
  const std::string names[] = {folder.file("t.db"), folder.file("link.db"), folder.file("link of link.db")};
  for (const std::string& first : names) {
    const auto store = open_sqlite_store(first);
    ASSERT_TRUE(store.ok()) << store.status();
    for (const std::string& second : names)
      EXPECT_THAT(message(open_sqlite_store(second).status()), HasSubstr("is writing it")) << second;
  }
  EXPECT_TRUE(std::filesystem::exists(folder.file("t.db.lock")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("link.db.lock")));
}

TEST(SqliteStore, AChildThatOutlivesItsWriterDoesNotKeepTheDatabaseLocked) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t writer = in_child([&] {
    auto lock = FileLock::acquire(folder.file("t.db"), "stop it");
    const pid_t orphan = in_child([] { ::pause(); });
    [[maybe_unused]] ssize_t n = ::write(ready[1], &orphan, sizeof orphan);
    ::pause();
  });
  pid_t orphan = 0;
  ASSERT_EQ(::read(ready[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
  EXPECT_FALSE(FileLock::acquire(folder.file("t.db"), "stop it").ok());
  kill_and_wait(writer);
  EXPECT_TRUE(FileLock::acquire(folder.file("t.db"), "stop it").ok());
  ::kill(orphan, SIGKILL);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(SqliteStore, NoAcknowledgedRowIsLostWhenItsProcessIsKilled) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  std::set<int64_t> acknowledged;
  for (int round = 0; round < 3; ++round) {
    int acks[2];
    ASSERT_EQ(::pipe(acks), 0);
    const pid_t child = in_child([&] {
      auto store = open_sqlite_store(path);
      if (!store.ok() || !(*store)->add_workload(conv_workload()).ok()) ::_exit(1);
      for (int64_t i = 1;; ++i) {
        const int64_t ns = round * 1'000'000 + i;
        (*store)->insert_async(measured(ns), Origin::kLive,
                               [&acks, ns](const absl::StatusOr<InsertResult>& result) {
                                 if (result.ok()) [[maybe_unused]]
                                   ssize_t n = ::write(acks[1], &ns, sizeof ns);
                               });
        if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    ::close(acks[1]);
    int64_t ns = 0;
    size_t in_round = 0;
    while (in_round < 500 && ::read(acks[0], &ns, sizeof ns) == sizeof ns) {
      acknowledged.insert(ns);
      ++in_round;
    }
    ::kill(child, SIGKILL);
    while (::read(acks[0], &ns, sizeof ns) == sizeof ns) acknowledged.insert(ns);
    ::waitpid(child, nullptr, 0);
    ::close(acks[0]);
    ASSERT_GE(in_round, 500u);
  }
  auto store = open_sqlite_store(path);
  ASSERT_TRUE(store.ok()) << store.status();
  std::multiset<int64_t> kept;
  ASSERT_TRUE((*store)
                  ->scan({},
                         [&](const Measurement& m) {
                           kept.insert(static_cast<int64_t>(*m.median_ns()));
                           return absl::OkStatus();
                         })
                  .ok());
  for (int64_t ns : acknowledged) EXPECT_EQ(kept.count(ns), 1u) << ns;
}

TEST(SqliteStore, AFileThatIsNoDatabaseIsRefusedAndLeftAsItWas) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("notes.txt"), text(5000, 'n');
  ASSERT_TRUE(write_file(path, text).ok());
  for (absl::Status status : {open_sqlite_store(path).status(), open_records(path).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(message(status), HasSubstr("the file is not a database; give another path"));
  }
  EXPECT_EQ(*read_file(path), text);
  EXPECT_THAT(names_in(folder), testing::ElementsAre("notes.txt"));
}

TEST(SqliteStore, AnotherProgramsDatabaseIsRefusedAndLeftAsItWas) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("other.db");
  {
    auto connection = Connection::open(path, Access::kWrite);
    ASSERT_TRUE((*connection)->execute("CREATE TABLE contacts (name)").ok());
  }
  const std::string before = *read_file(path);
  for (absl::Status status : {open_sqlite_store(path).status(), open_records(path).status()}) {
    EXPECT_THAT(message(status), HasSubstr("an SQLite database of another program"));
  }
  EXPECT_EQ(*read_file(path), before);
  EXPECT_THAT(names_in(folder), testing::ElementsAre("other.db"));
}

// What makes it one of ours may stand in the log only.
TEST(SqliteStore, OfAFileWithALogTheLogIsRead) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db"), copy = folder.file("copy.db");
  const auto store = open_sqlite_store(path);
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
  // As a crash would leave them.
  std::filesystem::copy_file(path, copy);
  std::filesystem::copy_file(path + "-wal", copy + "-wal");
  const auto after = open_sqlite_store(copy);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ((*after)->workloads()->size(), 1u);
}

TEST(SqliteStore, AnEmptyPathIsRefused) {
  const absl::Status refused = open_sqlite_store("").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message(refused), HasSubstr("give --db FILE"));
}

TEST(SqliteStore, APathIsAFileWhateverItMeansToSqlite) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const std::string& path :
       {std::string(":memory:"), std::string("file:a.db?mode=memory"), "/" + folder.file("b.db"),
        "//" + folder.file("c.db"), std::string("d%41#.db")}) {
    const auto written = open_sqlite_store(path);
    EXPECT_TRUE(written.ok()) << path << ": " << written.status();
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
    EXPECT_TRUE(open_sqlite_records(path).ok()) << path;
  }
  std::filesystem::current_path(before);
}

TEST(SqliteStore, ANewerSchemaIsRefusedAndLeftAsItWas) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  ASSERT_TRUE(open_sqlite_store(path).ok());
  ASSERT_TRUE((*Connection::open(path, Access::kWrite))->execute("PRAGMA user_version = 99").ok());
  const std::string before = *read_file(path);
  for (absl::Status status : {open_sqlite_store(path).status(), open_records(path).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(message(status), HasSubstr("its schema has version 99, but this program supports up to"));
  }
  EXPECT_EQ(*read_file(path), before);
}

TEST(SqliteStore, ADamagedFileIsRefusedBeforeAnythingIsWritten) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  {
    auto store = open_sqlite_store(path);
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    for (int i = 1; i < 200; ++i) ASSERT_TRUE((*store)->insert(measured(i)).ok());
  }
  std::string bytes = *read_file(path);
  for (size_t i = 4096 * 3; i < bytes.size(); i += 7) bytes[i] = static_cast<char>(bytes[i] ^ 0x5a);
  ASSERT_TRUE(write_file(path, bytes).ok());
  absl::Status status = open_sqlite_store(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(message(status), HasSubstr("it is damaged"));
  EXPECT_THAT(message(status), Not(HasSubstr("\n")));
  EXPECT_THAT(message(status), HasSubstr(absl::StrCat(" with: (sqlite3 ", path, " .dump | ")));
  EXPECT_TRUE(*read_file(path) == bytes);  // no EXPECT_EQ: it would print a megabyte
}

TEST(SqliteStore, WhatIsDamagedIsToldInOneLineWithWhatRescuesTheRest) {
  EXPECT_EQ(message(damaged_file("t.db", "*** in database main ***\nPage 13: torn")),
            "cannot use t.db as a tuning database: it is damaged (*** in database main *** Page 13: torn); "
            "restore a copy, or rescue what is left into a file NEW with: (sqlite3 t.db .dump | "
            "sed 's/^ROLLBACK.*/COMMIT;/'; for p in application_id user_version; do "
            "echo \"PRAGMA $p=$(sqlite3 t.db \"PRAGMA $p\");\"; done) | sqlite3 NEW");
}

TEST(SqliteStore, ATruncatedFileIsRefused) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  {
    auto store = open_sqlite_store(path);
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    for (int i = 1; i < 200; ++i) ASSERT_TRUE((*store)->insert(measured(i)).ok());
  }
  const std::string bytes = *read_file(path);
  ASSERT_TRUE(write_file(path, bytes.substr(0, bytes.size() / 2)).ok());
  EXPECT_EQ(open_sqlite_store(path).status().code(), absl::StatusCode::kDataLoss);
}

TEST(SqliteStore, MissingFilesAndFoldersAreNamed) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  EXPECT_THAT(message(open_records(folder.file("no.db")).status()), HasSubstr("there is no database"));
  EXPECT_EQ(open_records(folder.file("no.db")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message(open_sqlite_store(folder.file("no/t.db")).status()),
              HasSubstr("cannot be read (No such file or directory); make it"));
  ASSERT_TRUE(write_file(folder.file("empty.db"), "").ok());
  EXPECT_THAT(message(open_records(folder.file("empty.db")).status()), HasSubstr("it is empty"));
  std::filesystem::create_directory(folder.file("folder.db"));
  EXPECT_THAT(message(open_sqlite_store(folder.file("folder.db")).status()), HasSubstr("cannot use"));
}

TEST(SqliteStore, WhatKeepsAFileFromBeingReadIsToldApartFromWhatToDo) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(write_file(folder.file("empty.db"), "").ok());
  ASSERT_TRUE(write_file(folder.file("text.db"), std::string(2000, 'x')).ok());
  std::filesystem::create_directory(folder.file("folder.db"));
  for (const char* name : {"no.db", "empty.db", "text.db", "folder.db"}) {
    const absl::Status status = open_records(folder.file(name)).status();
    const Trouble trouble = trouble_of(status);
    EXPECT_NE(trouble.remedy, "") << status;
    EXPECT_EQ(message(status), trouble.truth + "; " + trouble.remedy);
  }
}

TEST(SqliteStore, AFileCouldBeMadeWhereALinkLeadsToAndNotWhereItStands) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::filesystem::create_symlink("no/t.db", folder.file("t.db"));
  EXPECT_TRUE(is_missing(folder.file("t.db")));
  EXPECT_EQ(folder_of(folder.file("t.db")), folder.file("no"));
  const absl::Status nowhere = check_makeable(folder.file("t.db"));
  EXPECT_EQ(nowhere.code(), absl::StatusCode::kNotFound) << nowhere;
  EXPECT_THAT(trouble_of(nowhere).remedy, HasSubstr("make it"));
  std::filesystem::create_directory(folder.file("no"));
  EXPECT_TRUE(check_makeable(folder.file("t.db")).ok());
  EXPECT_TRUE(open_sqlite_store(folder.file("t.db")).ok());
  EXPECT_TRUE(read_file(folder.file("no/t.db")).ok());
  EXPECT_FALSE(is_missing(folder.file("t.db")));
}

TEST(SqliteStore, AFileIsNoFolderToMakeADatabaseIn) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(write_file(folder.file("plain"), "x").ok());
  EXPECT_TRUE(is_missing(folder.file("plain/t.db")));
  EXPECT_THAT(message(check_makeable(folder.file("plain/t.db"))), HasSubstr("Not a directory"));
}

TEST(SqliteStore, NetworkFileSystemsAreKnownByTheirNumbers) {
  EXPECT_EQ(network_file_system_name(0x6969), "NFS");
  EXPECT_EQ(network_file_system_name(0xfffffffffe534d42), "SMB2");  // sign-extended on 64-bit hosts
  EXPECT_EQ(network_file_system_name(0xef53), "");
}

TEST(SqliteStore, MeasurementsCannotBeChangedOrDeleted) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  {
    auto store = open_sqlite_store(path);
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    ASSERT_TRUE((*store)->insert(measured(100)).ok());
  }
  auto connection = Connection::open(path, Access::kWrite);
  EXPECT_THAT(message((*connection)->execute("DELETE FROM measurements")), HasSubstr("append-only"));
  EXPECT_THAT(message((*connection)->execute("UPDATE measurements SET median_ns = 1")),
              HasSubstr("append-only"));
}

TEST(SqliteStore, WhichResultsOfALeaseAreThereCannotBeChangedNorSaidTwice) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  {
    auto store = open_sqlite_store(path);
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    Measurement m = measured(100);
    m.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L1", .epoch = 1, .sequence = 5};
    ASSERT_TRUE((*store)->insert(m).ok());
  }
  auto connection = Connection::open(path, Access::kWrite);
  for (const char* change : {"DELETE FROM lease_results", "UPDATE lease_results SET sequence = 6",
                             "DELETE FROM leases", "UPDATE leases SET epoch = 2"})
    EXPECT_THAT(message((*connection)->execute(change)), HasSubstr("append-only")) << change;
  for (const char* again : {"INSERT INTO lease_results SELECT * FROM lease_results",
                            "INSERT INTO leases (lease_id, epoch) SELECT lease_id, epoch FROM leases"})
    EXPECT_THAT(message((*connection)->execute(again)), HasSubstr("UNIQUE")) << again;
}

TEST(SqliteStore, AResultIsNoDuplicateBecauseAnAlteredFileSaysSo) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.db");
  Measurement m = measured(100);
  m.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L1", .epoch = 1, .sequence = 5};
  {
    auto store = open_sqlite_store(path);
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    ASSERT_TRUE((*store)->insert(m).ok());
  }
  ASSERT_TRUE((*Connection::open(path, Access::kWrite))
                  ->execute("INSERT INTO lease_results SELECT lease, 6, measurement_id FROM lease_results")
                  .ok());
  auto store = open_sqlite_store(path);
  m.lease->sequence = 6;
  EXPECT_FALSE((*store)->insert(m).ok()) << "it would be acknowledged, and is not there";
}

TEST(SqliteStore, AReaderCannotWrite) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(open_sqlite_store(folder.file("t.db")).ok());
  auto connection = Connection::open(folder.file("t.db"), Access::kReadOnly);
  ASSERT_TRUE(connection.ok());
  EXPECT_EQ((*connection)->execute("DELETE FROM jobs").code(), absl::StatusCode::kPermissionDenied);
}

TEST(SqliteStore, IsSaidToBeMakeableWhereItCouldBeMade) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("new.db");
  EXPECT_TRUE(check_makeable(path).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "it was only asked";
  EXPECT_EQ(check_makeable(folder.file("none/new.db")).code(), absl::StatusCode::kNotFound);
  if (::geteuid() != 0) {
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read);
    EXPECT_EQ(check_makeable(path).code(), absl::StatusCode::kPermissionDenied);
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  }
  ASSERT_TRUE(open_sqlite_store(path).ok());
}

}  // namespace
}  // namespace tf::database
