#pragma once
// Owns: the names that a step of any kind refers to, and texts that describe the named objects. For error
// messages. Does not know: legality.

#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// `stage` and `other` name stages, or stages and inputs where the `_or_input` flags say so. `loops` are loops
// of `other` for compute_at, of `stage` for every other step.
struct StepNames {
  std::string stage, other;
  std::vector<std::string> loops;
  bool stage_or_input = false, other_or_input = false;
  bool loops_of_other = false;
};
StepNames names_in(const Step& step);

// "i0 (extent 10), i1 (extent 12)", outermost first. Unknown extents are "open".
std::string loops_text(const StageState& stage);
std::string extent_text(const SymInt& extent);
// "t0, t1": the stages that steps can name; with `inputs`, "p0, p1" before them.
std::string stages_text(const StateData& data, bool inputs);
// "t0 is computed inside loop i0 of t2" for a stage that compute_at placed.
std::string place_text(const StageState& stage);

}  // namespace tf::schedule
