#include "compiler/recipes/gpu/conv2d.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/whole_division.h"
#include "compiler/recipes/gpu/grid.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

constexpr int64_t kWindowThreads = 256;
constexpr int64_t kMostElements = 64;  // of one thread: beside them, it has registers for what it reads
constexpr int kChannelAxis = 1;
constexpr size_t kFirstSpatialAxis = 2;

// The axes that a block tiles. Without two spatial axes, h is none.
struct WindowShape {
  size_t rank = 0;
  bool has_h = false;
  bool sums_channels = false;  // r0 runs over channels, the others over the window
  bool channels_last = false;  // neighbours in memory are channels
  size_t reduce_axes = 0;
  size_t w() const { return rank - 1; }
  size_t h() const { return rank - 2; }
};

// Of any port: the others have one layout in memory with it, or one pixel.
bool has_channels_last(const tensor::KernelSpec& kernel) {
  const auto is_last = [](const tensor::Layout& layout) {
    return !layout.axes.empty() && layout.axes.back() == tensor::LayoutAxis{kChannelAxis, 0};
  };
  return std::ranges::any_of(kernel.ports.inputs, is_last) ||
         std::ranges::any_of(kernel.ports.outputs, is_last);
}

std::optional<WindowShape> window_shape(const tensor::KernelSpec& kernel, const Structure& structure) {
  if (!structure.anchor) return std::nullopt;
  const Workload& workload = kernel.workload;
  const Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  WindowShape shape{.rank = anchor.axes.size(), .reduce_axes = anchor.reduce_axes.size()};
  if (shape.rank <= kFirstSpatialAxis) return std::nullopt;
  const size_t spatial = shape.rank - kFirstSpatialAxis;
  shape.has_h = spatial > 1;
  shape.sums_channels = shape.reduce_axes == spatial + 1;
  if (!shape.sums_channels && shape.reduce_axes != spatial) return std::nullopt;
  shape.channels_last = has_channels_last(kernel);
  return shape;
}

// A side whose sizes may be open.
struct OpenSide {
  Size threads = 1, elements = 1;
};
struct OpenWindowTile {
  OpenSide channel, h, w;
  Size reduce, unroll;
};

// A buffer that the reduction reads: an input, or the element-wise stage that makes it.
struct Operand {
  std::string name;
  size_t rank = 0;
  bool is_input = false, is_constant = false;
};

std::vector<Operand> window_operands(const Workload& workload, const Stage& reduction) {
  std::vector<Operand> operands;
  const auto add = [&](Operand operand) {
    if (std::ranges::count(operands, operand.name, &Operand::name) == 0)
      operands.push_back(std::move(operand));
  };
  tensor::for_each(reduction.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr) return true;
    const auto rank = static_cast<size_t>(load->buffer->rank());
    for (size_t i = 0; i < workload.inputs.size(); ++i)
      if (workload.inputs[i].buffer.same_as(load->buffer))
        add({input_name(static_cast<int>(i)), rank, true, workload.inputs[i].constant});
    for (size_t i = 0; i < workload.stages.size(); ++i)
      if (workload.stages[i].output.same_as(load->buffer)) add({stage_name(static_cast<int>(i)), rank});
    return true;
  });
  return operands;
}

// Weights w[channel, …] are stored with the output channels innermost: neighbours, of which one thread reads several and a block
// many.
OpenLayout channels_last(size_t rank) {
  OpenLayout layout;
  for (size_t axis = 1; axis < rank; ++axis) layout.push_back(static_cast<int>(axis), 0);
  layout.push_back(0, 0);
  return layout;
}

bool is_turned(const Operand& operand) {
  return operand.is_constant && operand.rank > 1;
}

// Neighbours along x are neighbours in memory.
struct WindowThreads {
  Annotation channel = Annotation::kThreadZ, h = Annotation::kThreadY, w = Annotation::kThreadX;
};
WindowThreads threads_along(const WindowShape& shape) {
  if (!shape.channels_last) return {};
  return {.channel = Annotation::kThreadX, .h = Annotation::kThreadZ, .w = Annotation::kThreadY};
}

