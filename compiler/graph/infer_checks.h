#pragma once
// Owns: what the inference of all operators shares: refusals and checks of axes.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tf::graph {

// INVALID_ARGUMENT with the parts as one line.
template <typename... Parts>
absl::Status refusal(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

inline absl::Status check_axis(int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return absl::OkStatus();
  return refusal("axis ", axis, " of a tensor of rank ", rank, "; axes are 0 to ", rank - 1);
}

}  // namespace tf::graph
