#pragma once
// Owns: what the operators' commands (`tracker devices`, `drain`, `reserve`, …) ask a running tracker. Does
// not know: the command line.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/leases/device.h"
#include "tracker/operators/tracker_link.h"

namespace tf::tracker {

enum class TextFormat { kTable, kJson };

// All calls: UNAVAILABLE if no tracker answers there, INVALID_ARGUMENT for plain text beyond
// loopback. Texts end with a newline; tables are for lines of `width` characters (base/cli/text_table.h).

struct DevicesText {
  size_t devices = 0;
  std::string text;
};
// `key` empty: all. JSON has the golden kernel's samples, too.
absl::StatusOr<DevicesText> render_devices(const TrackerLink& tracker, const std::string& key,
                                           const std::string& selector, TextFormat format, size_t width = 0);
// Who waits, and what each user holds.
absl::StatusOr<std::string> render_waiting(const TrackerLink& tracker, TextFormat format, size_t width = 0);
absl::StatusOr<std::string> render_reservations(const TrackerLink& tracker, TextFormat format,
                                                size_t width = 0);
// Of which devices a pattern stands for: all, or those whose agents are away.
enum class Presence { kAny, kAway };
// Each name once, in the order given; one with '*' in it stands for the devices whose ids are like it, in the
// order of their ids ('*' is any characters, '/' among them). NOT_FOUND: a pattern matches no such device.
absl::StatusOr<std::vector<std::string>> devices_called(const TrackerLink& tracker,
                                                        const std::vector<std::string>& names,
                                                        Presence presence);
// How many leases the device has now; nothing: a tracker of before does not say. NOT_FOUND: no such device.
absl::StatusOr<std::optional<uint32_t>> set_admission(const TrackerLink& tracker, const std::string& device,
                                                      Admission admission);
absl::Status readmit_device(const TrackerLink& tracker, const std::string& device);
// NOT_FOUND: the candidate is not known to be bad.
absl::Status pardon_candidate(const TrackerLink& tracker, const std::string& digest);
// NOT_FOUND: no such device. FAILED_PRECONDITION: it is online.
absl::Status forget_device(const TrackerLink& tracker, const std::string& device);
// The ids of the leases ended, none if what is called so has none. NOT_FOUND: neither a lease, a slot nor a
// device.
absl::StatusOr<std::vector<std::string>> force_release(const TrackerLink& tracker, const std::string& name);

struct ReserveOptions {
  std::string user;
  std::string key;  // empty: any
  std::string selector;
  absl::Time from;
  absl::Time until;
};
struct MadeReservation {
  uint64_t id = 0;
  uint32_t devices = 0;  // that it covers now
  std::string text;      // its id, or with kJson all of it
};
// INVALID_ARGUMENT: no user, a window that is over or too long, no selector, or names that are too long.
// RESOURCE_EXHAUSTED: there are as many as there may be.
absl::StatusOr<MadeReservation> reserve(const TrackerLink& tracker, const ReserveOptions& options,
                                        TextFormat format);
// Whether a user of that name holds or waits for a slot, or has lately held one.
absl::StatusOr<bool> knows_user(const TrackerLink& tracker, const std::string& user);
// NOT_FOUND: no such reservation.
absl::Status unreserve(const TrackerLink& tracker, uint64_t id);

}  // namespace tf::tracker
