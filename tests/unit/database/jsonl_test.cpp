#include "database/jsonl.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/memory_store.h"
#include "database/record_json.h"
#include "database/sqlite/sqlite_store.h"
#include "database/stores/open_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::HasSubstr;

// A few problems with several measurements each, some of them better but not to be believed.
void fill(Store& store) {
  ASSERT_TRUE(store.add_workload(conv_workload()).ok());
  ASSERT_TRUE(store.add_workload({.text = "softmax", .op = "softmax", .flops = 10}).ok());
  for (uint32_t threads : {1u, 2u}) {
    for (int64_t ns : {300, 100, 100, 200}) {
      Measurement m = measured(ns, ns + threads);
      m.problem.threads = threads;
      ASSERT_TRUE(store.insert(m).ok());
    }
    Measurement wrong = measured(5, threads);
    wrong.problem.threads = threads;
    wrong.outcome = Outcome::kWrongOutput;
    wrong.max_error = std::numeric_limits<double>::quiet_NaN();
    wrong.detail = "bytes that are no text: \xff\xfe";
    wrong.lease = LeaseStamp{.slot = "s", .lease_id = "L", .epoch = 3, .sequence = threads};
    ASSERT_TRUE(store.insert(wrong).ok());
  }
  ASSERT_TRUE(store.save_verdict(some_verdict(), Origin::kLive).ok());
}

TEST(Jsonl, AnExportThatDoesNotFitNamesItsFile) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  auto from = open_sqlite_store(folder.file("from.db"));
  ASSERT_TRUE(from.ok());
  fill(**from);
  const absl::Status full = export_jsonl_file(**from, {}, "/dev/full").status();
  EXPECT_TRUE(absl::IsDataLoss(full)) << full;
  EXPECT_EQ(std::string(full.message()),
            "the export is incomplete: cannot write to /dev/full: free some space there, or give another -o");
}

TEST(Jsonl, AnExportImportedIntoAnEmptyDatabaseHasTheSameBestForEveryProblem) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  auto from = open_sqlite_store(folder.file("from.db"));
  auto to = open_sqlite_store(folder.file("to.db"));
  ASSERT_TRUE(from.ok() && to.ok());
  fill(**from);
  ASSERT_TRUE(export_jsonl_file(**from, {}, folder.file("r.jsonl")).ok());
  absl::StatusOr<TransferCounts> counts = import_jsonl(folder.file("r.jsonl"), **to);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->measurements, 8);  // two of each ten are the same record twice
  EXPECT_EQ(counts->workloads, 2);
  EXPECT_EQ(counts->verdicts, 1);
  EXPECT_EQ(*(*to)->verdicts(), *(*from)->verdicts());
  const std::vector<tensor::KernelKey> problems = *(*from)->problems();
  ASSERT_EQ(problems.size(), 2u);
  for (const tensor::KernelKey& problem : problems) {
    auto before = *(*from)->best({problem}), after = *(*to)->best({problem});
    ASSERT_TRUE(before && after);
    EXPECT_EQ(record_digest(*before), record_digest(*after));
  }
}

TEST(Jsonl, ARepeatedImportCountsNothingAsNew) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::unique_ptr<Store> from = make_memory_store(), to = make_memory_store();
  fill(*from);
  ASSERT_TRUE(export_jsonl_file(*from, {}, folder.file("r.jsonl")).ok());
  ASSERT_EQ(import_jsonl(folder.file("r.jsonl"), *to).value().verdicts, 1);
  const TransferCounts again = import_jsonl(folder.file("r.jsonl"), *to).value();
  EXPECT_EQ(again.workloads, 0);
  EXPECT_EQ(again.measurements, 0);
  EXPECT_EQ(again.verdicts, 0);
  EXPECT_EQ(again.duplicates, 8);
}

