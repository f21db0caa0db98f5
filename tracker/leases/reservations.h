#pragma once
// Owns: which devices are kept for whom, from when until when. Pure: windows are instants of the tracker's
// own clock, so that a jump of the wall clock moves none. Does not know: slots, leases, files.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "tracker/leases/device.h"
#include "tracker/leases/labels.h"

namespace tf::tracker {

struct Reservation {
  uint64_t id = 0;
  std::string user;
  std::string device_key;  // empty: any
  Selector selector;
  rpc::Instant from;
  rpc::Instant until;  // not included

  bool covers(const DeviceInfo& device) const {
    return (device_key.empty() || device_key == device.key) && selector.matches(device.labels);
  }
  bool in_force(rpc::Instant now) const { return from <= now && now < until; }
};

// A longer one is a slip of the pen, and would keep its devices from everybody else.
constexpr absl::Duration kLongestReservation = absl::Hours(24 * 366);

// Not thread-safe. Reservations are few: a look at a device looks at all.
class ReservationBook {
 public:
  // What is kept of one and is in every listing. INVALID_ARGUMENT: no user, or one, a key or a selector that
  // is too long or not printable (names.h, kMostRequirementsBytes).
  static absl::Status check_names(const std::string& user, const std::string& device_key,
                                  const std::string& selector);
  // INVALID_ARGUMENT: a window that is empty, over or longer than that.
  static absl::Status check_window(absl::Time from, absl::Time until, absl::Time now);

  // Above all that were ever added.
  uint64_t next_id() const { return last_id_ + 1; }
  void add(Reservation reservation);
  // False: there is none.
  bool remove(uint64_t id);
  // Takes away those that are over.
  std::vector<Reservation> remove_over(rpc::Instant now);

  // The user for whom the device is kept now; empty: nobody. Of several reservations the lowest id counts.
  std::string user_for(const DeviceInfo& device, rpc::Instant now) const;
  const std::map<uint64_t, Reservation>& all() const { return reservations_; }
  // When one begins or ends next, after `now`.
  std::optional<rpc::Instant> next_change(rpc::Instant now) const;

 private:
  std::map<uint64_t, Reservation> reservations_;
  uint64_t last_id_ = 0;
};

}  // namespace tf::tracker
