// explain: why a step is not legal, as one line for people.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/text/printable.h"
#include "compiler/schedule/explain_numbers.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/step_names.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using absl::StrCat;
using Place = StageState::Place;

// One explanation for each reason. The state is the one that the step was applied to, and did not change.
class Explainer {
 public:
  Explainer(const StateData& data, const Step& step)
      : data_(data), step_(step), names_(names_in(step)), stage_(data.find_stage(names_.stage)) {
    holder_ = names_.loops_of_other ? data.find_stage(names_.other) : stage_;
  }

  std::string text(Illegal reason) const {
    switch (reason) {
      case Illegal::kUnknownStage:
        return unknown_stage();
      case Illegal::kUnknownLoop:
        return unknown_loop();
      case Illegal::kBadFactor:
        return explain_number(data_, step_);
      case Illegal::kNotAdjacent:
        return not_adjacent();
      case Illegal::kMixedFuse:
        return StrCat("the loops are not of one kind: spatial loops (i…) and reduce loops (r…) of ",
                      names_.stage, " cannot be fused with each other");
      case Illegal::kIncompleteOrder:
        return StrCat("the order must name each loop of ", names_.stage,
                      " exactly once; it has: ", loops_text(*stage_));
      case Illegal::kReductionParallel:
        return reduction_parallel();
      case Illegal::kNotInnermost:
        return not_innermost();
      case Illegal::kVectorExtent:
        return StrCat(loop_text(), "; a vectorized loop has at most ", kMaxVectorLanes,
                      " iterations; split it first");
      case Illegal::kNotElementwise:
        return StrCat(names_.stage,
                      " is a reduction; only an element-wise stage can be inlined; use compute_at");
      case Illegal::kIsOutput:
        return StrCat(names_.stage,
                      " is an output of the workload: it must be stored whole, in the layout of its port");
      case Illegal::kAlreadyPlaced:
        return already_placed();
      case Illegal::kAlreadySplit:
        return StrCat(names_.stage, " now has the loops ", loops_text(*stage_),
                      "; this step must come before steps that split, fuse or reorder them");
      case Illegal::kNoConsumer:
        return no_consumer();
      case Illegal::kOpenSize:
        return "a size is still open ($parameter.part); fill in the sketch first";
      case Illegal::kBadLayout:
        return explain_layout(data_, step_);
      case Illegal::kBadScope:
        return explain_scope(data_, step_);
      case Illegal::kShiftTail:
        return explain_shift(data_, step_);
      case Illegal::kNotReduce:
        return StrCat(names_.loops[0], " is a spatial loop; rfactor needs a reduce loop; ", names_.stage,
                      " has: ", loops_text(*stage_));
      case Illegal::kNotConstant:
        return StrCat(names_.stage,
                      " is not a constant: the layout of an activation is a port of the kernel, "
                      "not a step");
      case Illegal::kTooManySteps:
        return StrCat("a schedule has at most ", kMaxSteps, " steps");
      case Illegal::kHoldsStages:
        return holds_stages();
      case Illegal::kNestedParallel:
        return nested_parallel();
      case Illegal::kCyclicConsumer:
        return StrCat(names_.other, " does not come after ", names_.stage,
                      " in the workload; a stage is computed inside a later stage that reads it");
      case Illegal::kNoFactors:
        return "there is no factor; split needs at least one";
      case Illegal::kNotWinograd:
        return StrCat(names_.stage,
                      " is not a 3x3 or 5x5 convolution of stride 1 in f32 whose weights are a "
                      "constant that no other stage reads");
      case Illegal::kNotNarrow:
        return StrCat(names_.stage,
                      " cannot be narrowed; narrow stores an f32 constant, or the result of an "
                      "element-wise stage in f32, as bf16 or f16, before any winograd step");
      case Illegal::kNotOffset:
        return StrCat(names_.stage, " is not a sum of byte products in which ", names_.other,
                      " is a factor and the other factor is summed over whole axes; the value must be 128 "
                      "for i8, -128 for u8");
      case Illegal::kNotTensor:
        return not_tensor();
      case Illegal::kIsTensor:
        return StrCat("the loops of ", names_.stage,
                      " are a matrix instruction's; a step that changes them comes before `tensorize`");
      case Illegal::kNotPipeline:
        return not_pipeline();
      case Illegal::kNotBulk:
        return StrCat(
            "the copy engine makes none of the copies in loop ", names_.loops[0],
            ": it takes whole tiles of row-major inputs, of constant extents and with rows that begin at "
            "multiples of 16 bytes, to swizzled lines of 128 bytes along the last axis");
      case Illegal::kSharedBytes:
        return StrCat(
            "the tiles that are copied in loop ", names_.loops[0],
            ", as often as there are stages, take more than ", kMaxSharedBytes,
            " bytes, which is the most shared memory that a GPU has; take fewer stages or smaller tiles");
      case Illegal::kNotRaster:
        return StrCat(names_.stage, " has no grid_x loop and grid_y loop; annotate two of its loops first: ",
                      loops_text(*stage_));
      case Illegal::kInRaster:
        return "a stage stands between the two grid loops that raster runs as one; compute it in the inner "
               "one, "
               "or in none";
      case Illegal::kNotCross:
        return StrCat(
            "threads that share the work on an element stand in a stage at root without threads of that "
            "axis, "
            "which is thread_x, thread_y or thread_z; ",
            stage_->place == Place::kAt ? place_text(*stage_)
                                        : StrCat(names_.stage, " has: ", loops_text(*stage_)));
      case Illegal::kNotMatrices:
        return StrCat(names_.stage,
                      " is not a sum of products of two elements of which one has all the rows (i…) that are "
                      "named and the other none; all reduce loops (r…) are named, once each: ",
                      loops_text(*stage_));
      case Illegal::kNotSoftmax: {
        const auto& step = std::get<Rescale>(step_);
        return StrCat(step.maximum, ", ", step.sum, " and ", step.result,
                      " are not the greatest scores of rows, the sums of exp(score - greatest), and sums of "
                      "values times such an "
                      "exponential and divided by such a sum, in f32 or f64 and read by nothing else; inline "
                      "the element-wise stages "
                      "between them first");
      }
      case Illegal::kOwnCopies:
        return StrCat(
            place_text(*stage_), ", in ", stage_->scope == tensor::Scope::kGlobal ? "memory" : "registers",
            " of which each thread has its own copy; threads fill together what is computed in scope shared");
      case Illegal::kOneStores:
        return StrCat(
            "the iterations of ", names_.loops[0],
            " share the work on one element, which one of them stores: they cannot be lanes of a vector");
      case Illegal::kFixedThreads:
        return StrCat(names_.loops[0], " runs over threads, and what ", names_.stage,
                      " reads was placed for one of them: do this before that compute_at");
    }
    TF_CHECK(false) << "unknown reason";
    return "";
  }

