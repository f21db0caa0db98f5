#include "database/sqlite/row_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_rows.h"

namespace tf::database {

const char kSelectMeasurement[] =
    "SELECT m.id, w.key, p.binding, p.in_layouts, p.out_layouts, p.target, p.threads, "
    "p.reuse_distance_bytes, m.schedule, "
    "m.semantics_version, m.sketch_hash, m.slot_values, m.numerics, m.outcome, m.detail, m.samples, "
    "m.cache_mode, m.max_error, m.device_class, m.fingerprint, m.model, m.clock_mhz, m.temperature_c, "
    "m.throttled, "
    "m.governor, "
    "m.load_1min, m.artifact_digest, m.code_digest, m.slot, m.lease_id, m.epoch, m.sequence, m.job_id, "
    "m.finished_unix_ns, m.untuned, m.median_ns, m.match_unix_ns, m.match_low_ns, m.match_high_ns, "
    "m.imported_after FROM measurements m JOIN problems p ON p.id = m.problem_id "
    "JOIN workloads w ON w.id = p.workload_id ";

const char kSelectProblem[] =
    "SELECT w.key, p.binding, p.in_layouts, p.out_layouts, p.target, p.threads, p.reuse_distance_bytes, p.id "
    "FROM problems p JOIN workloads w ON w.id = p.workload_id ";

const char kSelectWorkload[] = "SELECT text, op, flops, key, id FROM workloads ";

const char kSelectJob[] =
    "SELECT id, model_name, model_digest, model_path, target, device, options, state, detail, status_code, "
    "created_unix_ns, started_unix_ns, finished_unix_ns, submitter FROM jobs ";

const char kSelectJobTask[] =
    "SELECT t.job_id, t.task_index, t.label, t.weight, t.trials, t.best_ns, t.state, w.key, p.binding, "
    "p.in_layouts, p.out_layouts, p.target, p.threads, p.reuse_distance_bytes FROM job_tasks t JOIN problems "
    "p ON p.id = t.problem_id JOIN workloads w ON w.id = p.workload_id ";

namespace {

// The types of a row's columns, a letter each: i, t, b: an integer, text, a blob; T, I: or NULL; r: a number
// or NULL.
constexpr char kMeasurementTypes[] = "ibttttiititttitbirtttrritrttTTIIiiirIrrI";
constexpr char kProblemTypes[] = "bttttii";
constexpr char kWorkloadTypes[] = "ttrbi";
constexpr char kJobTypes[] = "ittttttitiiiit";
constexpr char kJobTaskTypes[] = "iitrirb";

Digest read_key(const std::string& blob) {
  Digest key;
  std::memcpy(key.bytes.data(), blob.data(), std::min(blob.size(), key.bytes.size()));
  return key;
}

absl::Status check_types(const Statement& row, std::string_view types, int first = 0) {
  for (const char type : types) {
    const int column = first++;
    if (row.is_of_type(column, type)) continue;
    return absl::DataLossError(absl::StrCat("its ", row.name(column), " has an invalid type"));
  }
  return absl::OkStatus();
}

// What a cast would make another number of.
struct Range {
  int column;
  int64_t high;  // from 0
};
absl::Status check_ranges(const Statement& row, std::initializer_list<Range> ranges) {
  for (const auto& [column, high] : ranges) {
    const int64_t value = row.integer(column);
    if (value >= 0 && value <= high) continue;
    return absl::DataLossError(absl::StrCat("its ", row.name(column), " is ", value));
  }
  return absl::OkStatus();
}

constexpr int64_t kMaxUint32 = std::numeric_limits<uint32_t>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

absl::Status check_problem(const Statement& row, int first) {
  TF_RETURN_IF_ERROR(check_types(row, kProblemTypes, first));
  const size_t key_bytes = row.blob(first).size();
  if (key_bytes != sizeof(Digest::bytes))
    return absl::DataLossError(absl::StrCat("its workload's key has ", key_bytes, " bytes"));
  return check_ranges(row, {{first + 5, kMaxUint32}, {first + 6, kMaxInt64}});
}

// Seven columns from `first` on, checked.
tensor::KernelKey problem_at(const Statement& row, int first) {
  return {.workload = read_key(row.blob(first)),
          .binding = row.text(first + 1),
          .in_layouts = tensor::split_layouts(row.text(first + 2)),
          .out_layouts = tensor::split_layouts(row.text(first + 3)),
          .target = row.text(first + 4),
          .threads = static_cast<uint32_t>(row.integer(first + 5)),
          .reuse_distance_bytes = static_cast<uint64_t>(row.integer(first + 6))};
}

std::vector<std::string> split_list(const std::string& text) {
  if (text.empty()) return {};
  return absl::StrSplit(text, ',');
}

absl::StatusOr<Measurement> measurement_of(const Statement& row) {
  TF_RETURN_IF_ERROR(check_types(row, kMeasurementTypes));
  TF_RETURN_IF_ERROR(check_problem(row, 1));
  TF_RETURN_IF_ERROR(check_ranges(row, {{9, kMaxUint32}, {13, 8}, {16, 3}}));
  Measurement m;
  int column = 8;
  m.id = row.integer(0);
  m.problem = problem_at(row, 1);
  m.schedule = row.text(column++);
  m.semantics_version = static_cast<uint32_t>(row.integer(column++));
  m.sketch_hash = row.text(column++);
  for (const std::string& text : split_list(row.text(column++))) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(text, &value)) {
      return absl::DataLossError(
          absl::StrCat("it has the slot value \"", printable(text.substr(0, 32)), "\""));
    }
    m.choices.push_back(value);
  }
  m.numerics = split_list(row.text(column++));
  m.outcome = static_cast<Outcome>(row.integer(column++));
  m.detail = row.text(column++);
  TF_ASSIGN_OR_RETURN(m.samples, decode_samples(row.blob(column++)));
  m.cache_mode = static_cast<CacheMode>(row.integer(column++));
  m.max_error = row.real(column++);
  m.device.device_class = row.text(column++);
  m.device.fingerprint = row.text(column++);
  m.device.model = row.text(column++);
  m.device.clock_mhz = row.real(column++);
  m.device.temperature_c = row.real(column++);
  m.device.throttled = row.integer(column++) != 0;
  m.device.governor = row.text(column++);
  m.device.load_1min = row.real(column++);
  m.artifact_digest = row.text(column++);
  m.code_digest = row.text(column++);
  if (!row.is_null(column + 1)) {
    m.lease = LeaseStamp{.slot = row.text(column),
                         .lease_id = row.text(column + 1),
                         .epoch = static_cast<uint64_t>(row.integer(column + 2)),
                         .sequence = static_cast<uint64_t>(row.integer(column + 3))};
  }
  m.job_id = row.integer(column + 4);
  m.finished_unix_ns = row.integer(column + 5);
  m.untuned = row.integer(column + 6) != 0;
  if (!row.is_null(column + 8)) {
    m.interleaved = Interleaved{.began_unix_ns = row.integer(column + 8),
                                .ns = row.real(column + 7),
                                .interval_ns = {row.real(column + 9), row.real(column + 10)}};
  }
  if (!row.is_null(column + 11)) m.imported_after = row.integer(column + 11);
  TF_RETURN_IF_ERROR(check(m));
  // Rows are ordered by that column.
  const double kept = row.is_null(column + 7) ? 0 : row.real(column + 7), told = m.median_ns().value_or(0);
  if (std::abs(kept - told) > 1e-9 * told)
    return absl::DataLossError(
        absl::StrCat("its median is ", kept, " ns, that of its samples ", told, " ns"));
  return m;
}

}  // namespace

