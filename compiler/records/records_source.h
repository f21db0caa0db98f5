#pragma once
// Owns: schedules for a build from the database, and tuning.lock, which pins the records that a build used.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "compiler/schedule/numerics.h"
#include "database/store.h"

namespace tf::records {

// The best record of each problem, of one device class or of any, as the network's verdict says. Only schedules
// of this version's meaning and of allowed numerics count.
class BestSource final : public driver::ScheduleSource {
 public:
  explicit BestSource(database::Records& records, std::optional<std::string> device_class = std::nullopt,
                      schedule::Numerics allowed = {},
                      std::optional<database::NetworkVerdict::Takes> takes = std::nullopt)
      : records_(records),
        device_class_(std::move(device_class)),
        allowed_(std::move(allowed)),
        takes_(takes) {}
  absl::StatusOr<std::optional<driver::ScheduleChoice>> find(const tensor::KernelKey& query) override;

 private:
  database::Records& records_;
  const std::optional<std::string> device_class_;
  const schedule::Numerics allowed_;
  const std::optional<database::NetworkVerdict::Takes> takes_;
};

// The device classes that ok records of the problem are of. Times of two classes do not compare, so that the
// best over both may be good for neither.
absl::StatusOr<std::set<std::string>> device_classes(database::Records& records,
                                                     const tensor::KernelKey& problem);
// One line that asks for --device, if there are several of them; else empty.
std::string mixed_devices_warning(const std::set<std::string>& device_classes);
// One line that names them, if there are some and the one that was asked for is not among them; else empty.
std::string other_devices_hint(const std::set<std::string>& device_classes, const std::string& asked_for);

// The best record of all if it uses numerics that are not allowed: what --allow would give. Else nothing.
absl::StatusOr<std::optional<database::Measurement>> best_but_for_numerics(
    database::Records& records, const tensor::KernelKey& problem,
    const std::optional<std::string>& device_class, const schedule::Numerics& allowed);

// The record as an answer to the query.
driver::ScheduleChoice choice_of(const database::Measurement& record, const tensor::KernelKey& query);

struct LockEntry {
  tensor::KernelKey query;
  std::string label;   // for people
  std::string record;  // digest, hexadecimal; empty: the default schedule
};

struct Lock {
  std::vector<LockEntry> tasks;
  // The records that layouts were chosen by, those of layouts that were not chosen among them, so that the
  // choice can be made again.
  std::vector<LockEntry> layouts;
  schedule::Numerics allowed;  // what default schedules were chosen with
  std::string name;            // of the model; empty: an older lock, which does not say
};

// What entries of tuning.lock say, and nothing else. Of a kernel that they say nothing of:
// FAILED_PRECONDITION, or no schedule. FAILED_PRECONDITION too where a record is not in the database, not ok,
// of another problem, of another meaning of schedules, or of numerics that are not allowed.
class LockedSource final : public driver::ScheduleSource {
 public:
  // `records` may be null if the lock names none.
  enum class Unknown { kRefused, kNoSchedule };
  LockedSource(std::vector<LockEntry> entries, database::Records* records, schedule::Numerics allowed = {},
               Unknown unknown = Unknown::kRefused)
      : entries_(std::move(entries)), records_(records), allowed_(std::move(allowed)), unknown_(unknown) {}
  absl::StatusOr<std::optional<driver::ScheduleChoice>> find(const tensor::KernelKey& query) override;

 private:
  std::vector<LockEntry> entries_;
  database::Records* records_;
  const schedule::Numerics allowed_;
  const Unknown unknown_;
};

absl::StatusOr<Lock> read_lock(const std::string& path);
// FAILED_PRECONDITION if default schedules chosen with `allowed` would not be those of the lock's build.
absl::Status check_allowed(const Lock& lock, const schedule::Numerics& allowed);
absl::Status write_lock(const std::string& path, const Lock& lock);

}  // namespace tf::records
