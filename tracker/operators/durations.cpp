#include "tracker/operators/durations.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text/printable.h"

namespace tf::tracker {
namespace {

// As absl reads it, with days before it, which absl does not know.
std::optional<absl::Duration> parse(std::string_view text) {
  absl::Duration days = absl::ZeroDuration(), rest = absl::ZeroDuration();
  if (const size_t unit = text.find('d'); unit != std::string_view::npos) {
    int64_t count = 0;
    if (!absl::SimpleAtoi(std::string(text.substr(0, unit)), &count)) return std::nullopt;
    days = absl::Hours(24) * count;
    text.remove_prefix(unit + 1);
    if (text.empty()) return days;
    if (text.front() < '0' || text.front() > '9') return std::nullopt;
  }
  if (!absl::ParseDuration(std::string(text), &rest)) return std::nullopt;
  return days + rest;
}

}  // namespace

absl::StatusOr<absl::Duration> parse_duration(std::string_view option, std::string_view text) {
  const std::optional<absl::Duration> duration = parse(text);
  const std::string given = absl::StrCat(std::string(option), " ", printable(text));
  if (!duration) {
    return absl::InvalidArgumentError(absl::StrCat(
        given, " is not a duration: give numbers with their units (d, h, m, s), as in 2d or 1h30m"));
  }
  if (*duration > absl::ZeroDuration()) return *duration;
  return absl::InvalidArgumentError(
      absl::StrCat(given, " is not above zero: give a duration such as 2d or 1h30m"));
}

}  // namespace tf::tracker
