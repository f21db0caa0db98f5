#pragma once
// Owns: how command lines name CPUs. Does not know: which of them there are.

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tf {

// "6,0-3" as {6, 0, 1, 2, 3}: in order of the text, where one may come twice. INVALID_ARGUMENT if malformed
// or empty.
absl::StatusOr<std::vector<uint32_t>> parse_cpu_list(std::string_view text);

}  // namespace tf
