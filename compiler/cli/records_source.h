#pragma once
// Owns: schedules for a build from the database, and tuning.lock, which pins the records that a build used.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "database/store.h"

namespace tf::compiler_cli {

// The best record of each problem. Only schedules of this version's meaning and plain numerics count.
class BestSource final : public driver::ScheduleSource {
 public:
  explicit BestSource(database::Records& records) : records_(records) {}
  absl::StatusOr<std::optional<driver::ScheduleChoice>> find(const driver::ScheduleQuery& query) override;

 private:
  database::Records& records_;
};

struct LockEntry {
  driver::ScheduleQuery query;
  std::string label;   // for people
  std::string record;  // digest, hexadecimal; empty: the default schedule
};

// What tuning.lock says, and nothing else: FAILED_PRECONDITION where it says nothing of a kernel, or where
// its record is not in the database, not ok, of another problem, or of another meaning of schedules.
class LockedSource final : public driver::ScheduleSource {
 public:
  // `records` may be null if the lock names none.
  LockedSource(std::vector<LockEntry> entries, database::Records* records)
      : entries_(std::move(entries)), records_(records) {}
  absl::StatusOr<std::optional<driver::ScheduleChoice>> find(const driver::ScheduleQuery& query) override;

 private:
  std::vector<LockEntry> entries_;
  database::Records* records_;
};

absl::StatusOr<std::vector<LockEntry>> read_lock(const std::string& path);
absl::Status write_lock(const std::string& path, const std::vector<LockEntry>& entries);

}  // namespace tf::compiler_cli
