#pragma once
// Owns: whom a plain-text tuner is told that its jobs are of. Does not know: tuners.

#include <string>

namespace tf::tuner_cli {

// The name of this process's user, if it has one that a member of a farm could have; else empty.
std::string local_user();

}  // namespace tf::tuner_cli