TEST(Jsonl, AnExportOfAnImportIsTheSameBytes) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::unique_ptr<Store> store = make_memory_store();
  fill(*store);
  ASSERT_TRUE(export_jsonl_file(*store, {}, folder.file("r.jsonl")).ok());
  auto sqlite = open_sqlite_store(folder.file("t.db"));
  ASSERT_TRUE(sqlite.ok());
  ASSERT_TRUE(import_jsonl(folder.file("r.jsonl"), **sqlite).ok());
  std::ostringstream again;
  ASSERT_TRUE(export_jsonl(**sqlite, {}, again).ok());
  EXPECT_EQ(again.str(), *read_file(folder.file("r.jsonl")));
}

// As version 1 wrote them.
TEST(Jsonl, TimesInsideNetworksAreLeftOutAndCounted) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::string inside = to_json(measured(50));
  const size_t mode = inside.find("\"rotate\"");
  ASSERT_NE(mode, std::string::npos);
  inside.replace(mode, 8, "\"network\"");
  ASSERT_TRUE(
      write_file(folder.file("r.jsonl"), absl::StrCat(to_json(JsonHeader{1}), "\n", to_json(conv_workload()),
                                                      "\n", inside, "\n", to_json(measured(100)), "\n"))
          .ok());
  const std::unique_ptr<Store> store = make_memory_store();
  const absl::StatusOr<TransferCounts> counts = import_jsonl(folder.file("r.jsonl"), *store);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->measurements, 1);
  EXPECT_EQ(counts->left_out, 1);
  EXPECT_EQ((*store->best({conv_problem()}))->median_ns(), 100);
}

TEST(Jsonl, AHostileLineIsOneLineOfAMessage) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::unique_ptr<Store> store = make_memory_store();
  const std::string header = R"({"type":"tunefarm-records","version":1})";
  for (const std::string& text :
       {header + "\n" + R"({"type":"\u001b]0;owned\u0007\nsecond line"})",
        header + "\n{\"type\":\"" + std::string(9999, 'x') + "\"}",
        std::string(R"({"type":"tunefarm-records","version":99999999999999999999})"),
        std::string(R"({"type":"tunefarm-records","version":-1})"),
        std::string(R"({"type":"tunefarm-records","version":1.9})")}) {
    ASSERT_TRUE(write_file(folder.file("r.jsonl"), text + "\n").ok());
    const absl::Status refused = import_jsonl(folder.file("r.jsonl"), *store).status();
    ASSERT_FALSE(refused.ok()) << text.substr(0, 80);
    EXPECT_LT(refused.message().size(), 500u);
    for (const char c : refused.message()) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << refused;
  }
}

TEST(Jsonl, ASecondImportChangesNothing) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::unique_ptr<Store> store = make_memory_store();
  fill(*store);
  ASSERT_TRUE(export_jsonl_file(*store, {}, folder.file("r.jsonl")).ok());
  absl::StatusOr<TransferCounts> counts = import_jsonl(folder.file("r.jsonl"), *store);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->measurements, 0);
  EXPECT_EQ(counts->duplicates, 8);
}

// Two farms, or one before and after its tracker's state was lost, reuse slots with other epochs.
TEST(Jsonl, ExportsOfTwoEpochsOfASlotImportInAnyOrder) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  for (uint64_t epoch : {3u, 8u}) {
    std::unique_ptr<Store> store = make_memory_store();
    ASSERT_TRUE(store->add_workload(conv_workload()).ok());
    Measurement m = measured(static_cast<int64_t>(epoch) * 100);
    m.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L", .epoch = epoch, .sequence = 1};
    ASSERT_TRUE(store->insert(m).ok());
    ASSERT_TRUE(export_jsonl_file(*store, {}, folder.file(std::to_string(epoch) + ".jsonl")).ok());
  }
  for (const auto& [first, second] : {std::pair("3", "8"), std::pair("8", "3")}) {
    auto both = open_sqlite_store(folder.file(std::string(first) + "first.db"));
    ASSERT_TRUE(both.ok()) << both.status();
    for (const std::string name : {first, second}) {
      absl::StatusOr<TransferCounts> counts = import_jsonl(folder.file(name + ".jsonl"), **both);
      ASSERT_TRUE(counts.ok()) << counts.status();
      EXPECT_EQ(counts->measurements, 1);
    }
    // And the file that holds both reads as records.
    ASSERT_TRUE(export_jsonl_file(**both, {}, folder.file("both.jsonl")).ok());
    auto records = open_records(folder.file("both.jsonl"));
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_EQ((*(*records)->best({conv_problem()}))->median_ns(), 300);
  }
}

