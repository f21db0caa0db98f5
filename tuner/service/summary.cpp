#include "tuner/service/summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"

namespace tf::service {
namespace {

// "0:12", "1:02:03".
std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, std::round(seconds)));
  if (whole < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string absence_text(const session::Progress& progress) {
  // A device is seen to be away some seconds late, and one that changes hands is away for as long.
  constexpr double kNotable = 5;
  if (progress.without_device_s < kNotable) return "";
  return absl::StrCat("a device was available for ",
                      clock_text(progress.elapsed_s - progress.without_device_s), " of ",
                      clock_text(progress.elapsed_s));
}

std::string summary(const session::Progress& progress) {
  const std::string absence = absence_text(progress);
  return absl::StrCat(counted(progress.trials, "trial"), ", ", progress.failures, " failed",
                      progress.nothing_new ? "; nothing new to try" : "",
                      progress.undecided ? "; not all play-offs were held" : "", absence.empty() ? "" : "; ",
                      absence);
}

}  // namespace tf::service
