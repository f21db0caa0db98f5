#include "compiler/recipes/emit/winograd.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/whole_division.h"
#include "compiler/recipes/sizes/tile_cost.h"
#include "compiler/schedule/stage_loops.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
namespace {

// Writes the steps of one workload's stages.
class Builder {
 public:
  Builder(const WinogradFrame& frame, const WinogradTiling& tiling, Steps& steps)
      : frame_(frame), tiling_(tiling), steps_(steps) {}

  void run() {
    steps_.push_back(Winograd{frame_.convolution, frame_.tile});
    for (const std::string& stage : frame_.producers) steps_.push_back(Inline{stage});
    for (const std::string& stage : frame_.epilogue) steps_.push_back(Inline{stage});
    // In the order in which the product reads them: all of its sums for one vector of channels lie together.
    const tensor::Layout weights{{{0, 0}, {2, 0}, {3, 0}, {1, 0}, {0, frame_.lanes}}};
    steps_.push_back(LayoutRewrite{input_name(frame_.weights), weights});
    const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {3, frame_.lanes}}};
    steps_.push_back(LayoutRewrite{stage("v"), blocked});
    steps_.push_back(LayoutRewrite{stage("m"), blocked});
    const std::string blocks = tile_output();
    place_output_transform();
    place_product();
    if (!tiling_.whole_input)
      steps_.push_back(ComputeAt{stage("v"), frame_.output, blocks, tensor::Scope::kGlobal});
    place_input_transform();
  }

 private:
  std::string stage(const char* suffix) const { return absl::StrCat(frame_.convolution, ".", suffix); }

  // Returns the loop of blocks of tiles that the input transform stands in.
  std::string tile_output() {
    const std::string& out = frame_.output;
    steps_.push_back(Split{out, "i1", {tiling_.block_k, frame_.lanes}});
    steps_.push_back(Split{out, "i2", {tiling_.block_h, frame_.tile}});
    steps_.push_back(Split{out, "i3", {tiling_.block_w, frame_.tile}});
    append_tile_loops(
        out, {{"i0", "i2.0", "i3.0", "i1.0", "i2.1", "i3.1", "i1.1"}, {"i2.2", "i3.2"}, {"i1.2"}}, steps_);
    if (!tiling_.parallel) return "i3.0";
    std::vector<std::string> fused = {"i0", "i2.0", "i3.0"};
    if (tiling_.whole_input) fused.push_back("i1.0");
    const std::string parallel = absl::StrJoin(fused, "*");
    steps_.push_back(Fuse{out, std::move(fused)});
    steps_.push_back(Annotate{out, parallel, Annotation::kParallel});
    product_at_ = tiling_.whole_input ? parallel : product_at_;
    return parallel;
  }

  void place_output_transform() {
    const std::string rows = stage("am");
    steps_.push_back(ComputeAt{rows, frame_.output, "i1.1", tensor::Scope::kRegister});
    steps_.push_back(Split{rows, "i1", {frame_.lanes}});
    append_tile_loops(rows, {{"i0", "i1.0"}, {"i3", "i4", "i2"}, {"i1.1"}}, steps_);
  }

  void place_product() {
    const std::string product = stage("m");
    steps_.push_back(CacheWrite{product});
    steps_.push_back(ComputeAt{product, frame_.output, product_at_, tensor::Scope::kGlobal});
    RegisterTile tile;
    tile.reduction = absl::StrCat(product, ".acc");
    tile.output = product;
    tile.axes = {{1, 1}, {1, 1}, {1, 1}, {1, tiling_.rows_k}, {1, tiling_.rows_h}, {1, tiling_.rows_w}};
    tile.vector_axis = 3;
    tile.lanes = frame_.lanes;
    tile.reduce_inner = {tiling_.reduce_inner};
    tile.parallel = false;
    append_register_tile(tile, steps_);
  }

  void place_input_transform() {
    const std::string columns = stage("v"), rows = stage("bd");
    steps_.push_back(Split{columns, "i3", {frame_.lanes}});
    append_tile_loops(columns, {{"i2", "i3.0", "i4", "i5"}, {"i0", "i1"}, {"i3.1"}}, steps_);
    if (tiling_.parallel && tiling_.whole_input) {
      steps_.push_back(Fuse{columns, {"i2", "i3.0", "i4"}});
      steps_.push_back(Annotate{columns, "i2*i3.0*i4", Annotation::kParallel});
    }
    steps_.push_back(ComputeAt{rows, columns, "i5", tensor::Scope::kRegister});
    steps_.push_back(Split{rows, "i1", {frame_.lanes}});
    append_tile_loops(rows, {{"i0", "i1.0"}, {"i2", "i4", "i3"}, {"i1.1"}}, steps_);
  }

  const WinogradFrame& frame_;
  const WinogradTiling& tiling_;
  Steps& steps_;
  std::string product_at_ = "i1.0";
};

// Cycles of a core, in vector operations of one a cycle; caches beyond L2 give a few bytes a cycle.
double estimate_cycles(const WinogradFrame& frame, const target::Target& target) {
  const double squares = static_cast<double>(frame.points * frame.points);
  const double in = static_cast<double>(ceil_div(frame.all_in_channels, frame.lanes)),
               out = static_cast<double>(ceil_div(frame.out_channels, frame.lanes));
  const double tiles = static_cast<double>(frame.batch * frame.tiles_h * frame.tiles_w);
  constexpr double kTransformOps = 4;  // load, store and arithmetic for each point
  constexpr double kBytesPerCycle = 6;
  const double weights = squares * static_cast<double>(frame.in_channels * frame.out_channels) * 4;
  const double products = squares * tiles * static_cast<double>(frame.in_channels) * out;
  const double streamed =
      weights > static_cast<double>(target.caches.l2_bytes) ? weights / kBytesPerCycle : 0;
  return std::max(products, streamed) + kTransformOps * squares * tiles * (in + out);
}

}  // namespace