TEST(Jsonl, AFilteredExportBringsOnlyTheWorkloadsItNeeds) {
  std::unique_ptr<Store> store = make_memory_store();
  fill(*store);
  std::ostringstream out;
  absl::StatusOr<TransferCounts> counts = export_jsonl(*store, {.which = Filter::Which::kOk}, out);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->workloads, 1);
  EXPECT_EQ(counts->measurements, 6);
}

TEST(Jsonl, ABadLineIsNamedAndNothingIsImported) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::unique_ptr<Store> from = make_memory_store(), to = make_memory_store();
  fill(*from);
  ASSERT_TRUE(export_jsonl_file(*from, {}, folder.file("r.jsonl")).ok());
  std::ofstream(folder.file("r.jsonl"), std::ios::app) << "{\"type\": \"measurement\", \"schedule\": 3}\n";
  absl::StatusOr<TransferCounts> counts = import_jsonl(folder.file("r.jsonl"), *to);
  EXPECT_EQ(counts.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(counts.status().message()), HasSubstr("r.jsonl:13: not a record"));
  EXPECT_TRUE(to->workloads()->empty());
}

TEST(Jsonl, ATimeThatNoCoreReachesIsRefused) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto refusal = [&](const Measurement& m) {
    std::unique_ptr<Store> from = make_memory_store(), to = make_memory_store();
    EXPECT_TRUE(from->add_workload(conv_workload()).ok());
    EXPECT_TRUE(from->insert(m).ok()) << "a device may say it";
    EXPECT_TRUE(export_jsonl_file(*from, {}, folder.file("r.jsonl")).ok());
    const absl::Status refused = import_jsonl(folder.file("r.jsonl"), *to).status();
    EXPECT_EQ(to->workloads()->empty(), !refused.ok());
    return std::string(refused.message());
  };
  Measurement m = measured(100);
  EXPECT_EQ(refusal(m), "");
  for (const Sample sample : {Sample{1, 1'000'000}, Sample{0, 1}, Sample{5, 0}}) {
    m.samples = {{1000, 10}, sample};
    EXPECT_THAT(refusal(m), HasSubstr("r.jsonl:3: it has a sample of "));
  }
  m.samples.clear();
  EXPECT_THAT(refusal(m), HasSubstr("r.jsonl:3: it is ok but has no sample"));
  m.outcome = Outcome::kTimedOut;
  EXPECT_EQ(refusal(m), "");
  m = measured(100);
  m.interleaved = Interleaved{.began_unix_ns = 1, .ns = 100, .interval_ns = {99, 101}};
  EXPECT_EQ(refusal(m), "");
  m.interleaved = Interleaved{.began_unix_ns = 1, .ns = 1e-9, .interval_ns = {1e-9, 1e-9}};
  EXPECT_THAT(refusal(m), HasSubstr("r.jsonl:3: it took 1e-09 ns in a final re-measurement"));
}

