// A database that somebody wrote who means no good: its tables look right, its rows are not.

#include <gmock/gmock.h>
#include <sqlite3.h>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/record_json.h"
#include "database/sqlite/sqlite_store.h"
#include "database/stores/open_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What keeps rows right is taken away first.
constexpr char kDisarm[] =
    "DROP TRIGGER measurements_fixed; PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;";
// The next connection finds tables that take any value anywhere.
constexpr char kAnyType[] =
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT, ', ''), "
    "'STRICT', ''); "
    "PRAGMA writable_schema = OFF;";

class HostileRows : public testing::Test {
 protected:
  void SetUp() override {
    auto store = open_sqlite_store(path_);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    ASSERT_TRUE((*store)->insert(measured(100)).ok());
    const int64_t job = (*store)->add_job({.model_name = "m"}).value();
    ASSERT_TRUE((*store)->save_job_tasks({{.job_id = job, .problem = conv_problem(), .label = "l"}}).ok());
  }

  void execute(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << sql << ": " << error;
    sqlite3_free(error);
    sqlite3_close(db);
  }

  // Everything that is ever asked of rows of measurements.
  std::vector<absl::Status> ask() {
    auto records = open_records(path_);
    if (!records.ok()) return {records.status()};
    const auto nothing = [](const Measurement&) { return absl::OkStatus(); };
    return {(*records)->best({conv_problem()}).status(), (*records)->scan({}, nothing),
            (*records)->find_record(record_digest(measured(100))).status(), (*records)->find_row(1).status(),
            (*records)->points(0, [](const Point&) { return absl::OkStatus(); })};
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string path_ = folder_.file("t.db");
};

// Each as the only fault of its own copy, and what the one line says of it.
struct Fault {
  const char* change;
  const char* said;
};

TEST_F(HostileRows, OfMeasurementsAreRefusedInOneLineThatNamesThem) {
  const Fault faults[] = {
      {"UPDATE measurements SET samples = x'00'", "12 does not divide"},
      {"UPDATE measurements SET samples = x'ffffffffffffffff01000000'", "a sample of -1 ns"},
      {"UPDATE measurements SET samples = x'ffffffffffffff7f01000000'", "a sample of 9223372036854775807 ns"},
      {"UPDATE measurements SET samples = zeroblob(12 * 200000)", "200000 samples"},
      {"UPDATE measurements SET median_ns = 1", "its median is 1 ns, that of its samples 100 ns"},
      {"UPDATE measurements SET median_ns = 9e999", "its median is inf"},
      {"UPDATE measurements SET schedule = printf('%.*c', 5000000, 'x')", "a text of 5000000 bytes"},
      {"UPDATE measurements SET detail = printf('%.*c', 80000000, 'x')", "more than 64 MB"},
      {"UPDATE measurements SET slot_values = '1,two'", "the slot value \"two\""},
      {"UPDATE measurements SET slot_values = '9223372036854775808'", "the slot value"},
      {"UPDATE measurements SET cache_mode = 257", "its cache_mode is 257"},
      {"UPDATE measurements SET cache_mode = 3", "the cache mode 3"},
      {"UPDATE measurements SET semantics_version = -1", "its semantics_version is -1"},
      {"UPDATE measurements SET finished_unix_ns = -5", "-5 ns after 1970"},
      {"UPDATE measurements SET match_unix_ns = 5", "took 100 ns, from nan to nan"},
      {"UPDATE measurements SET match_unix_ns = 5, match_low_ns = 1, match_high_ns = 9e999", "from 1 to inf"},
      {"UPDATE problems SET threads = -1", "its threads is -1"},
      {"UPDATE problems SET threads = 0", "is of 0 threads"},
      {"UPDATE problems SET reuse_distance_bytes = -1", "its reuse_distance_bytes is -1"},
  };
  const std::string clean = *read_file(path_);
  for (const Fault& fault : faults) {
    ASSERT_TRUE(write_file(path_, clean).ok());
    execute(std::string(kDisarm) + fault.change);
    int refused = 0;
    for (const absl::Status& status : ask()) {
      if (status.ok() || absl::IsNotFound(status))
        continue;  // what is asked for does not name that row any more
      ++refused;
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << fault.change << ": " << status;
      EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(fault.said), Not(HasSubstr("\n"))))
          << fault.change;
    }
    EXPECT_GT(refused, 0) << fault.change;
  }
}

