#include "compiler/schedule/explain_numbers.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/schedule/cook_toom.h"
#include "compiler/schedule/needed_region.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/step_names.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using absl::StrCat;

const Loop& loop_of(const StateData& data, const std::string& stage, const std::string& loop) {
  const StageState* found = data.find_stage(stage);
  return found->loops[static_cast<size_t>(found->find_loop(loop))];
}

std::string out_of_range(const std::string& what, const Size& value, int64_t least, int64_t most) {
  const std::string number = value.is_open() ? "" : StrCat(" ", value.value);
  return StrCat(what, number, " is out of range; ", least, " to ", most, " is legal");
}

bool is_outside(const Size& value, int64_t least, int64_t most) {
  return !value.is_open() && (value.value < least || value.value > most);
}

struct NumberText {
  const StateData& data;

  std::string operator()(const Split& s) const {
    const std::string extent = extent_text(loop_of(data, s.stage, s.loop).extent);
    for (const Size& factor : s.factors)
      if (is_outside(factor, 1, kMaxSplitFactor))
        return StrCat("factor ", factor.value, " is out of range: loop ", s.loop, " of ", s.stage,
                      " has extent ", extent, "; a factor from 1 to ", extent,
                      " is useful; a larger one only adds masked iterations");
    return StrCat("the product of the factors is out of range: loop ", s.loop, " of ", s.stage,
                  " has extent ", extent, "; a product of at most ", kMaxSplitFactor, " is legal");
  }
  std::string operator()(const Annotate& s) const {
    const StageState& stage = *data.find_stage(s.stage);
    const std::string extent = StrCat("loop ", s.loop, " of ", s.stage, " has extent ",
                                      extent_text(loop_of(data, s.stage, s.loop).extent));
    if (loop_of(data, s.stage, s.loop).reduce && is_thread(s.annotation))
      return StrCat(extent,
                    "; lanes of a warp take it together where it has 2 to 32 iterations, a power of two, and "
                    "each loop over "
                    "threads as many as the one around has threads, which fill whole warps");
    if (s.annotation == Annotation::kUnroll)
      return StrCat(extent, "; a loop of at most ", kMaxUnrollExtent,
                    " iterations can be unrolled; split it first");
    const auto around = data.thread_around(stage, s.annotation);
    const Loop& threads = around->stage->loops[static_cast<size_t>(around->loop)];
    return StrCat(extent, ", but the thread loop ", threads.name, " of ", around->stage->name,
                  " around it has only ", extent_text(threads.extent), "; split it first");
  }
  std::string operator()(const StorageAlign& s) const {
    return is_outside(s.factor, 1, kMaxPadElements) ? out_of_range("factor", s.factor, 1, kMaxPadElements)
                                                    : out_of_range("offset", s.offset, 0, kMaxPadElements);
  }
  std::string operator()(const Pragma& s) const {
    return out_of_range("unroll_limit", s.value, 0, kMaxUnrollLimit);
  }
  std::string operator()(const Pipeline& s) const {
    if (is_outside(s.bulk, 0, 1)) return out_of_range("bulk", s.bulk, 0, 1);
    if (is_outside(s.stages, 1, kMaxPipelineStages))
      return out_of_range("stages", s.stages, 1, kMaxPipelineStages);
    return StrCat("`bulk 1` is for copies ahead, and a pipeline of 1 stage has none; take 2 to ",
                  kMaxPipelineStages, " stages, or leave it out");
  }
  std::string operator()(const Raster& s) const { return out_of_range("group", s.group, 1, kMaxRasterGroup); }
  std::string operator()(const CrossThread& s) const {
    return out_of_range("threads", s.threads, 1, kMaxBlockThreads);
  }
  std::string operator()(const Matrices& s) const {
    return out_of_range("part", s.part, 1, greatest_part(data, data.find_stage(s.stage)->stage));
  }
  std::string operator()(const Rescale& s) const {
    return out_of_range("block", s.block, 1, greatest_part(data, data.find_stage(s.maximum)->stage));
  }
  std::string operator()(const RFactor& s) const {
    return StrCat("loop ", s.loop, " of ", s.stage, " has extent ",
                  extent_text(loop_of(data, s.stage, s.loop).extent), "; partial results are over at most ",
                  greatest_part(data, data.find_stage(s.stage)->stage),
                  " iterations; split by a smaller factor");
  }
  std::string operator()(const Winograd& s) const {
    const StageState& stage = *data.find_stage(s.stage);
    if (s.tile != 2 && s.tile != 4 && s.tile != 6)
      return StrCat("tile ", s.tile, " is out of range; 2, 4 and 6 are legal");
    const std::string taps = extent_text(stage.loops.back().extent);
    return StrCat("tile ", s.tile, " is too large for the ", taps, "x", taps, " weights of ", s.stage,
                  "; at most ", kMaxPoints + 1 - static_cast<int64_t>(stage.loops.back().extent),
                  " is legal");
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "a number is out of range";
  }
};