TEST(Jsonl, ARecordDatedInTheFutureIsRefusedAndNothingIsImported) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto import_dated = [&](absl::Time date) {
    std::unique_ptr<Store> from = make_memory_store(), to = make_memory_store();
    EXPECT_TRUE(from->add_workload(conv_workload()).ok());
    EXPECT_TRUE(from->insert(measured(200)).ok());
    EXPECT_TRUE(from->insert(measured(100, absl::ToUnixNanos(date))).ok()) << "a clock may be wrong";
    EXPECT_TRUE(export_jsonl_file(*from, {}, folder.file("r.jsonl")).ok());
    const absl::Status status = import_jsonl(folder.file("r.jsonl"), *to).status();
    EXPECT_EQ(to->workloads()->empty(), !status.ok());
    return status;
  };
  EXPECT_TRUE(import_dated(absl::Now()).ok());
  EXPECT_TRUE(import_dated(absl::Now() + absl::Minutes(4)).ok()) << "clocks differ a little";
  const absl::Status refused = import_dated(absl::Now() + absl::Hours(48));
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              testing::AllOf(HasSubstr("r.jsonl:4: it was measured at 20"),
                             HasSubstr("which is in the future: set this machine's clock")));
}

TEST(Jsonl, ATruncatedLastLineIsRefused) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::unique_ptr<Store> from = make_memory_store();
  fill(*from);
  ASSERT_TRUE(export_jsonl_file(*from, {}, folder.file("r.jsonl")).ok());
  std::string text = *read_file(folder.file("r.jsonl"));
  ASSERT_TRUE(write_file(folder.file("r.jsonl"), text.substr(0, text.size() - 40)).ok());
  EXPECT_THAT(std::string(open_records(folder.file("r.jsonl")).status().message()),
              HasSubstr("r.jsonl:12: "));
}

TEST(Jsonl, AForeignOrNewerOrEmptyFileIsRefused) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("r.jsonl");
  ASSERT_TRUE(write_file(path, "{\"type\": \"tunefarm-records\", \"version\": 99}\n").ok());
  EXPECT_THAT(std::string(open_records(path).status().message()),
              HasSubstr("version 99, but this program reads up to 2"));
  ASSERT_TRUE(write_file(path, to_json(conv_workload()) + "\n").ok());
  EXPECT_THAT(std::string(open_records(path).status().message()), HasSubstr("first line is not a header"));
  ASSERT_TRUE(write_file(path, "").ok());
  EXPECT_THAT(std::string(open_records(path).status().message()), HasSubstr("is empty"));
  EXPECT_THAT(std::string(open_records(folder.file("no.jsonl")).status().message()),
              HasSubstr("cannot read"));
}

TEST(Jsonl, AWorkloadWhoseKeyIsNotItsDigestIsRefused) {
  std::string line = to_json(conv_workload());
  line.replace(line.find("conv2d(N"), 6, "conv3d");
  EXPECT_THAT(std::string(parse_json_line(line).status().message()),
              HasSubstr("is not the SHA-256 of its text"));
}

TEST(Jsonl, OpensAsRecordsWithTheSameBest) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::unique_ptr<Store> store = make_memory_store();
  fill(*store);
  ASSERT_TRUE(export_jsonl_file(*store, {}, folder.file("r.jsonl")).ok());
  auto records = open_records(folder.file("r.jsonl"));
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ((*(*records)->best({conv_problem()}))->median_ns(), 100);
}

TEST(Jsonl, AnExportTellsMediansAndTheirBoundsWhichAnImportTakesFromTheSamples) {
  auto store = make_memory_store();
  ASSERT_TRUE(store->add_workload(conv_workload()).ok());
  Measurement m = measured(100);
  m.samples.assign(12, {1000, 10});
  ASSERT_TRUE(store->insert(m).ok());
  std::ostringstream out;
  ASSERT_TRUE(export_jsonl(*store, {}, out).ok());
  EXPECT_THAT(out.str(), HasSubstr("\"median_ns\":100.0"));
  EXPECT_THAT(out.str(), HasSubstr("\"interval_ns\":[99.5"));
  std::istringstream lines(out.str());
  std::string line, last;
  while (std::getline(lines, line)) last = line;
  const absl::StatusOr<JsonLine> parsed = parse_json_line(last);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(record_digest(std::get<Measurement>(*parsed)), record_digest(m));
}

