#include "database/jsonl.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <ext/stdio_filebuf.h>
#include <functional>
#include <map>
#include <mutex>
#include <ostream>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "database/memory_store.h"
#include "database/record_json.h"

namespace tf::database {
namespace {

// Inserts without waiting for each commit, so that thousands share one, with a bound on what is under way.
class BulkInserter {
 public:
  explicit BulkInserter(Store& store) : store_(store) {}
  ~BulkInserter() { finish().IgnoreError(); }

  absl::Status insert(const Measurement& measurement) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return pending_ < kWindow; });
      TF_RETURN_IF_ERROR(status_);
      ++pending_;
    }
    store_.insert_async(measurement, Origin::kImport, [this](absl::StatusOr<InsertResult> result) {
      std::lock_guard lock(mutex_);
      if (!result.ok()) {
        status_.Update(result.status());
      } else {
        result->duplicate ? ++duplicates_ : ++inserted_;
      }
      --pending_;
      changed_.notify_all();
    });
    return absl::OkStatus();
  }

  absl::Status finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_ == 0; });
    return status_;
  }

  int64_t inserted() const { return inserted_; }
  int64_t duplicates() const { return duplicates_; }

 private:
  static constexpr int kWindow = 4096;
  Store& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status status_;
  int pending_ = 0;
  int64_t inserted_ = 0;
  int64_t duplicates_ = 0;
};

absl::Status at_line(const std::string& path, int64_t line, const absl::Status& status) {
  const Trouble trouble = trouble_of(status);
  constexpr size_t kMostShown = 300;  // of what the line says, which anybody may have written
  const std::string truth = absl::StrCat(path, ":", line, ": ", printable(trouble.truth, kMostShown));
  if (trouble.remedy.empty()) return absl::Status(status.code(), truth);
  return with_remedy(status.code(), truth, trouble.remedy, Between::kSemicolon);
}

absl::Status check_header(const JsonLine& line) {
  const auto* header = std::get_if<JsonHeader>(&line);
  if (header == nullptr) {
    return with_remedy(absl::StatusCode::kInvalidArgument,
                       "not a file of tuning records: its first line is not a header",
                       "make one with `tuner export`", Between::kSemicolon);
  }
  if (header->version <= kJsonLinesVersion) return absl::OkStatus();
  return with_remedy(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("the records have version ", header->version,
                                  ", but this program reads up to ", kJsonLinesVersion),
                     "use the program that wrote them", Between::kSemicolon);
}

