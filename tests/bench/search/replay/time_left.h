#pragma once
// Owns: how long something goes on at most, in English.

#include <cmath>
#include <cstdint>
#include <string>

#include "base/cli/counted.h"

namespace tf::replay {

inline std::string time_left(double minutes) {
  if (minutes < 1) return "less than a minute left";
  return "at most " + counted(static_cast<int64_t>(std::ceil(minutes)), "minute") + " left";
}

}  // namespace tf::replay
