#pragma once
// Owns: the table of back ends.

#include <span>

#include "absl/status/statusor.h"
#include "compiler/backends/backend.h"

namespace tf::backends {

std::span<const Backend> all_backends();

// The first row that accepts the target; UNIMPLEMENTED if none does.
absl::StatusOr<const Backend*> backend_for(const target::Target& target);

}  // namespace tf::backends
