#pragma once
// Owns: how what an earlier program recorded can be read by this one. Does not know: what is in it.

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tf::replay {

// Gives those of the databases that are there this program's schema, for readers do not. Errors: the
// database's.
absl::Status upgrade(const std::vector<std::string>& databases);

}  // namespace tf::replay