// The threads of a block fill shared memory together.
void append_staging(const Operand& operand, const std::string& reduction, const OpenWindowTile& tile,
                    const WindowShape& shape, Steps& steps) {
  std::string copy = operand.name;
  const bool turns = is_turned(operand);
  if (operand.is_input) {
    const OpenLayout layout = turns ? channels_last(operand.rank) : OpenLayout{};
    steps.push_back(CacheRead{operand.name, reduction, layout, tensor::Scope::kGlobal});
    copy += ".pack";
  }
  steps.push_back(ComputeAt{copy, reduction, "r0.0", tensor::Scope::kShared});
  // Of images, a block holds one.
  std::vector<std::string> loops;
  for (size_t axis = operand.rank > 1 ? 1 : 0; axis < operand.rank; ++axis) loops.push_back(axis_name(axis));
  if (turns) {
    loops.push_back(axis_name(0));
    steps.push_back(Reorder{copy, loops});
  }
  const std::string all = append_fuse(copy, loops, steps);
  std::vector<std::pair<Annotation, Size>> threads = {{threads_along(shape).channel, tile.channel.threads},
                                                      {threads_along(shape).w, tile.w.threads}};
  if (shape.has_h) threads.emplace_back(threads_along(shape).h, tile.h.threads);
  std::ranges::sort(threads, std::greater(), &std::pair<Annotation, Size>::first);  // x innermost
  std::vector<Size> factors;
  factors.reserve(threads.size());
  for (const auto& [annotation, size] : threads) factors.push_back(size);
  steps.push_back(Split{copy, all, factors, Tail::kGuard});
  for (size_t part = 0; part < threads.size(); ++part)
    steps.push_back(Annotate{copy, absl::StrCat(all, ".", part + 1), threads[part].first});
}

// The output's loops: blocks, threads, then what one thread keeps in registers. Returns the innermost
// thread loop.
std::string append_output_tile(const std::string& output, const WindowShape& shape,
                               const OpenWindowTile& tile, Steps& steps) {
  std::vector<std::string> batch = {axis_name(0)};
  std::vector<std::pair<std::string, OpenSide>> tiled = {{axis_name(kChannelAxis), tile.channel}};
  const size_t first_tiled = shape.has_h ? shape.h() : shape.w();
  for (size_t axis = kFirstSpatialAxis; axis < first_tiled; ++axis) batch.push_back(axis_name(axis));
  if (shape.has_h) tiled.emplace_back(axis_name(shape.h()), tile.h);
  tiled.emplace_back(axis_name(shape.w()), tile.w);
  std::vector<std::string> order = batch;
  for (const auto& [axis, side] : tiled)
    steps.push_back(Split{output, axis, {side.threads, side.elements}, Tail::kGuard});
  for (const char* part : {".0", ".1", ".2"})
    for (const auto& [axis, side] : tiled) order.push_back(axis + part);
  steps.push_back(Reorder{output, order});
  // Blocks that share an image run next to each other.
  const std::string channel = tiled[0].first;
  const std::string all_batch = append_fuse(output, batch, steps);
  steps.push_back(Annotate{output, all_batch, Annotation::kGridZ});
  std::string across = tiled.back().first + ".0";
  if (shape.has_h) across = append_fuse(output, {tiled[1].first + ".0", across}, steps);
  steps.push_back(Annotate{output, channel + ".0", Annotation::kGridY});
  steps.push_back(Annotate{output, across, Annotation::kGridX});
  const WindowThreads threads = threads_along(shape);
  steps.push_back(Annotate{output, channel + ".1", threads.channel});
  if (shape.has_h) steps.push_back(Annotate{output, tiled[1].first + ".1", threads.h});
  steps.push_back(Annotate{output, tiled.back().first + ".1", threads.w});
  for (const auto& [axis, side] : tiled) steps.push_back(Annotate{output, axis + ".2", Annotation::kUnroll});
  return tiled.back().first + ".1";
}