// Goes through the lines after the header of a file with that text. INVALID_ARGUMENT as "FILE:LINE: what is
// wrong" for a line that is no record.
absl::Status for_each_record(const std::string& path, std::string_view text,
                             const std::function<absl::Status(const JsonLine&)>& visit) {
  if (text.empty())
    return with_remedy(absl::StatusCode::kInvalidArgument, path + " is empty", "make one with `tuner export`",
                       Between::kSemicolon);
  for (int64_t line = 1; !text.empty(); ++line) {
    const std::string_view record_text = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(record_text.size() + 1, text.size()));
    if (record_text.empty()) continue;
    absl::StatusOr<JsonLine> record = parse_json_line(record_text);
    if (!record.ok()) return at_line(path, line, record.status());
    const absl::Status status = line == 1 ? check_header(*record) : visit(*record);
    if (!status.ok()) return at_line(path, line, status);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TransferCounts> export_jsonl(Records& records, const Filter& filter, std::ostream& out,
                                            const std::string& name) {
  const auto failed = [&] {
    return with_remedy(absl::StatusCode::kDataLoss,
                       absl::StrCat("the export is incomplete: cannot write to ", name),
                       "free some space there, or give another -o");
  };
  TF_ASSIGN_OR_RETURN(std::vector<Workload> all, records.workloads());
  std::map<Digest, const Workload*> unwritten;
  for (const Workload& workload : all) unwritten[workload.key()] = &workload;
  // A whole database keeps the order of its workloads, and those that nothing was measured of.
  const bool of_all = !filter.workload && !filter.problem && !filter.job_id;
  const bool whole = of_all && filter.which == Filter::Which::kAll;
  TransferCounts counts;
  out << to_json(JsonHeader{}) << '\n';
  if (whole) {
    for (const Workload& workload : all) out << to_json(workload) << '\n';
    counts.workloads = static_cast<int64_t>(all.size());
    unwritten.clear();
  }
  TF_RETURN_IF_ERROR(records.scan(filter, [&](const Measurement& measurement) -> absl::Status {
    if (auto found = unwritten.find(measurement.problem.workload); found != unwritten.end()) {
      out << to_json(*found->second) << '\n';
      ++counts.workloads;
      unwritten.erase(found);
    }
    out << to_json_with_bounds(measurement) << '\n';
    ++counts.measurements;
    return out ? absl::OkStatus() : failed();
  }));
  if (of_all) {
    TF_ASSIGN_OR_RETURN(const std::vector<NetworkVerdict> verdicts, records.verdicts());
    for (const NetworkVerdict& verdict : verdicts) out << to_json(verdict) << '\n';
    counts.verdicts = std::ssize(verdicts);
  }
  out.flush();
  if (!out) return failed();
  return counts;
}

absl::StatusOr<TransferCounts> export_jsonl_file(Records& records, const Filter& filter,
                                                 const std::string& path) {
  TransferCounts counts;
  TF_RETURN_IF_ERROR(check_output(path));
  TF_RETURN_IF_ERROR(replace_file(path, [&](int fd) -> absl::Status {
    __gnu_cxx::stdio_filebuf<char> buffer(::dup(fd), std::ios::out | std::ios::binary);  // closes its copy
    std::ostream out(&buffer);
    TF_ASSIGN_OR_RETURN(counts, export_jsonl(records, filter, out, path));
    return absl::OkStatus();
  }));
  return counts;
}

namespace {

// How many workloads it has beside the known ones, if each of its lines can be inserted where these are.
absl::StatusOr<int64_t> check_lines(const std::string& path, const std::string& text,
                                    std::set<Digest> known) {
  int64_t workloads = 0;
  const absl::Time now = absl::FromUnixNanos(absl::GetCurrentTimeNanos());
  TF_RETURN_IF_ERROR(for_each_record(path, text, [&](const JsonLine& line) -> absl::Status {
    if (const auto* workload = std::get_if<Workload>(&line))
      workloads += known.insert(workload->key()).second;
    const auto* measurement = std::get_if<Measurement>(&line);
    if (measurement == nullptr) return absl::OkStatus();
    if (known.contains(measurement->problem.workload)) return check_time(*measurement, now);
    return absl::InvalidArgumentError(absl::StrCat("the workload ", measurement->problem.workload.hex(),
                                                   " must come before its measurements"));
  }));
  return workloads;
}

}  // namespace

absl::Status check_jsonl_text(const std::string& path, const std::string& text) {
  return check_lines(path, text, {}).status();
}

absl::StatusOr<JsonRecords> parse_jsonl_text(const std::string& path, const std::string& text) {
  TF_RETURN_IF_ERROR(check_jsonl_text(path, text));
  JsonRecords records;
  TF_RETURN_IF_ERROR(for_each_record(path, text, [&](const JsonLine& line) {
    if (const auto* workload = std::get_if<Workload>(&line)) records.workloads.push_back(*workload);
    if (const auto* measurement = std::get_if<Measurement>(&line))
      records.measurements.push_back(*measurement);
    if (const auto* verdict = std::get_if<NetworkVerdict>(&line)) records.verdicts.push_back(*verdict);
    return absl::OkStatus();
  }));
  return records;
}

std::string jsonl_text(const JsonRecords& records) {
  std::string text = to_json(JsonHeader{}) + "\n";
  for (const Workload& workload : records.workloads) absl::StrAppend(&text, to_json(workload), "\n");
  for (const Measurement& measurement : records.measurements)
    absl::StrAppend(&text, to_json_with_bounds(measurement), "\n");
  for (const NetworkVerdict& verdict : records.verdicts) absl::StrAppend(&text, to_json(verdict), "\n");
  return text;
}

absl::StatusOr<TransferCounts> import_jsonl(const std::string& path, Store& store) {
  TF_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  return import_jsonl_text(path, text, store);
}

absl::StatusOr<TransferCounts> import_jsonl_text(const std::string& path, const std::string& text,
                                                 Store& store) {
  TransferCounts counts;
  std::set<Digest> known;
  TF_ASSIGN_OR_RETURN(std::vector<Workload> present, store.workloads());
  for (const Workload& workload : present) known.insert(workload.key());
  TF_ASSIGN_OR_RETURN(counts.workloads, check_lines(path, text, std::move(known)));
  TF_ASSIGN_OR_RETURN(const std::vector<NetworkVerdict> verdicts_before, store.verdicts());
  BulkInserter inserter(store);
  TF_RETURN_IF_ERROR(for_each_record(path, text, [&](const JsonLine& line) -> absl::Status {
    if (const auto* workload = std::get_if<Workload>(&line)) return store.add_workload(*workload);
    if (const auto* measurement = std::get_if<Measurement>(&line)) return inserter.insert(*measurement);
    counts.left_out += std::holds_alternative<JsonNetworkTime>(line);
    const auto* verdict = std::get_if<NetworkVerdict>(&line);
    if (verdict == nullptr) return absl::OkStatus();
    return store.save_verdict(*verdict, Origin::kImport);
  }));
  TF_RETURN_IF_ERROR(inserter.finish());
  counts.measurements = inserter.inserted();
  counts.duplicates = inserter.duplicates();
  TF_ASSIGN_OR_RETURN(const std::vector<NetworkVerdict> verdicts, store.verdicts());
  counts.verdicts = std::ranges::count_if(verdicts, [&](const NetworkVerdict& verdict) {
    return std::ranges::find(verdicts_before, verdict) == verdicts_before.end();
  });
  return counts;
}

const StoreScheme kJsonLines = {
    .name = "jsonl",
    .form = "FILE.jsonl",
    .suffix = ".jsonl",
    .open_records = [](const std::string& path, const ReadOptions&) { return open_jsonl_records(path); },
    .open_store = nullptr,
    .why_only_read = "this command writes a database, but .jsonl means JSON lines",
    .instead = "give it another name, such as tune.db; `tuner export` writes JSON lines"};

absl::StatusOr<std::unique_ptr<Records>> open_jsonl_records(const std::string& path) {
  std::unique_ptr<Store> store = make_memory_store();
  TF_RETURN_IF_ERROR(import_jsonl(path, *store).status());
  return store;
}

}  // namespace tf::database
