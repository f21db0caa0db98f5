#pragma once
// Owns: what the operators' commands (`tracker devices`, `drain`, `reserve`, …) ask a running tracker beyond one
// call. Does not know: the command line.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
// The ids of the leases ended, none if what is called so has none. NOT_FOUND: neither a lease, a slot nor a
// device.
absl::StatusOr<std::vector<std::string>> force_release(const TrackerLink& tracker, const std::string& name);
// Whether a user of that name holds or waits for a slot, or has lately held one.
absl::StatusOr<bool> knows_user(const TrackerLink& tracker, const std::string& user);

}  // namespace tf::tracker