absl::Status damaged_row(const Statement& row, std::string_view table, int64_t id, const absl::Status& why) {
  return with_remedy(
      absl::StatusCode::kDataLoss,
      absl::StrCat(row.path(), " has a damaged row ", id, " of ", std::string(table), ": ",
                   std::string(why.message())),
      "no data was used: restore a copy, or move the file away and import an earlier `tuner export`",
      Between::kSemicolon);
}

absl::StatusOr<Measurement> read_measurement(const Statement& row) {
  absl::StatusOr<Measurement> m = measurement_of(row);
  if (!m.ok()) return damaged_row(row, "measurements", row.integer(0), m.status());
  return m;
}

absl::StatusOr<tensor::KernelKey> read_problem(const Statement& row) {
  const absl::Status status = check_problem(row, 0);
  if (!status.ok()) return damaged_row(row, "problems", row.integer(7), status);
  return problem_at(row, 0);
}

absl::StatusOr<Workload> read_workload(const Statement& row) {
  absl::Status status = check_types(row, kWorkloadTypes);
  Workload workload{.text = row.text(0), .op = row.text(1), .flops = row.real(2)};
  if (status.ok() && row.blob(3) != rows::digest_bytes(workload.key()).bytes)
    status = absl::DataLossError("its key does not match its text");
  if (!status.ok()) return damaged_row(row, "workloads", row.integer(4), status);
  return workload;
}

