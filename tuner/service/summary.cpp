#include "tuner/service/summary.h"

#include "absl/strings/str_cat.h"
#include "base/counted.h"

namespace tf::service {

std::string summary(const session::Progress& progress) {
  return absl::StrCat(counted(progress.trials, "trial"), ", ", progress.failures, " failed",
                      progress.nothing_new ? "; nothing new to try" : "",
                      progress.undecided ? "; not all play-offs were held" : "");
}

}  // namespace tf::service