 private:
  // The stage or input that the step names and that does not exist or was inlined.
  std::string unknown_stage() const {
    for (const auto& [name, or_input] :
         {std::pair(names_.stage, names_.stage_or_input), std::pair(names_.other, names_.other_or_input)}) {
      if (name.empty() || (or_input && data_.find_input(name) >= 0)) continue;
      const StageState* found = data_.find_stage(name);
      if (found && found->place == Place::kInlined)
        return StrCat(name, " was inlined by an earlier step and is no longer a stage");
      if (!found)
        return StrCat("there is no stage ", or_input ? "or input " : "", name, "; there are ",
                      stages_text(data_, or_input));
    }
    return StrCat("there are the stages ", stages_text(data_, false));
  }

  std::string unknown_loop() const {
    for (const std::string& loop : names_.loops)
      if (holder_->find_loop(loop) < 0)
        return StrCat(holder_->name, " has no loop ", loop, " at this point; it has ", loops_text(*holder_));
    return StrCat(holder_->name, " has ", loops_text(*holder_));
  }

  std::string not_adjacent() const {
    if (names_.loops.size() < 2) return "fuse needs two or more neighbouring loops";
    return StrCat(absl::StrJoin(names_.loops, ","), " are not neighbours in this order; ", names_.stage,
                  " has, outermost first: ", loops_text(*stage_), "; reorder first");
  }

  std::string reduction_parallel() const {
    if (std::get<Annotate>(step_).annotation == Annotation::kVectorize)
      return "a product cannot be folded across vector lanes; vectorize a spatial loop, or split and rfactor";
    return StrCat("iterations of the reduce loop ", names_.loops[0],
                  " depend on each other; rfactor it first, and annotate the new spatial loop");
  }

  std::string not_innermost() const {
    if (std::holds_alternative<ComputeAt>(step_))
      return StrCat("loop ", names_.loops[0], " of ", names_.other,
                    " is vectorized: nothing can be computed inside it; choose a loop outside of it");
    if (std::holds_alternative<Reorder>(step_)) {
      const auto vector = std::ranges::find(stage_->loops, Annotation::kVectorize, &Loop::annotation);
      return StrCat("loop ", vector->name, " of ", names_.stage, " is vectorized and must stay innermost");
    }
    return StrCat("loop ", names_.loops[0], " is not innermost; ", names_.stage,
                  " has, outermost first: ", loops_text(*stage_),
                  "; vectorize the innermost loop, or reorder first");
  }

  std::string already_placed() const {
    if (std::holds_alternative<Root>(step_))
      return StrCat(names_.stage, " is already at root; root needs a stage that compute_at placed");
    if (stage_ && stage_->place == Place::kInlined)
      return StrCat(names_.stage, " was inlined by an earlier step and is no longer a stage");
    for (const StageState* stage : {stage_, data_.find_stage(names_.other)})
      if (stage && stage->place == Place::kAt)
        return StrCat(place_text(*stage), "; this step needs a stage at root: `root ", stage->name,
                      "` first");
    return "this step needs a stage at root; a stage that it reads is computed inside another stage";
  }

