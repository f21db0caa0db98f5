#pragma once
// Owns: the tracker's file: devices with what operators and their health have made of them, the highest epoch
// of each slot, active leases, reservations. Every change is durable when the call returns. Does not know:
// time, sessions, trials.

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/device.h"
#include "tracker/golden_trend.h"
#include "tracker/health.h"
#include "tracker/lease.h"

namespace tf::database {
class Connection;
class FileLock;
}  // namespace tf::database

namespace tf::tracker {

struct StoredDevice {
  DeviceInfo info;
  Admission admission = Admission::kOpen;
  StoredHealth health;
};

// With the wall clock's times: they outlive this run of the machine.
struct StoredReservation {
  uint64_t id = 0;
  std::string user;
  std::string device_key;
  std::string selector;
  absl::Time from;
  absl::Time until;
};

struct StoredState {
  std::vector<StoredDevice> devices;
  std::map<SlotKey, uint64_t> epochs;
  std::map<SlotKey, GoldenBaseline> golden;
  std::vector<Lease> leases;  // without times
  std::vector<StoredReservation> reservations;
};

// Thread-safe; one process a file.
class StateStore {
 public:
  // Makes the file and its folder if there are none. FAILED_PRECONDITION: another tracker has it, or a newer
  // one made it. DATA_LOSS: not a tracker's state file.
  static absl::StatusOr<std::unique_ptr<StateStore>> open(const std::string& path);
  ~StateStore();

  absl::StatusOr<StoredState> load();
  // What an operator and its health have made of the device stays as it is.
  absl::Status save_devices(std::span<const DeviceInfo> devices);
  // The device must have been saved.
  absl::Status save_admission(const std::string& device_id, Admission admission);
  absl::Status save_health(const std::string& device_id, const StoredHealth& health);
  absl::Status save_golden(const SlotKey& slot, const GoldenBaseline& baseline);
  // Those that ended, then those that begin with their epochs: all of it or nothing, in one transaction.
  absl::Status save_leases(std::span<const Lease> begun, std::span<const LeaseId> ended);
  absl::Status save_reservation(const StoredReservation& reservation);
  absl::Status remove_reservation(uint64_t id);

 private:
  absl::Status save_one(const Lease& lease);

  StateStore(std::unique_ptr<database::FileLock> lock, std::unique_ptr<database::Connection> db);
  std::unique_ptr<database::FileLock> lock_;
  std::mutex mutex_;  // around the connection
  std::unique_ptr<database::Connection> db_;
};

}  // namespace tf::tracker
