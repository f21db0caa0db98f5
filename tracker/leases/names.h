#pragma once
// Owns: what agents and tuners may call themselves: what reaches logs, commands and the state file is short
// and printable. Does not know: who is called so.

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tf::tracker {

// All: INVALID_ARGUMENT, with the name as far as it can be shown.

// 1 to 128 characters: names as a certificate carries them (rpc/identity/identity.h), with '/' between them.
absl::Status check_device_id(std::string_view id);
// 1 to 128 printable characters; `what` is called so.
absl::Status check_key(std::string_view what, std::string_view key);
// Up to 200 printable characters; `what` is called so.
absl::Status check_holder_name(std::string_view what, std::string_view name);

}  // namespace tf::tracker
