#pragma once
// Owns: which CPUs each slot gets, as the command line and the configuration say it. Does not know: what a
// slot does.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::agent {

using CpuSet = std::vector<uint32_t>;

// "0-1,2-3" as {{0, 1}, {2, 3}}: a slot between commas, parts of one slot joined by '+', as in
// "0-1+8-9,2-3+10-11". CPUs ascend within a slot. INVALID_ARGUMENT if malformed or empty.
absl::StatusOr<std::vector<CpuSet>> parse_slots(std::string_view text);

// The same text again, each CPU by itself: "0+1,2+3".
std::string slots_text(const std::vector<CpuSet>& slots);

// INVALID_ARGUMENT if a CPU is in two of the slots or none of `allowed`. `given` is what the slots were made
// of, as in "--slots 0-1,1-2", for the message.
absl::Status check_slots(const std::vector<CpuSet>& slots, const CpuSet& allowed, std::string_view given);

}  // namespace tf::agent
