#include "device_agent/agent/slots/slot_sets.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/machine/cpu_list.h"
#include "base/remedy.h"
#include "base/status.h"

namespace tf::agent {

absl::StatusOr<std::vector<CpuSet>> parse_slots(std::string_view text) {
  std::vector<CpuSet> slots;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
    const absl::StatusOr<CpuSet> cpus = parse_cpu_list(absl::StrReplaceAll(part, {{"+", ","}}));
    if (!cpus.ok()) {
      return with_remedy(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("\"", std::string(text), "\" is not a list of slots"),
                         "write them as in 0-1,2-3 or 0+4,1+5");
    }
    slots.push_back(*cpus);
    std::ranges::sort(slots.back());
  }
  return slots;
}

std::string slots_text(const std::vector<CpuSet>& slots) {
  return absl::StrJoin(slots, ",", [](std::string* text, const CpuSet& cpus) {
    absl::StrAppend(text, absl::StrJoin(cpus, "+"));
  });
}

absl::Status check_slots(const std::vector<CpuSet>& slots, const CpuSet& allowed, std::string_view given) {
  const std::string said(given);
  std::set<uint32_t> taken;
  for (const CpuSet& cpus : slots) {
    for (const uint32_t cpu : cpus) {
      if (!taken.insert(cpu).second)
        return with_remedy(absl::StatusCode::kInvalidArgument,
                           absl::StrCat(said, ": CPU ", cpu, " is given twice"), "name each CPU once",
                           Between::kSemicolon);
      if (std::ranges::find(allowed, cpu) == allowed.end()) {
        return with_remedy(
            absl::StatusCode::kInvalidArgument,
            absl::StrCat(said, ": this process may run on ", absl::StrJoin(allowed, ","), " only"),
            "choose from those", Between::kSemicolon);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tf::agent
