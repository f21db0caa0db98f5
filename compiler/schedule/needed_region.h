#pragma once
// Owns: the part of a stage's output that one iteration of a consumer's loop needs. Does not know: steps,
// loop IR.

#include <vector>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// The elements of an axis that are needed where these lie apart: `count` runs of `length` neighbours each, one every `step`
// elements. Without runs, all elements are needed.
struct Runs {
  int64_t length = 1, count = 0, step = 0;
  // Where needed element number n stands, from the first.
  tensor::Expr place(const tensor::Expr& n) const;
};

// A box, with one entry per axis. The origin depends on the enclosing loops; the extents do not.
struct Region {
  std::vector<tensor::Expr> origin;
  std::vector<SymInt> extents;
  std::vector<Runs> runs;
};

// The box of all elements of `stage` that one iteration of `consumer`'s loop number `loop` reads, in the
// consumer itself or in stages computed inside that loop. Loops inside it vary, loops outside it are fixed.
// The box covers the whole axis if the needed part depends on data, has no constant extent, or is not smaller
// than the axis.
//   t1[i] reads t0[i - 1], t0[i], t0[i + 1]; loop i.0 of split(i, 4)  →  origin i.0*4 - 1, extent 6
// The box may exceed the stage's extents if the consumer guards its reads or overruns.
//
// For scope shared, it is what all threads of a block need: thread loops around `loop` vary, too. For scope
// fragment, it is what the lanes of a warp need: the enclosing thread_x loop varies. It is not cut at the
// stage's extents, and neither is the region that it is copied from. For scope register, it is what one
// thread needs: the readers' loops over the threads around `loop` are fixed. There, the region tells which elements of the box are
// needed, if one load reads them.
//   t1[i] reads t0[i]; loop i.2 of split(i, 4, 16), over threads, around i.1  →  origin i.0*64 + i.2, extent 49, 4 runs every 16
Region needed_region(const StateData& data, const StageState& stage, const StageState& consumer, int loop,
                     tensor::Scope scope);

// Whether the loop runs over threads, and a region for one thread outside the stage relies on that. Such a
// loop must not change.
bool fixes_threads(const StateData& data, const StageState& stage, int loop);

}  // namespace tf::schedule
