#pragma once
// Owns: the explanations of illegal steps that compare a number, a layout or a size with its limits. Each
// takes the state before the step and the step that was refused for that reason, and returns one sentence.

#include <string>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::string explain_number(const StateData& data, const Step& step);  // Illegal::kBadFactor
std::string explain_layout(const StateData& data, const Step& step);  // Illegal::kBadLayout
std::string explain_scope(const StateData& data, const Step& step);   // Illegal::kBadScope
std::string explain_shift(const StateData& data, const Step& step);   // Illegal::kShiftTail

}  // namespace tf::schedule