TEST_F(HostileRows, OfOtherTypesThanTheirColumnsAreRefused) {
  const std::string clean = *read_file(path_);
  for (const char* change :
       {"UPDATE measurements SET schedule = x'00ff'", "UPDATE measurements SET samples = 'text'",
        "UPDATE measurements SET max_error = 'nan'", "UPDATE measurements SET throttled = 'yes'",
        "UPDATE measurements SET lease_id = 'l', epoch = 'e'", "UPDATE measurements SET outcome = 1.5",
        "UPDATE problems SET target = x'00'"}) {
    ASSERT_TRUE(write_file(path_, clean).ok());
    execute(std::string(kDisarm) + kAnyType);
    execute(change);
    int refused = 0;
    for (const absl::Status& status : ask()) {
      if (status.ok() || absl::IsNotFound(status)) continue;
      ++refused;
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << change << ": " << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("has an invalid type")) << change;
    }
    EXPECT_GT(refused, 0) << change;
  }
}

TEST_F(HostileRows, OfOtherTablesAreRefused) {
  execute("UPDATE workloads SET text = 'compute something else'");
  EXPECT_THAT(std::string(open_records(path_).value()->workloads().status().message()),
              HasSubstr("row 1 of workloads: its key does not match its text"));
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_EQ((*store)->jobs()->size(), 1u);
  store->reset();
  for (const char* weight : {"9e999", "-1"}) {
    execute(std::string("UPDATE job_tasks SET weight = ") + weight);
    EXPECT_THAT(std::string(open_sqlite_store(path_).value()->job_tasks(1).status().message()),
                HasSubstr("row 1 of job_tasks: its weight is "));
  }
  execute("UPDATE job_tasks SET weight = 1; UPDATE problems SET threads = -3");
  store = open_sqlite_store(path_);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(std::string((*store)->job_tasks(1).status().message()), HasSubstr("its threads is -3"));
  EXPECT_THAT(std::string((*store)->problems().status().message()), HasSubstr("row 1 of problems"));
  store->reset();
  execute("PRAGMA ignore_check_constraints = ON; UPDATE jobs SET state = 77");
  EXPECT_THAT(std::string(open_sqlite_store(path_).status().message()), HasSubstr("it is damaged"));
}

TEST_F(HostileRows, ThatNameNoProblemAreNoAnswer) {
  execute(std::string(kDisarm) + "UPDATE measurements SET problem_id = 99");
  auto records = open_records(path_);
  ASSERT_TRUE(records.ok());
  EXPECT_FALSE((*records)->best({conv_problem()})->has_value());
}

TEST_F(HostileRows, ThatAnIndexGivesToAnotherProblemAreNotVisitedForIt) {
  execute(
      "INSERT INTO problems SELECT 2, workload_id, 'N=2', in_layouts, out_layouts, target, threads, "
      "reuse_distance_bytes FROM problems; DROP INDEX measurements_program; "
      "CREATE INDEX measurements_program ON measurements (problem_id + 1, substr(schedule_digest, 1, 8)); "
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'problem_id + 1', "
      "'problem_id') "
      "WHERE name = 'measurements_program'; PRAGMA writable_schema = OFF;");
  tensor::KernelKey other = conv_problem();
  other.binding = "N=2";
  int visits = 0;
  const auto count = [&](const Measurement&) { return ++visits, absl::OkStatus(); };
  const absl::Status scanned = open_records(path_).value()->scan({.problem = other}, count);
  EXPECT_TRUE(scanned.ok()) << scanned;
  EXPECT_EQ(visits, 0);
}

TEST_F(HostileRows, OfVerdictsAreRefusedInOneLineThatNamesThem) {
  const std::string workload = to_json(conv_workload());
  for (const std::string& line : {std::string("{"), workload}) {
    execute(absl::StrCat("DELETE FROM network_verdicts; INSERT INTO network_verdicts VALUES (x'00', 1, '",
                         line, "')"));
    const absl::Status refused = open_records(path_).value()->verdicts().status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("network_verdicts"));
  }
}

TEST_F(HostileRows, AreNotWhatADigestNames) {
  execute(std::string(kDisarm) + "UPDATE measurements SET schedule = 'another one'");
  const absl::Status status = open_records(path_).value()->find_record(record_digest(measured(100))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("it does not match its digest"));
}

// The same of lines, which people edit and merge.
TEST(HostileLines, WithValuesThatNoRecordHasAreRefused) {
  const std::string line = to_json(measured(100));
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string changed = line;
    const size_t at = changed.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return changed.replace(at, what.size(), instead);
  };
  ASSERT_TRUE(parse_json_line(line).ok());
  for (const std::string& bad :
       {with("[1000,10]", "[-1000,10]"), with("[1000,10]", "[1000,-10]"), with("[1000,10]", "[1e300,10]"),
        with("[1000,10]", "[1000,4294967297]"), with("[1000,10]", "[1000]"), with("[1000,10]", "\"x\""),
        with("\"threads\":2", "\"threads\":-2"), with("\"threads\":2", "\"threads\":0"),
        with("\"threads\":2", "\"threads\":1e9"), with("\"finished_unix_ns\":1", "\"finished_unix_ns\":-1"),
        with("\"semantics_version\":3", "\"semantics_version\":18446744073709551615")}) {
    const absl::Status status = parse_json_line(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace tf::database
