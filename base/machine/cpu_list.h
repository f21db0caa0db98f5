#pragma once
// Owns: how command lines name CPUs, and keeping processes on some. Does not know: which of them there are.

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tf {

// "6,0-3" as {6, 0, 1, 2, 3}: in order of the text, where one may come twice. INVALID_ARGUMENT if malformed
// or empty.
absl::StatusOr<std::vector<uint32_t>> parse_cpu_list(std::string_view text);

// Keeps a process (0: this thread), and the threads and processes that it will start, on these CPUs. What
// cannot be set is left, as are all CPUs where none is named.
void stay_on(const std::vector<int>& cpus, pid_t process = 0);

}  // namespace tf
