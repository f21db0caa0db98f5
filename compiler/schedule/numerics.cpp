#include "compiler/schedule/numerics.h"

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tf::schedule {
namespace {

bool takes_tf32(const Step& step) {
  const auto* tensorize = std::get_if<Tensorize>(&step);
  const tensor_units::TensorUnit* unit =
      tensorize ? tensor_units::find_tensor_unit(tensorize->unit) : nullptr;
  return unit && unit->takes_tf32;
}

constexpr std::array<const char*, 4> kNames = {kBf16, kFp16, kTf32, kWinograd};

}  // namespace

absl::Status check_numerics(const std::string& name) {
  if (std::ranges::find(kNames, name) != kNames.end()) return absl::OkStatus();
  if (name == "int8")
    return absl::InvalidArgumentError(
        "--allow int8 is not supported, because quantizing an fp32 network needs calibration data: give a "
        "quantized ONNX model, which needs no --allow");
  return absl::InvalidArgumentError(
      absl::StrCat("--allow does not know \"", name, "\"; choose from ", absl::StrJoin(kNames, ", ")));
}

absl::StatusOr<Numerics> parse_numerics(const std::string& list) {
  Numerics names = absl::StrSplit(list, ',', absl::SkipEmpty());
  for (const std::string& name : names)
    if (absl::Status known = check_numerics(name); !known.ok()) return known;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Numerics all_numerics() {
  return {kNames.begin(), kNames.end()};
}

bool allows(const Numerics& allowed, const char* name) {
  return std::ranges::find(allowed, name) != allowed.end();
}

Numerics numerics_of(const Schedule& schedule) {
  std::set<std::string> names;
  for (const Step& step : schedule.steps) {
    if (std::holds_alternative<Winograd>(step)) names.insert(kWinograd);
    if (takes_tf32(step)) names.insert(kTf32);
    if (const auto* narrow = std::get_if<Narrow>(&step))
      names.insert(narrow->element == tensor::Element::kFloat16 ? kFp16 : kBf16);
  }
  return {names.begin(), names.end()};
}

double tolerance_factor(const Schedule& schedule) {
  double factor = 1;
  for (const Step& step : schedule.steps)
    if (const auto* winograd = std::get_if<Winograd>(&step))
      factor = std::max(factor, winograd->tile == 2 ? 2.0 : winograd->tile == 4 ? 4.0 : 8.0);
  return factor;
}

double storage_error(const Schedule& schedule) {
  double grown = 1;
  for (const Step& step : schedule.steps) {
    if (takes_tf32(step)) grown *= (1 + 0x1p-10) * (1 + 0x1p-10);
    if (const auto* narrow = std::get_if<Narrow>(&step))
      grown *= 1 + (narrow->element == tensor::Element::kFloat16 ? 0x1p-11 : 0x1p-8);
  }
  return grown - 1;
}

}  // namespace tf::schedule
