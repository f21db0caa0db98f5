#pragma once
// Owns: names for what nobody chooses a name for: leases, runs, installations. Does not know: what they name.

#include <string>

namespace tf::rpc {

// 16 hexadecimal digits of the system's randomness, different at each call. Thread-safe.
std::string random_id();

}  // namespace tf::rpc