Steps window_steps(const Workload& workload, const Structure& structure, const WindowShape& shape,
                   const OpenWindowTile& tile, bool stages) {
  const Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  Steps steps;
  std::vector<Operand> operands = window_operands(workload, anchor);
  if (stages || shape.channels_last)
    for (const Operand& operand : operands)
      if (is_turned(operand)) steps.push_back(LayoutRewrite{operand.name, channels_last(operand.rank)});
  if (!stages) operands.clear();
  for (const int producer : structure.producers)
    if (std::ranges::count(operands, stage_name(producer), &Operand::name) == 0)
      append_inlining({producer}, steps);
  append_inlining(structure.epilogue, steps);
  const std::string output = stage_name(structure.output);
  const std::string reduction = append_separate_sum(structure, steps);
  const std::string thread = append_output_tile(output, shape, tile, steps);
  steps.push_back(ComputeAt{reduction, output, thread, tensor::Scope::kRegister});
  // A window of one channel is read whole; its outer loop, of one iteration, is where it is staged.
  const Size reduce = shape.sums_channels ? tile.reduce : Size(extent_of(anchor.reduce_axes[0]));
  steps.push_back(Split{reduction, "r0", {reduce}, Tail::kGuard});
  std::vector<std::string> order = {"r0.0", "r0.1"};
  for (size_t axis = 1; axis < shape.reduce_axes; ++axis) order.push_back(absl::StrCat("r", axis));
  const size_t first = order.size();
  for (size_t axis = 0; axis < shape.rank; ++axis) order.push_back(axis_name(axis));
  steps.push_back(Reorder{reduction, order});
  for (size_t i = first; i < order.size(); ++i)
    steps.push_back(Annotate{reduction, order[i], Annotation::kUnroll});
  steps.push_back(Pragma{reduction, PragmaKind::kUnrollLimit, tile.unroll});
  for (const Operand& operand : operands) append_staging(operand, reduction, tile, shape, steps);
  return steps;
}

// Threads of few neighbours each that cover an axis with the least work beyond its end.
GpuSide covering(int64_t extent, int64_t most) {
  GpuSide best;
  int64_t least = INT64_MAX;
  for (const int64_t elements : {4, 2, 7, 1}) {
    for (const int64_t threads : {16, 14, 8, 7, 4, 2, 1}) {
      const GpuSide side{threads, elements};
      if (side.extent() > most) continue;
      const int64_t blocks = ceil_div(extent, side.extent());
      // What a block costs beside its elements: as much as a few.
      const int64_t work = blocks * (side.extent() + 2);
      if (work < least) {
        least = work;
        best = side;
      }
    }
  }
  return best;
}

GpuWindowTile fitting_tile(const tensor::KernelSpec& kernel, const Stage& anchor, const WindowShape& shape) {
  const auto extent = [&](size_t axis) { return extent_of(anchor.axes[axis]); };
  const int64_t channels = extent(kChannelAxis);
  GpuWindowTile tile;
  const int64_t most = std::min<int64_t>(kWindowThreads, kernel.target.gpu.block_threads);
  if (shape.channels_last) {
    while (tile.channel.threads < std::min<int64_t>(channels, 32)) tile.channel.threads *= 2;
    while (tile.w.threads < extent(shape.w()) && tile.channel.threads * tile.w.threads * 2 <= most)
      tile.w.threads *= 2;
    return tile;
  }
  tile.w = covering(extent(shape.w()), 32);
  if (shape.has_h)
    while (tile.h.threads < extent(shape.h()) && tile.w.threads * tile.h.threads < 32) tile.h.threads *= 2;
  if (shape.sums_channels) {
    while (tile.channel.elements < 8 && tile.channel.elements < channels) tile.channel.elements *= 2;
    tile.reduce = shape.reduce_axes > 1 && extent_of(anchor.reduce_axes.back()) > 1 ? 4 : 16;
    tile.reduce = std::min(tile.reduce, extent_of(anchor.reduce_axes[0]));
  }
  const auto threads = [&] { return tile.channel.threads * tile.h.threads * tile.w.threads; };
  while (threads() * 2 <= most && tile.channel.extent() < channels) tile.channel.threads *= 2;
  return tile;
}

