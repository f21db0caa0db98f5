#pragma once
// Owns: the version of the farm's protocol, and how another one is refused.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/remedy.h"

namespace tf::rpc {

// Also raised when a side that ignores a new field would answer something else than was asked:
// 2: trials at a reuse distance, which an earlier device would time warm.
// 3: requirements on labels, capabilities and GPUs, which an earlier tracker would not look at.
inline constexpr uint32_t kProtocolVersion = 3;

// FAILED_PRECONDITION unless the peer speaks our version; `peer` names it, as in "the tracker".
inline absl::Status check_protocol(std::string_view peer, uint32_t theirs, std::string_view us) {
  if (theirs == kProtocolVersion) return absl::OkStatus();
  return with_remedy(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat(std::string(peer), " uses version ", theirs, " of the farm protocol, but ",
                                  std::string(us), " version ", kProtocolVersion),
                     "upgrade the older of the two");
}

}  // namespace tf::rpc