std::string layout_mistake(const StateData& data, const std::string& buffer) {
  if (data.pitches.contains(buffer))
    return StrCat(buffer, " has a padded pitch from storage_align, which needs a row-major buffer");
  const int rank = data.find_buffer(buffer)->rank();
  return StrCat("the layout does not fit ", buffer, ", which has ", rank, rank == 1 ? " axis" : " axes",
                ": name each of 0 to ", rank - 1,
                " once without a block, as in 0,1,2,3,1:16; blocks are 1 to ", kMaxLayoutBlock);
}

struct LayoutText {
  const StateData& data;

  std::string operator()(const CacheRead& s) const { return layout_mistake(data, s.source); }
  std::string operator()(const LayoutRewrite& s) const { return layout_mistake(data, s.buffer); }
  std::string operator()(const StorageAlign& s) const {
    const int rank = data.find_buffer(s.buffer)->rank();
    const auto layout = data.layouts.find(s.buffer);
    if (layout != data.layouts.end() && !layout->second.is_row_major())
      return StrCat(s.buffer, " has a layout of its own; storage_align needs a row-major buffer");
    if (rank < 2) return StrCat(s.buffer, " has one axis; storage_align needs a buffer with rows");
    return StrCat("axis ", s.axis, " of ", s.buffer, " is not the last but one; axis ", rank - 2,
                  " is legal");
  }
  std::string operator()(const Winograd& s) const {
    return StrCat("the weights of ", s.stage, " already have a layout; winograd comes before layout_rewrite");
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "the layout does not fit";
  }
};

}  // namespace

std::string explain_number(const StateData& data, const Step& step) {
  return std::visit(NumberText{data}, step);
}

std::string explain_layout(const StateData& data, const Step& step) {
  return std::visit(LayoutText{data}, step);
}

std::string explain_scope(const StateData& data, const Step& step) {
  const auto* at = std::get_if<ComputeAt>(&step);
  if (!at) return "cache_read makes a copy in global memory; compute_at then places it in another scope";
  if (at->scope == tensor::Scope::kFragment)
    return StrCat("a fragment is held by the 32 lanes of a warp, or the 128 of four, ", kMaxFragmentBytes,
                  " bytes each at most: loop ", at->loop, " of ", at->consumer,
                  " must be a loop of extent 32 that is annotated thread_x, or be inside one");
  const StageState &stage = *data.find_stage(at->stage), &consumer = *data.find_stage(at->consumer);
  const Region region = needed_region(data, stage, consumer, consumer.find_loop(at->loop), at->scope);
  const std::string extents = absl::StrJoin(
      region.extents, " x ", [](std::string* out, const SymInt& extent) { *out += extent_text(extent); });
  const bool is_register = at->scope == tensor::Scope::kRegister;
  return StrCat("one iteration of loop ", at->loop, " needs ", extents, " elements of ", at->stage, ", of ",
                tensor::element_bytes(stage.stage.output->element), " bytes each; ",
                is_register ? "registers hold at most " : "shared memory holds at most ",
                is_register ? kMaxRegisterBytes : kMaxSharedBytes,
                " bytes; choose a loop further inside, or scope global");
}

std::string explain_shift(const StateData& data, const Step& step) {
  const Split& split = std::get<Split>(step);
  if (data.find_stage(split.stage)->is_reduction())
    return StrCat(split.stage, " is a reduction: a shifted tail would add some terms twice; use guard");
  const std::string tile = absl::StrJoin(split.factors, " * ", [](std::string* out, const Size& factor) {
    absl::StrAppend(out, factor.is_open() ? "open" : StrCat(factor.value));
  });
  return StrCat("loop ", split.loop, " of ", split.stage, " has extent ",
                extent_text(loop_of(data, split.stage, split.loop).extent), ", less than the tile ", tile,
                "; a shifted tail needs at least one whole tile; use guard");
}

}  // namespace tf::schedule
