#pragma once
// Owns: the tracker's file: devices with what operators and their health have made of them, the highest epoch
// of each slot, active leases, reservations. Does not know: time, sessions, trials.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/health/golden_trend.h"
#include "tracker/health/health.h"
#include "tracker/leases/device.h"
#include "tracker/leases/lease.h"

namespace tf::database {
class Connection;
class FileLock;
}  // namespace tf::database

namespace tf::tracker {

struct StoredDevice {
  std::shared_ptr<const DeviceInfo> info;
  Admission admission = Admission::kOpen;
  StoredHealth health = {};
  // With the wall clock's time, as below.
  std::optional<absl::Time> away_since = {};
  std::optional<absl::Time> health_since = {};  // absent: healthy, or not known
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

// What is written together, in this order.
struct Changes {
  std::vector<std::string> forgotten = {};  // devices, with their baselines; epochs are for ever
  std::vector<StoredDevice> devices = {};
  std::map<SlotKey, std::optional<GoldenBaseline>> golden = {};  // absent: there is none any more
  std::vector<LeaseId> ended = {};
  std::vector<Lease> begun = {};                                           // with their epochs
  std::map<uint64_t, std::optional<StoredReservation>> reservations = {};  // absent: it is over
};

// Thread-safe; one process a file.
class StateStore {
 public:
  // Makes the file and its folder if there are none. FAILED_PRECONDITION: another tracker has it, or a newer
  // one made it. DATA_LOSS: not a tracker's state file.
  static absl::StatusOr<std::unique_ptr<StateStore>> open(const std::string& path);
  ~StateStore();

  // Without the rows that this tracker does not understand, which it logs: epochs are always there.
  absl::StatusOr<StoredState> load();
  // Durable when it returns: all of it or nothing, in one transaction.
  absl::Status save(const Changes& changes);

 private:
  StateStore(std::unique_ptr<database::FileLock> lock, std::unique_ptr<database::Connection> db);
  std::unique_ptr<database::FileLock> lock_;
  std::mutex mutex_;  // around the connection
  std::unique_ptr<database::Connection> db_;
};

}  // namespace tf::tracker
