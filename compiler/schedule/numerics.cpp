#include "compiler/schedule/numerics.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tf::schedule {
namespace {

constexpr std::array<const char*, 5> kNames = {"bf16", "fast-math", "fp16", "int8", kWinograd};

}  // namespace

absl::Status check_numerics(const std::string& name) {
  if (std::ranges::find(kNames, name) != kNames.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--allow knows no \"", name, "\"; it takes ", absl::StrJoin(kNames, ", ")));
}

absl::StatusOr<Numerics> parse_numerics(const std::string& list) {
  Numerics names = absl::StrSplit(list, ',', absl::SkipEmpty());
  for (const std::string& name : names)
    if (absl::Status known = check_numerics(name); !known.ok()) return known;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool allows(const Numerics& allowed, const char* name) {
  return std::ranges::find(allowed, name) != allowed.end();
}

Numerics numerics_of(const Schedule& schedule) {
  const bool winograd = std::ranges::any_of(
      schedule.steps, [](const Step& step) { return std::holds_alternative<Winograd>(step); });
  return winograd ? Numerics{kWinograd} : Numerics{};
}

double tolerance_factor(const Schedule& schedule) {
  double factor = 1;
  for (const Step& step : schedule.steps)
    if (const auto* winograd = std::get_if<Winograd>(&step))
      factor = std::max(factor, winograd->tile == 2 ? 2.0 : winograd->tile == 4 ? 4.0 : 8.0);
  return factor;
}

}  // namespace tf::schedule
