#include "compiler/recipes/gpu/product.h"

#include <algorithm>

#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Workload;

// A tile whose sizes may be open.
struct OpenTile {
  Size threads_m, threads_n, rows, columns, reduce, stages, fetch, pad, group;
};

// The buffers that the reduction reads, by their names in schedules, each once.
std::vector<std::string> operands_of(const Workload& workload, const tensor::Stage& reduction) {
  std::vector<std::string> names;
  tensor::for_each(reduction.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr) return true;
    for (size_t i = 0; i < workload.inputs.size(); ++i) {
      const std::string name = input_name(static_cast<int>(i));
      if (workload.inputs[i].buffer.same_as(load->buffer) && std::ranges::count(names, name) == 0)
        names.push_back(name);
    }
    return true;
  });
  return names;
}

// The threads of a block copy together what all of them need for one step of the outer reduce loop.
void append_staging(const std::string& operand, size_t rank, const std::string& reduction,
                    const OpenTile& tile, Steps& steps) {
  const std::string copy = operand + ".pack";
  steps.push_back(CacheRead{operand, reduction, {}, tensor::Scope::kGlobal});
  steps.push_back(ComputeAt{copy, reduction, "r0.0", tensor::Scope::kShared});
  const std::string all = append_fuse(copy, rank, steps);
  steps.push_back(Split{copy, all, {tile.threads_m, tile.threads_n, tile.fetch}, Tail::kGuard});
  steps.push_back(Annotate{copy, all + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{copy, all + ".2", Annotation::kThreadX});
  steps.push_back(Annotate{copy, all + ".3", Annotation::kVectorize});
  if (rank > 1) steps.push_back(StorageAlign{copy, static_cast<int>(rank) - 2, 1, tile.pad});
}

// The output's loops: blocks, threads, then what one thread keeps in registers. Returns the innermost thread
// loop.
std::string append_output_tile(const std::string& output, size_t rank, const OpenTile& tile, Steps& steps) {
  const std::string m = axis_name(rank - 2), n = axis_name(rank - 1);
  steps.push_back(Split{output, m, {tile.threads_m, tile.rows}, Tail::kGuard});
  steps.push_back(Split{output, n, {tile.threads_n, tile.columns}, Tail::kGuard});
  std::vector<std::string> order;
  std::string batch;
  if (rank > 2) {
    batch = append_fuse(output, rank - 2, steps);
    order.push_back(batch);
    steps.push_back(Annotate{output, batch, Annotation::kGridZ});
  }
  for (const std::string& loop : {m + ".0", n + ".0", m + ".1", n + ".1", m + ".2", n + ".2"})
    order.push_back(loop);
  steps.push_back(Reorder{output, order});
  steps.push_back(Annotate{output, m + ".0", Annotation::kGridY});
  steps.push_back(Annotate{output, n + ".0", Annotation::kGridX});
  steps.push_back(Annotate{output, m + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{output, n + ".1", Annotation::kThreadX});
  steps.push_back(Annotate{output, m + ".2", Annotation::kUnroll});
  steps.push_back(Annotate{output, n + ".2", Annotation::kUnroll});
  steps.push_back(Raster{output, tile.group});
  return n + ".1";
}

Steps product_steps(const Workload& workload, const Structure& structure, const OpenTile& tile) {
  const tensor::Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  const size_t rank = anchor.axes.size();
  Steps steps;
  append_inlining(structure.producers, steps);
  append_inlining(structure.epilogue, steps);
  const std::string output = stage_name(structure.output);
  const std::string reduction = append_separate_sum(structure, steps);
  const std::string thread = append_output_tile(output, rank, tile, steps);
  steps.push_back(ComputeAt{reduction, output, thread, tensor::Scope::kRegister});
  steps.push_back(Split{reduction, "r0", {tile.reduce}, Tail::kGuard});
  std::vector<std::string> order = {"r0.0", "r0.1"};
  for (size_t axis = 0; axis < rank; ++axis) order.push_back(axis_name(axis));
  steps.push_back(Reorder{reduction, order});
  for (size_t i = 1; i < order.size(); ++i)
    steps.push_back(Annotate{reduction, order[i], Annotation::kUnroll});
  for (const std::string& operand : operands_of(workload, anchor)) {
    const auto input = static_cast<size_t>(std::stoi(operand.substr(1)));
    append_staging(operand, static_cast<size_t>(workload.inputs[input].buffer->rank()), reduction, tile,
                   steps);
  }
  steps.push_back(Pipeline{reduction, "r0.0", tile.stages});
  return steps;
}

// No more threads than rows and columns need.
GpuTile fitted(GpuTile tile, const tensor::Stage& anchor) {
  const int64_t m = extent_of(anchor.axes[anchor.axes.size() - 2]), n = extent_of(anchor.axes.back());
  while (tile.threads_m > 1 && tile.threads_m / 2 * tile.rows >= m) tile.threads_m /= 2;
  while (tile.threads_n > 1 && tile.threads_n / 2 * tile.columns >= n) tile.threads_n /= 2;
  return tile;
}

OpenTile opened(const GpuTile& by_default, Sketch& sketch) {
  OpenTile tile;
  tile.threads_m = sketch.open("threads_m", {1, 2, 4, 8, 16, 32}, by_default.threads_m);
  tile.threads_n = sketch.open("threads_n", {4, 8, 16, 32, 64}, by_default.threads_n);
  tile.rows = sketch.open("rows", {1, 2, 4, 8}, by_default.rows);
  tile.columns = sketch.open("columns", {1, 2, 4, 8}, by_default.columns);
  tile.reduce = sketch.open("reduce", {4, 8, 16, 32}, by_default.reduce);
  tile.stages = sketch.open("stages", {1, 2, 3, 4}, by_default.stages);
  tile.fetch = sketch.open("fetch", {1, 2, 4}, by_default.fetch);
  tile.pad = sketch.open("pad", {0, 1, 4}, by_default.pad);
  tile.group = sketch.open("group", {1, 4, 8}, by_default.group);
  return tile;
}

}  // namespace

std::vector<Sketch> product_on_gpu(const tensor::KernelSpec& kernel, const GpuTile& by_default) {
  const Structure structure = structure_of(kernel.workload);
  if (!structure.anchor) return {};
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  if (anchor.reduce_axes.size() != 1 || anchor.axes.size() < 2) return {};
  const GpuTile fit = fitted(by_default, anchor);
  if (fit.threads_m * fit.threads_n == 1) return {};  // no loop is left to bind to threads
  Sketch sketch("product", kernel);
  const OpenTile tile = opened(fit, sketch);
  sketch.steps.steps = product_steps(kernel.workload, structure, tile);
  return {std::move(sketch)};
}

std::vector<Sketch> product_on_gpu(const tensor::KernelSpec& kernel) {
  GpuTile tile;
  // Where copies are asynchronous, two steps ahead hide how long they take.
  if (kernel.target.has("cp_async")) tile.stages = 3;
  if (kernel.target.arch == target::Arch::kCuda) tile.fetch = 4;
  return product_on_gpu(kernel, tile);
}

}  // namespace tf::recipes
