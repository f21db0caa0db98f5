#pragma once
// Owns: asking a tracker which device keys it knows. Does not know: leases, trials.

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/endpoint.h"

namespace tf::service {

// Keys of all devices that have ever registered. UNAVAILABLE: no tracker answers there.
absl::StatusOr<std::set<std::string>> farm_device_keys(const rpc::Endpoint& tracker);

}  // namespace tf::service