// A file of one measurement whose line is changed before it is read; empty: it was imported.
std::string import_fault(const Measurement& m, const std::string& from, const std::string& to) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::unique_ptr<Store> store = make_memory_store(), other = make_memory_store();
  EXPECT_TRUE(store->add_workload(conv_workload()).ok());
  EXPECT_TRUE(store->insert(m).ok());
  std::ostringstream out;
  EXPECT_TRUE(export_jsonl(*store, {}, out).ok());
  std::string text = out.str();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  if (at == std::string::npos) return "not changed";
  text.replace(at, from.size(), to);
  return std::string(import_jsonl_text("r.jsonl", text, *other).status().message());
}

TEST(Jsonl, AnImportRefusesATimeThatItsSamplesDoNotGive) {
  Measurement m = measured(100);
  m.samples.assign(12, {1000, 10});
  EXPECT_EQ(import_fault(m, "", ""), "");
  EXPECT_THAT(
      import_fault(m, "\"median_ns\":100.0", "\"median_ns\":1.5"),
      HasSubstr("r.jsonl:3: not a record: its median_ns is 1.5, but its samples give 100.0; export it "
                "again, or delete the line"));
  EXPECT_THAT(import_fault(m, "\"interval_ns\":[99.5", "\"interval_ns\":[100.2"),
              AllOf(HasSubstr("r.jsonl:3: "), HasSubstr("its interval_ns is [100.2"),
                    HasSubstr("its samples give 100.0")));
  EXPECT_EQ(import_fault(m, "\"interval_ns\":[99.5", "\"interval_ns\":[90.5"), "")
      << "another version may estimate wider bounds";
  EXPECT_THAT(import_fault(m, "\"median_ns\":100.0", "\"median_ns\":\"fast\""), HasSubstr("r.jsonl:3: "));
  m.outcome = Outcome::kCrashed;
  m.samples.clear();
  EXPECT_THAT(import_fault(m, "\"numerics\"", "\"median_ns\":5,\"numerics\""),
              HasSubstr("its median_ns is 5, but it has no samples"));
}

TEST(Jsonl, AnImportTakesTheTimeOfAFinalReMeasurement) {
  Measurement m = measured(100);
  m.interleaved = Interleaved{.began_unix_ns = 1, .ns = 120, .interval_ns = {119, 121}};
  EXPECT_EQ(import_fault(m, "\"median_ns\":120.0", "\"median_ns\":120"), "");
  EXPECT_THAT(import_fault(m, "\"median_ns\":120.0", "\"median_ns\":100"),
              HasSubstr("its median_ns is 100, but its samples give 120.0"));
}

TEST(Jsonl, AnImportRefusesWhatIsNoNumberOrNoCountOfOperations) {
  const Measurement m = measured(100);
  for (const char* flops : {"-1", "\"nan\"", "\"inf\"", "\"many\""})
    EXPECT_THAT(import_fault(m, "\"flops\":", absl::StrCat("\"flops\":", flops, ",\"before\":")),
                HasSubstr("r.jsonl:2: "))
        << flops;
  EXPECT_THAT(import_fault(m, "\"max_error\":", "\"max_error\":\"none\",\"before\":"),
              HasSubstr("r.jsonl:3: "));
}

TEST(RecordDigest, DoesNotDependOnWhereTheRecordIs) {
  Measurement here = measured(10), there = measured(10);
  here.id = 1;
  there.id = 2;
  there.job_id = 5;
  EXPECT_EQ(record_digest(here), record_digest(there));
  there.samples[0].total_ns++;
  EXPECT_NE(record_digest(here), record_digest(there));
}

TEST(Samples, MedianIsPerIterationAndOfTheMiddle) {
  EXPECT_EQ(median_ns({{100, 10}, {40, 2}, {90, 3}}), 20);
  EXPECT_EQ(median_ns({{10, 1}, {20, 1}}), 15);
  EXPECT_EQ(median_ns({}), std::nullopt);
  EXPECT_EQ(median_ns({{10, 0}}), std::nullopt);
}

}  // namespace
}  // namespace tf::database
