#include "compiler/schedule/gpu_schedule.h"

#include <algorithm>
#include <ranges>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/schedule/structure.h"

namespace tf::schedule {
namespace {

using tensor::Workload;

std::string axis_name(size_t axis) {
  return absl::StrCat("i", axis);
}

// Stages that are element-wise and no output, so that one loop nest is left.
void append_inlining(const std::vector<int>& stages, std::vector<Step>& steps) {
  for (const int stage : stages) steps.push_back(Inline{stage_name(stage)});
}

// All loops of the stage as one, in an order that keeps neighbours together; returns its name.
std::string append_fuse(const std::string& stage, size_t rank, std::vector<Step>& steps) {
  std::vector<std::string> loops;
  for (size_t axis = 0; axis < rank; ++axis) loops.push_back(axis_name(axis));
  if (rank > 1) steps.push_back(Fuse{stage, loops});
  return absl::StrJoin(loops, "*");
}

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
                    const GpuTile& tile, std::vector<Step>& steps) {
  const std::string copy = operand + ".pack";
  steps.push_back(CacheRead{operand, reduction, {}, tensor::Scope::kGlobal});
  steps.push_back(ComputeAt{copy, reduction, "r0.0", tensor::Scope::kShared});
  const std::string all = append_fuse(copy, rank, steps);
  steps.push_back(Split{copy, all, {tile.threads_m, tile.threads_n}, Tail::kGuard});
  steps.push_back(Annotate{copy, all + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{copy, all + ".2", Annotation::kThreadX});
}

// The output's loops: blocks, threads, then what one thread keeps in registers. Returns the innermost thread
// loop.
std::string append_output_tile(const std::string& output, size_t rank, const GpuTile& tile,
                               std::vector<Step>& steps) {
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
  return n + ".1";
}

std::vector<Step> product_steps(const Workload& workload, const Structure& structure, const GpuTile& tile) {
  const tensor::Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  const size_t rank = anchor.axes.size();
  std::vector<Step> steps;
  append_inlining(structure.producers, steps);
  append_inlining(structure.epilogue, steps);
  const std::string output = stage_name(structure.output);
  std::string reduction = stage_name(*structure.anchor);
  if (reduction == output) {
    steps.push_back(CacheWrite{output});
    reduction += ".acc";
  }
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
  return steps;
}

// A thread computes one element, and what reductions that takes, from one end to the other: what several
// threads need is computed by each of them.
std::vector<Step> element_steps(const Workload& workload) {
  constexpr int64_t kThreads = 256;
  std::vector<Step> steps;
  std::vector<int> inlined, summed;
  for (size_t i = 0; i + 1 < workload.stages.size(); ++i)
    (workload.stages[i].reduce_axes.empty() ? inlined : summed).push_back(static_cast<int>(i));
  append_inlining(inlined, steps);
  const std::string output = stage_name(static_cast<int>(workload.stages.size()) - 1);
  const size_t rank = workload.stages.back().axes.size();
  if (rank == 0) return steps;
  const std::string all = append_fuse(output, rank, steps);
  steps.push_back(Split{output, all, {kThreads}, Tail::kGuard});
  steps.push_back(Annotate{output, all + ".0", Annotation::kGridX});
  steps.push_back(Annotate{output, all + ".1", Annotation::kThreadX});
  for (const int stage : std::views::reverse(summed))
    steps.push_back(ComputeAt{stage_name(stage), output, all + ".1", tensor::Scope::kRegister});
  return steps;
}

// No more threads than rows and columns need.
GpuTile fitted(GpuTile tile, const tensor::Stage& anchor) {
  const int64_t m = extent_of(anchor.axes[anchor.axes.size() - 2]), n = extent_of(anchor.axes.back());
  while (tile.threads_m > 1 && tile.threads_m / 2 * tile.rows >= m) tile.threads_m /= 2;
  while (tile.threads_n > 1 && tile.threads_n / 2 * tile.columns >= n) tile.threads_n /= 2;
  return tile;
}

}  // namespace

Schedule gpu_schedule(const Workload& workload, const GpuTile& tile) {
  const Structure structure = structure_of(workload);
  if (structure.anchor) {
    const tensor::Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
    if (anchor.reduce_axes.size() == 1 && anchor.axes.size() >= 2) {
      const GpuTile fit = fitted(tile, anchor);
      const bool has_threads = fit.threads_m * fit.threads_n > 1;  // else no loop is left to bind to them
      const Schedule tiled{product_steps(workload, structure, fit)};
      if (has_threads && apply(workload, tiled).ok()) return tiled;
    }
  }
  const Schedule by_elements{element_steps(workload)};
  return apply(workload, by_elements).ok() ? by_elements : Schedule{};
}

}  // namespace tf::schedule