// Less in shared memory: fewer channels at a time, then fewer threads, along the axes with a halo last. False if there is nothing
// less.
bool shrink(GpuWindowTile& tile) {
  for (int64_t* size : {&tile.reduce, &tile.channel.threads, &tile.h.threads, &tile.w.threads}) {
    if (*size == 1) continue;
    *size /= 2;
    return true;
  }
  return false;
}

// The choices of one size for each side, of which no more than `most` come of all together. Without h, its size is 1.
Parameter sides(std::string name, std::initializer_list<int64_t> values, bool has_h, int64_t most) {
  Parameter parameter{std::move(name), {}};
  for (const int64_t channel : values)
    for (const int64_t h : values)
      for (const int64_t w : values)
        if ((has_h || h == 1) && channel * h * w <= most) parameter.choices.push_back({channel, h, w});
  return parameter;
}

Sketch sketch_of(const tensor::KernelSpec& kernel, const Structure& structure, const WindowShape& shape,
                 const GpuWindowTile& by_default, bool stages) {
  Sketch sketch(stages ? "windows" : "windows, unstaged", kernel);
  OpenWindowTile tile;
  const auto& [channel, h, w, reduce] = by_default;
  const std::vector<Size> threads =
      sketch.open(sides("threads", {1, 2, 4, 7, 8, 14, 16, 32}, shape.has_h, kernel.target.gpu.block_threads),
                  {channel.threads, h.threads, w.threads});
  const std::vector<Size> elements =
      sketch.open(sides("elements", {1, 2, 4, 7, 8}, shape.has_h, kMostElements),
                  {channel.elements, h.elements, w.elements});
  tile.channel = {threads[0], elements[0]};
  tile.h = {threads[1], elements[1]};
  tile.w = {threads[2], elements[2]};
  if (shape.sums_channels) tile.reduce = sketch.open("reduce", {1, 2, 4, 8, 16}, reduce);
  tile.unroll = sketch.open("unroll", {0, 4}, 0);
  sketch.steps.steps = window_steps(kernel.workload, structure, shape, tile, stages);
  return sketch;
}

}  // namespace

std::vector<Sketch> windows_on_gpu(const tensor::KernelSpec& kernel, const GpuWindowTile& by_default) {
  const Structure structure = structure_of(kernel.workload);
  const std::optional<WindowShape> shape = window_shape(kernel, structure);
  if (!shape) return {};
  std::vector<Sketch> sketches;
  // With channels last, a warp loads neighbours from few lines anyway.
  for (const bool stages : {!shape->channels_last, shape->channels_last})
    sketches.push_back(sketch_of(kernel, structure, *shape, by_default, stages));
  return sketches;
}

std::vector<Sketch> windows_on_gpu(const tensor::KernelSpec& kernel) {
  const Structure structure = structure_of(kernel.workload);
  const std::optional<WindowShape> shape = window_shape(kernel, structure);
  if (!shape) return {};
  GpuWindowTile tile = fitting_tile(kernel, anchor_of(kernel.workload, structure), *shape);
  std::vector<Sketch> sketches = windows_on_gpu(kernel, tile);
  while (shared_bytes_of(sketches[0]) > kernel.target.gpu.shared_bytes && shrink(tile))
    sketches = windows_on_gpu(kernel, tile);
  return sketches;
}

}  // namespace tf::recipes
