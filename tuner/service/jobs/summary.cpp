#include "tuner/service/jobs/summary.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/cli/age_text.h"
#include "base/cli/counted.h"

namespace tf::service {
std::string absence_text(const session::Progress& progress) {
  // A device is seen to be away some seconds late, and one that changes hands is away for as long.
  constexpr double kNotable = 5;
  if (progress.without_device_s() < kNotable) return "";
  return absl::StrCat("a device was available for ",
                      age_text(std::llround(progress.elapsed_s() - progress.without_device_s())), " of ",
                      age_text(std::llround(progress.elapsed_s())));
}

std::string summary(const session::Progress& progress) {
  const std::string absence = absence_text(progress);
  return absl::StrCat(counted(progress.trials(), "trial"), ", ", progress.failures(), " failed",
                      progress.nothing_new() ? "; search exhausted" : "",
                      progress.undecided() ? "; not all finalists were re-measured" : "",
                      absence.empty() ? "" : "; ", absence);
}

}  // namespace tf::service
