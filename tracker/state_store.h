#pragma once
// Owns: the tracker's file: devices, the highest epoch of each slot, active leases. Every change is durable
// when the call returns. Does not know: time, sessions, trials.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tracker/device.h"
#include "tracker/lease.h"

namespace tf::database {
class Connection;
class FileLock;
}  // namespace tf::database

namespace tf::tracker {

struct StoredDevice {
  DeviceInfo info;
  bool draining = false;
};

struct StoredState {
  std::vector<StoredDevice> devices;
  std::map<SlotKey, uint64_t> epochs;
  std::vector<Lease> leases;  // without expires_at
};

// Not thread-safe; one process a file.
class StateStore {
 public:
  // Makes the file and its folder if there are none. FAILED_PRECONDITION: another tracker has it, or a newer
  // one made it. DATA_LOSS: not a tracker's state file.
  static absl::StatusOr<std::unique_ptr<StateStore>> open(const std::string& path);
  ~StateStore();

  absl::StatusOr<StoredState> load();
  absl::Status save_device(const DeviceInfo& info, bool draining);
  // The lease and its epoch, in one transaction.
  absl::Status save_lease(const Lease& lease);
  absl::Status end_lease(const LeaseId& id);

 private:
  StateStore(std::unique_ptr<database::FileLock> lock, std::unique_ptr<database::Connection> db);
  std::unique_ptr<database::FileLock> lock_;
  std::unique_ptr<database::Connection> db_;
};

}  // namespace tf::tracker
