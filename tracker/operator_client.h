#pragma once
// Owns: what `tracker devices | drain | release` ask a running tracker. Does not know: the command line.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/endpoint.h"

namespace tf::tracker {

enum class DevicesFormat { kTable, kJson };

// All calls: UNAVAILABLE if no tracker answers there, INVALID_ARGUMENT if it is not on loopback.

// The devices as text that ends with a newline. `key` empty: all.
absl::StatusOr<std::string> render_devices(const rpc::Endpoint& tracker, const std::string& key,
                                           DevicesFormat format);
// NOT_FOUND: no such device.
absl::Status drain_device(const rpc::Endpoint& tracker, const std::string& device, bool undo);
// The ids of the leases ended. NOT_FOUND: neither a lease nor a device.
absl::StatusOr<std::vector<std::string>> force_release(const rpc::Endpoint& tracker, const std::string& name);

}  // namespace tf::tracker
