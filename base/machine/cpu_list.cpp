#include "base/machine/cpu_list.h"

#include <sched.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/remedy.h"

namespace tf {

absl::StatusOr<std::vector<uint32_t>> parse_cpu_list(std::string_view text) {
  std::vector<uint32_t> cpus;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
    const std::vector<std::string> ends = absl::StrSplit(part, '-');
    uint32_t first = 0;
    uint32_t last = 0;
    const bool read =
        ends.size() <= 2 && absl::SimpleAtoi(ends.front(), &first) && absl::SimpleAtoi(ends.back(), &last);
    if (!read || last < first || last >= CPU_SETSIZE)
      return with_remedy(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("\"", std::string(text), "\" is not a list of CPUs"),
                         "write them as in 0-3,6");
    for (uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

void stay_on(const std::vector<int>& cpus, pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  if (!cpus.empty()) ::sched_setaffinity(process, sizeof set, &set);
}

}  // namespace tf