  std::string no_consumer() const {
    const std::vector<const StageState*> readers = data_.readers(data_.find_buffer(names_.stage).get());
    if (readers.empty()) return StrCat("no stage reads ", names_.stage);
    if (std::holds_alternative<Recompute>(step_) && readers.size() == 1 && readers[0]->name == names_.other)
      return StrCat("only ", names_.other, " reads ", names_.stage, ", so that a copy would be the only one");
    if (std::holds_alternative<ComputeAt>(step_)) {
      const int loop = holder_->find_loop(names_.loops[0]);
      for (const StageState* reader : readers)
        if (reader != holder_ && !data_.is_inside(*reader, *holder_, loop))
          return StrCat(reader->name, " reads ", names_.stage, " and is not computed inside loop ",
                        names_.loops[0], " of ", names_.other, "; inline it or compute it there first");
    }
    const std::string names = absl::StrJoin(
        readers, ", ", [](std::string* out, const StageState* reader) { *out += reader->name; });
    return StrCat(names_.other, " does not read ", names_.stage, "; ", names,
                  readers.size() == 1 ? " does" : " do");
  }

  std::string holds_stages() const {
    for (const StageState& inner : data_.stages)
      if (inner.place == Place::kAt && inner.consumer == names_.stage)
        return StrCat(place_text(inner),
                      ": the loops down to that one are fixed now; put this step before `compute_at ",
                      inner.name, "`, or `root ", inner.name, "` first");
    return StrCat(names_.stage,
                  " reads a stage that compute_at placed: the two can only move together; "
                  "root that one first");
  }

  std::string nested_parallel() const {
    if (std::holds_alternative<ComputeAt>(step_))
      return StrCat("a loop of ", names_.stage,
                    " is parallel, of the grid or of threads; inside another stage it cannot be: place the "
                    "stage first, or leave the loop serial");
    const Annotation annotation = std::get<Annotate>(step_).annotation;
    const auto same = std::ranges::find(stage_->loops, annotation, &Loop::annotation);
    if (is_thread(annotation) && same != stage_->loops.end())
      return StrCat(place_text(*stage_), ", and its loop ", same->name, " runs over those threads already");
    if (is_thread(annotation))
      return StrCat(place_text(*stage_),
                    ", which no loop of the same thread axis surrounds; annotate one there "
                    "first");
    if (stage_->place == Place::kAt)
      return StrCat(place_text(*stage_), "; only loops of a stage at root can be parallel or of the grid");
    const auto taken = std::ranges::find(stage_->loops, Annotation::kParallel, &Loop::annotation);
    return StrCat("loop ", taken->name, " of ", names_.stage,
                  " is already parallel; a stage can have one parallel loop: fuse the two first");
  }

  std::string not_tensor() const {
    const auto& step = std::get<Tensorize>(step_);
    const tensor_units::TensorUnit* unit = tensor_units::find_tensor_unit(step.unit);
    if (unit == nullptr)
      return StrCat(
          "there is no matrix instruction '", printable(step.unit, 40), "'; there are ",
          absl::StrJoin(tensor_units::tensor_units(), ", ",
                        [](std::string* out, const tensor_units::TensorUnit& u) { *out += u.name; }));
    const char* factors = unit->reads_shared
                              ? "that lie in scope shared in lines of 128 bytes with their swizzle, of "
                              : "that are computed inside it in scope fragment, of ";
    return StrCat(names_.stage, " is not what ", step.unit, " computes: in scope fragment, for ",
                  unit->c.lanes, " lanes of thread_x, a sum of products of two copies (cache_read) ", factors,
                  std::string(tensor::element_name(unit->a_element)), " and ",
                  std::string(tensor::element_name(unit->b_element)), " in ",
                  std::string(tensor::element_name(unit->c_element)), ", whose three innermost loops, from ",
                  step.loop, " on, are rows, columns and terms of extents ", unit->m, ", ", unit->n, " and ",
                  unit->k, " and whose tiles are whole; it has the loops ", loops_text(*stage_));
  }

  std::string not_pipeline() const {
    const Loop& loop = stage_->loops[static_cast<size_t>(stage_->find_loop(names_.loops[0]))];
    if (stage_->pipelined_loop == loop.name)
      return StrCat("loop ", loop.name, " of ", names_.stage,
                    " is a pipeline, whose iterations follow one another: it stays serial");
    if (loop.annotation != Annotation::kSerial)
      return StrCat("loop ", loop.name, " of ", names_.stage,
                    " is not serial; only such a loop can be a pipeline");
    return StrCat("nothing is copied into shared memory in loop ", loop.name, " of ", names_.stage,
                  "; cache_read what it reads and `compute_at` the copy there in scope shared first");
  }

  std::string loop_text() const {
    const Loop& loop = holder_->loops[static_cast<size_t>(holder_->find_loop(names_.loops[0]))];
    return StrCat("loop ", loop.name, " has extent ", extent_text(loop.extent));
  }

  const StateData& data_;
  const Step& step_;
  const StepNames names_;
  const StageState* stage_;   // null: the step names an input, or nothing that exists
  const StageState* holder_;  // of the loops that the step names
};

}  // namespace

std::string explain(const StepError& error, const Step& step, const State& state) {
  return StrCat("step ", error.step + 1, " '", to_string(step),
                "' is not legal: ", Explainer(state.data(), step).text(error.reason));
}

}  // namespace tf::schedule
