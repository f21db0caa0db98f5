#pragma once
// Owns: the words of the schedule language that headers of recipes are written in.

#include <vector>

#include "compiler/schedule/step.h"

namespace tf::recipes {

using schedule::Size;
using Steps = std::vector<schedule::Step>;

}  // namespace tf::recipes
