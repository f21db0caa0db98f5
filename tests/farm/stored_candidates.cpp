#include "tests/farm/stored_candidates.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "base/status.h"
#include "database/sqlite/sqlite_store.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::farm_test {

database::Workload made_up_workload() {
  return {.text = "made up", .op = "made up", .flops = 1};
}

tensor::KernelKey made_up_problem() {
  return {.workload = made_up_workload().key(), .binding = "", .target = "x86_64"};
}

std::string candidate_name(int i) {
  return absl::StrCat("candidate ", i);
}

std::string candidate_bytes(int i) {
  return candidate_name(i) + " " + std::string(static_cast<size_t>(i * 37 % 101), 'x');
}

database::Measurement measurement_of(const std::string& name, const tunefarm::farm::v1::TrialResult& result) {
  database::Measurement m;
  m.problem = made_up_problem();
  m.schedule = name;
  m.outcome = database::Outcome::kOk;
  m.detail = result.detail();
  for (const auto& sample : result.samples()) m.samples.push_back({sample.total_ns(), sample.iterations()});
  m.device.device_class = "box";
  m.artifact_digest = result.artifact_digest();
  m.lease = database::LeaseStamp{.slot = result.slot(),
                                 .lease_id = result.lease_id(),
                                 .epoch = result.epoch(),
                                 .sequence = result.sequence()};
  return m;
}

absl::StatusOr<std::vector<StoredRow>> stored_rows(const std::string& database_path) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::string path = database_path;
  if (path.starts_with("/proc/")) {
    // SQLite would follow /proc/PID/root to the root of this process instead.
    path = folder.file("copy.db");
    for (const std::string suffix : {"", "-wal"}) {
      std::error_code missing;
      std::filesystem::copy_file(database_path + suffix, path + suffix, missing);
    }
  }
  TF_ASSIGN_OR_RETURN(const auto records, database::open_sqlite_records(path));
  std::vector<StoredRow> rows;
  TF_RETURN_IF_ERROR(records->scan({}, [&](const database::Measurement& m) -> absl::Status {
    // The fake device names the candidate that it was given.
    if (!m.detail.starts_with(m.schedule + " "))
      return absl::DataLossError(absl::StrCat(m.schedule, " has the answer of ", m.detail));
    rows.push_back({m.lease->lease_id, m.lease->epoch, m.lease->sequence, m.schedule});
    return absl::OkStatus();
  }));
  return rows;
}

}  // namespace tf::farm_test
