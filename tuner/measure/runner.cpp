#include "tuner/measure/runner.h"

#include <utility>

#include "base/digest.h"

namespace tf::measure {

ArtifactBytes make_artifact_bytes(std::string serialized) {
  std::string digest = sha256(serialized).hex();
  return {std::move(digest), std::make_shared<const std::string>(std::move(serialized))};
}

bool may_retry(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

}  // namespace tf::measure
