#pragma once
// Owns: which part of a stage's output one iteration of a consumer's loop needs. Does not know: steps, loop
// IR.

#include <vector>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// A box with an origin that depends on the loops around and extents that do not, an entry an axis.
struct Region {
  std::vector<tensor::Expr> origin;
  std::vector<SymInt> extents;
};

// The box that holds every element of `stage` read by one iteration of `consumer`'s loop number `loop`, by
// the consumer itself or by stages computed inside that loop: loops inside it range, loops outside are fixed.
// An axis whose need depends on data, does not have constant extents, or is no smaller than the axis, is
// taken whole.
//   t1[i] reads t0[i - 1], t0[i], t0[i + 1]; loop i.0 of split(i, 4)  →  origin i.0*4 - 1, extent 6
// The box may reach beyond the stage's extents where the consumer guards its reads or overruns. Of scope
// shared it is what all threads of a block need: thread loops around `loop` range, too. Of scope fragment it is what the lanes of a warp need, the
// loop thread_x around, and is not cut at the stage's extents; nor is what such a region is copied from. Of scope register it is what
// one thread needs: loops of readers over the threads around `loop` stand still.
Region needed_region(const StateData& data, const StageState& stage, const StageState& consumer, int loop,
                     tensor::Scope scope);

// Whether the loop is over threads, and a region for one thread, outside of the stage, counts on that: the loop stays as it is.
bool fixes_threads(const StateData& data, const StageState& stage, int loop);

}  // namespace tf::schedule
