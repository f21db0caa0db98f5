#include "absl/strings/str_cat.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/steps/annotate.h"
#include "compiler/schedule/steps/compute_at.h"

namespace tf::schedule {
namespace {

// "?" for those that name a limit.
const char* plain_text(Illegal reason) {
  switch (reason) {
    case Illegal::kVectorExtent:
    case Illegal::kBadScope:
      break;
    case Illegal::kUnknownStage:
      return "there is no such stage or input (or it was inlined); name one of the workload's text: "
             "p0 …, t0 …";
    case Illegal::kUnknownLoop:
      return "the stage has no such loop at that point; loops start as i0 …, r0 … and split gives LOOP.0, "
             "LOOP.1 …";
    case Illegal::kBadFactor:
      return "a factor or number is out of range; factors are at least 1";
    case Illegal::kNotAdjacent:
      return "only two or more neighbouring loops, outermost first, can be fused; reorder first";
    case Illegal::kMixedFuse:
      return "a spatial loop and a reduce loop cannot become one";
    case Illegal::kIncompleteOrder:
      return "the order must name every loop of the stage exactly once";
    case Illegal::kReductionParallel:
      return "iterations of a reduce loop depend on each other; rfactor it first";
    case Illegal::kNotInnermost:
      return "a vectorized loop must be the innermost one, with nothing computed inside; reorder first";
    case Illegal::kNotElementwise:
      return "a stage with a reduction cannot be inlined; use compute_at";
    case Illegal::kIsOutput:
      return "an output of the workload must be stored whole, in the layout of its port";
    case Illegal::kAlreadyPlaced:
      return "the stage is not where the step needs it: compute_at and inline take stages at root, root "
             "those placed by compute_at";
    case Illegal::kAlreadySplit:
      return "the stage's loops were already split, fused or reordered; this step comes before those";
    case Illegal::kNoConsumer:
      return "not all readers of the stage lie in that place";
    case Illegal::kOpenSize:
      return "a size is still open ($slot.part); instantiate the sketch first";
    case Illegal::kBadLayout:
      return "the layout does not fit the buffer: each axis once without block, as in 0,1,2,3,1:16";
    case Illegal::kShiftTail:
      return "a shifted tail needs an element-wise stage and an extent of at least the tile";
    case Illegal::kNotReduce:
      return "the loop is not one of the reduction";
    case Illegal::kNotConstant:
      return "the layout of an activation is a port of the kernel, not a step";
    case Illegal::kTooManySteps:
      return "the schedule has more steps than are allowed";
    case Illegal::kHoldsStages:
      return "other stages are computed inside these loops; reshape them before compute_at";
    case Illegal::kNestedParallel:
      return "a nest has one parallel loop at most, in a stage at root; so have grid loops, and a stage "
             "inside another needs a thread loop of the kind around it";
    case Illegal::kCyclicConsumer:
      return "a stage is computed inside a later one that reads it";
    case Illegal::kNoFactors:
      return "split needs at least one factor";
    case Illegal::kNotWinograd:
      return "winograd takes a 3x3 or 5x5 convolution of stride 1 in f32 whose constant weights nothing else "
             "reads";
    case Illegal::kNotNarrow:
      return "narrow takes a constant or an element-wise stage that holds f32, before any winograd, and bf16 "
             "or "
             "f16";
    case Illegal::kNotOffset:
      return "offset takes a sum of products of bytes, i8 to be moved by 128 or u8 by -128, whose other "
             "factor is summed over whole axes";
  }
  return "?";
}

std::string reason_text(Illegal reason) {
  if (reason == Illegal::kVectorExtent)
    return absl::StrCat("a vectorized loop has at most ", kMaxVectorLanes, " iterations; split it first");
  if (reason == Illegal::kBadScope)
    return absl::StrCat("this scope cannot hold it; registers hold regions of at most ", kMaxRegisterBytes,
                        " bytes, shared memory ", kMaxSharedBytes,
                        "; cache_read makes a global copy, compute_at then says where it lives");
  return plain_text(reason);
}

}  // namespace

std::string explain(const StepError& error, const Schedule& schedule) {
  const bool known = error.step >= 0 && static_cast<size_t>(error.step) < schedule.steps.size();
  return absl::StrCat("step ", error.step + 1, known ? " '" : "",
                      known ? to_string(schedule.steps[static_cast<size_t>(error.step)]) : "",
                      known ? "'" : "", " is not legal: ", reason_text(error.reason));
}

}  // namespace tf::schedule
