#pragma once
// Owns: durations as people write them in commands. Does not know: what lasts so long.

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tf::tracker {

// "1h30m", "2d", "1d12h". INVALID_ARGUMENT names the option: it is not a duration, or not above zero.
absl::StatusOr<absl::Duration> parse_duration(std::string_view option, std::string_view text);

}  // namespace tf::tracker