absl::StatusOr<Job> read_job(const Statement& row) {
  absl::Status status = check_types(row, kJobTypes);
  status.Update(check_ranges(row, {{7, 6}}));
  if (status.ok() && row.integer(7) == 0) status = absl::DataLossError("its state is 0");
  if (!status.ok()) return damaged_row(row, "jobs", row.integer(0), status);
  return Job{.id = row.integer(0),
             .model_name = row.text(1),
             .model_digest = row.text(2),
             .model_path = row.text(3),
             .target = row.text(4),
             .device = row.text(5),
             .submitter = row.text(13),
             .options = row.text(6),
             .state = static_cast<JobState>(row.integer(7)),
             .detail = row.text(8),
             .status_code = static_cast<int32_t>(row.integer(9)),
             .created_unix_ns = row.integer(10),
             .started_unix_ns = row.integer(11),
             .finished_unix_ns = row.integer(12)};
}

absl::StatusOr<JobTask> read_job_task(const Statement& row) {
  absl::Status status = check_types(row, kJobTaskTypes);
  if (const double weight = row.real(3); status.ok() && !(weight >= 0 && std::isfinite(weight)))
    status = absl::DataLossError(absl::StrCat("its weight is ", weight));
  status.Update(check_problem(row, 7));
  if (!status.ok()) return damaged_row(row, "job_tasks", row.integer(0), status);
  return JobTask{.job_id = row.integer(0),
                 .index = static_cast<int32_t>(row.integer(1)),
                 .problem = problem_at(row, 7),
                 .label = row.text(2),
                 .weight = row.real(3),
                 .trials = row.integer(4),
                 .best_ns = row.real(5),
                 .state = row.blob(6)};
}

std::string encode_samples(const std::vector<Sample>& samples) {
  static_assert(std::endian::native == std::endian::little, "the blob is little-endian");
  std::string blob;
  blob.reserve(samples.size() * 12);
  for (const Sample& sample : samples) {
    blob.append(reinterpret_cast<const char*>(&sample.total_ns), 8);
    blob.append(reinterpret_cast<const char*>(&sample.iterations), 4);
  }
  return blob;
}

absl::StatusOr<std::vector<Sample>> decode_samples(std::string_view blob) {
  if (blob.size() % 12 != 0) {
    return absl::DataLossError(
        absl::StrCat("a samples blob has ", blob.size(), " bytes, which 12 does not divide"));
  }
  std::vector<Sample> samples(blob.size() / 12);
  for (size_t i = 0; i < samples.size(); ++i) {
    std::memcpy(&samples[i].total_ns, blob.data() + i * 12, 8);
    std::memcpy(&samples[i].iterations, blob.data() + i * 12 + 8, 4);
  }
  return samples;
}

}  // namespace tf::database