std::optional<WinogradFrame> winograd_frame(const tensor::KernelSpec& kernel, int64_t tile) {
  const Structure structure = structure_of(kernel.workload);
  if (!structure.anchor) return std::nullopt;
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  State state(kernel.workload);
  WinogradFrame frame;
  frame.convolution = stage_name(*structure.anchor);
  if (state.apply(Winograd{frame.convolution, tile})) return std::nullopt;
  frame.lanes = kernel.target.fp32_lanes();
  frame.out_channels = constant_extent(anchor.axes[1]);
  frame.in_channels = constant_extent(anchor.reduce_axes[0]);
  if (vector_axis(kernel, structure) != 1 || std::min(frame.out_channels, frame.in_channels) < frame.lanes)
    return std::nullopt;
  frame.all_in_channels = constant_extent(state.data().find_stage(frame.convolution + ".v")->stage.axes[3]);
  const int64_t groups = frame.all_in_channels / frame.in_channels;
  if (groups > 1 && frame.out_channels % (groups * frame.lanes) != 0) return std::nullopt;
  frame.output = stage_name(structure.output);
  for (int producer : structure.producers) frame.producers.push_back(stage_name(producer));
  if (*structure.anchor != structure.output) frame.epilogue.push_back(frame.convolution);
  for (int stage : structure.epilogue) frame.epilogue.push_back(stage_name(stage));
  frame.weights = state.data().find_input(state.data().maps.begin()->first);
  frame.tile = tile;
  frame.taps = constant_extent(anchor.reduce_axes[1]);
  frame.points = tile + frame.taps - 1;
  frame.batch = constant_extent(anchor.axes[0]);
  frame.tiles_h = ceil_div(constant_extent(anchor.axes[2]), tile);
  frame.tiles_w = ceil_div(constant_extent(anchor.axes[3]), tile);
  return frame;
}

void append_winograd(const WinogradFrame& frame, const WinogradTiling& tiling, Steps& steps) {
  Builder(frame, tiling, steps).run();
}

WinogradTiling default_winograd_tiling(const WinogradFrame& frame, const target::Target& target,
                                       int threads) {
  // Tiles of the image are rows of the register tile, along one row of them first.
  const TileSizes rows = cheapest_tile({.inner = frame.tiles_w,
                                        .outer = frame.tiles_h,
                                        .vectors = ceil_div(frame.out_channels, frame.lanes),
                                        .column_bytes = frame.in_channels * frame.lanes * 4},
                                       {}, target)
                             .sizes;
  WinogradTiling tiling{.rows_h = rows.outer, .rows_w = rows.inner, .rows_k = rows.vectors};
  const int64_t w = rows.inner, h = rows.outer;
  const int64_t all_w = ceil_div(frame.tiles_w, w), all_h = ceil_div(frame.tiles_h, h);
  // As many tiles as leave the weights most of L2. Weights that do not fit L2 come from beyond it once a
  // block: then rather all tiles, if half of L2 is enough for them, or L2 where L1 serves the weights to
  // several tiles.
  const int64_t bytes_a_tile = frame.points * frame.points * frame.all_in_channels * 4;
  const int64_t weights = frame.points * frame.points * frame.in_channels * frame.out_channels * 4;
  const int64_t l2 = target.caches.l2_bytes;
  const bool shared = 4 * frame.in_channels * frame.lanes * 4 <= target.caches.l1_bytes;
  const bool all = weights > l2 && frame.tiles_h * frame.tiles_w * bytes_a_tile <= (shared ? l2 : l2 / 2);
  const int64_t room = std::max<int64_t>(1, l2 / 4 / bytes_a_tile);
  const int64_t across = all ? all_w : std::clamp<int64_t>(room / (h * w), 1, all_w);
  tiling.block_w = across * w;
  tiling.block_h = (all ? all_h : std::clamp<int64_t>(room / (h * across * w), 1, all_h)) * h;
  tiling.reduce_inner = frame.lanes;
  tiling.block_k = tiling.rows_k;
  tiling.parallel = threads > 1;
  const int64_t blocks = frame.batch * ceil_div(frame.tiles_h, tiling.block_h.value) *
                         ceil_div(frame.tiles_w, tiling.block_w.value);
  tiling.whole_input = threads > 1 && blocks < 2 * threads;
  return tiling;
}

int64_t choose_winograd_tile(const tensor::KernelSpec& kernel) {
  int64_t best = 0;
  double least = 0;
  for (int64_t tile : {2, 4, 6}) {
    const std::optional<WinogradFrame> frame = winograd_frame(kernel, tile);
    if (!frame) break;
    if (best == 0 && least == 0) {
      const tensor::Stage& anchor = anchor_of(kernel.workload, structure_of(kernel.workload));
      least = static_cast<double>(frame->taps * frame->taps) *
              static_cast<double>(ceil_div(frame->out_channels, frame->lanes) * frame->in_channels);
      for (size_t axis : {0u, 2u, 3u}) least *= static_cast<double>(constant_extent(anchor.axes[axis]));
    }
    // A larger tile costs accuracy: it has to be worth it.
    const double cycles = estimate_cycles(*frame, kernel.target);
    if (cycles > 0.9 * least) continue;
    least = cycles;
    best = tile;
  }
  return best;
}

}  // namespace tf::recipes
