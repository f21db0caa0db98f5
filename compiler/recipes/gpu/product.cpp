#include "compiler/recipes/gpu/product.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/whole_division.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/gpu/matrix_form.h"
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
void append_staging(const std::string& copy, size_t rank, const std::string& reduction, const OpenTile& tile,
                    Steps& steps) {
  steps.push_back(ComputeAt{copy, reduction, "r0.0", tensor::Scope::kShared});
  const std::string all = append_fuse(copy, rank, steps);
  steps.push_back(Split{copy, all, {tile.threads_m, tile.threads_n, tile.fetch}, Tail::kGuard});
  steps.push_back(Annotate{copy, all + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{copy, all + ".2", Annotation::kThreadX});
  steps.push_back(Annotate{copy, all + ".3", Annotation::kVectorize});
  if (rank > 1) steps.push_back(StorageAlign{copy, static_cast<int>(rank) - 2, 1, tile.pad});
}

// The output's loops over counts (may be none), rows and columns: blocks, threads, then what one thread keeps in registers.
// Returns the innermost thread loop.
std::string append_output_tile(const std::string& output, const std::array<std::string, 3>& loops,
                               const OpenTile& tile, Steps& steps) {
  const auto& [count, m, n] = loops;
  steps.push_back(Split{output, m, {tile.threads_m, tile.rows}, Tail::kGuard});
  steps.push_back(Split{output, n, {tile.threads_n, tile.columns}, Tail::kGuard});
  std::vector<std::string> order;
  if (!count.empty()) {
    order.push_back(count);
    steps.push_back(Annotate{output, count, Annotation::kGridZ});
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

std::array<std::string, 3> last_two_loops(const std::string& stage, size_t rank, Steps& steps) {
  return {rank > 2 ? append_fuse(stage, rank - 2, steps) : "", axis_name(rank - 2), axis_name(rank - 1)};
}

// The sums, in registers of the thread.
void append_register_sums(const std::string& reduction, size_t rank, const std::string& output,
                          const std::string& thread, const OpenTile& tile, Steps& steps) {
  steps.push_back(ComputeAt{reduction, output, thread, tensor::Scope::kRegister});
  steps.push_back(Split{reduction, "r0", {tile.reduce}, Tail::kGuard});
  std::vector<std::string> order = {"r0.0", "r0.1"};
  for (size_t axis = 0; axis < rank; ++axis) order.push_back(axis_name(axis));
  steps.push_back(Reorder{reduction, order});
  for (size_t i = 1; i < order.size(); ++i)
    steps.push_back(Annotate{reduction, order[i], Annotation::kUnroll});
}

Steps product_steps(const Workload& workload, const Structure& structure, const OpenTile& tile) {
  const tensor::Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  const size_t rank = anchor.axes.size();
  Steps steps;
  append_inlining(structure.producers, steps);
  append_inlining(structure.epilogue, steps);
  const std::string output = stage_name(structure.output);
  const std::string reduction = append_separate_sum(structure, steps);
  const std::array<std::string, 3> loops = last_two_loops(output, rank, steps);
  const std::string thread = append_output_tile(output, loops, tile, steps);
  append_register_sums(reduction, rank, output, thread, tile, steps);
  for (const std::string& operand : operands_of(workload, anchor)) {
    const auto input = static_cast<size_t>(std::stoi(operand.substr(1)));
    steps.push_back(CacheRead{operand, reduction, {}, tensor::Scope::kGlobal});
    append_staging(operand + ".pack", static_cast<size_t>(workload.inputs[input].buffer->rank()), reduction,
                   tile, steps);
  }
  steps.push_back(Pipeline{reduction, "r0.0", tile.stages});
  return steps;
}

// The same of matrices that are gathered; a part of 0: without parts.
Steps matrix_product_steps(const tensor::KernelSpec& kernel, const Structure& structure,
                           const MatrixForm& form, const OpenTile& tile, const Size& part) {
  const bool in_parts = part != Size(0);
  Steps steps;
  const MatrixStages stages = append_matrices(kernel, structure, form, form.b.runs_along_terms, part, steps);
  append_inlining(structure.epilogue, steps);
  std::string output = stage_name(structure.output), sum = stages.product();
  const size_t rank = form.rank() + (in_parts ? 1 : 0);
  std::array<std::string, 3> loops;
  if (in_parts) {
    output = sum;
    steps.push_back(CacheWrite{output});
    sum += ".acc";
    loops = last_two_loops(output, rank, steps);
  } else {
    if (stages.anchor != output) steps.push_back(Inline{stages.anchor});
    loops = append_matrix_loops(output, form, steps);
  }
  append_register_sums(sum, rank, output, append_output_tile(output, loops, tile, steps), tile, steps);
  for (const std::string& matrix : {stages.a(), stages.b()}) append_staging(matrix, rank, sum, tile, steps);
  steps.push_back(Pipeline{sum, "r0.0", tile.stages});
  if (in_parts) append_sum_of_parts(kernel, structure, steps);
  return steps;
}

// No more threads than rows and columns need; where they do not fill a warp, more with fewer elements each.
GpuTile fitted(GpuTile tile, int64_t m, int64_t n) {
  constexpr int64_t kWarpThreads = 32;
  const int64_t enough = std::min(kWarpThreads, tile.threads_m * tile.threads_n);
  while (tile.threads_m > 1 && tile.threads_m / 2 * tile.rows >= m) tile.threads_m /= 2;
  while (tile.threads_n > 1 && tile.threads_n / 2 * tile.columns >= n) tile.threads_n /= 2;
  const auto share = [](int64_t& threads, int64_t& elements, int64_t extent) {
    if (elements % 2 != 0 || threads >= extent) return false;
    elements /= 2;
    threads *= 2;
    return true;
  };
  while (tile.threads_m * tile.threads_n < enough &&
         ((tile.columns >= tile.rows && share(tile.threads_n, tile.columns, n)) ||
          share(tile.threads_m, tile.rows, m) || share(tile.threads_n, tile.columns, n))) {
  }
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

GpuTile usual_tile(const target::Target& target) {
  GpuTile tile;
  // Where copies are asynchronous, two steps ahead hide how long they take.
  if (target.has("cp_async")) tile.stages = 3;
  if (target.arch == target::Arch::kCuda) tile.fetch = 4;
  return tile;
}

// Which of the sketches of gathered matrices; those that are faster by estimate than others of the kernel, or the others.
struct MatrixWish {
  bool faster = true;
  std::optional<GpuTile> tile;
  std::optional<int64_t> part;
};

std::vector<Sketch> matrix_sketches(const tensor::KernelSpec& kernel, const MatrixWish& wish) {
  const Structure structure = structure_of(kernel.workload);
  const std::optional<MatrixForm> form = matrix_form(kernel, structure);
  if (!form) return {};
  const ProductExtents& extents = form->extents;
  GpuTile fit = fitted(wish.tile.value_or(usual_tile(kernel.target)), extents.m, extents.n);
  if (fit.threads_m * fit.threads_n == 1) return {};
  if (!wish.tile) {
    const std::array<int64_t, 2> vectors =
        matrix_vectors(kernel, structure, *form, form->b.runs_along_terms, fit.fetch);
    fit.fetch = std::min(vectors[0], vectors[1]);
    // Each element that a thread gathers by itself takes registers for its place.
    if (fit.fetch == 1) {
      fit.reduce /= 2;
      fit.stages = std::min<int64_t>(fit.stages, 2);
    }
  }
  const int64_t blocks = extents.count * ceil_div(extents.m, fit.threads_m * fit.rows) *
                         ceil_div(extents.n, fit.threads_n * fit.columns);
  const int64_t parts = default_parts(blocks, extents.k);
  std::vector<Sketch> sketches;
  const auto add = [&](bool in_parts) {
    Sketch sketch(absl::StrCat(form->is_convolution ? "convolution as product" : "product",
                               in_parts ? ", in parts" : ""),
                  kernel);
    const OpenTile tile = opened(fit, sketch);
    const int64_t part = wish.part.value_or(terms_of_parts(extents.k, std::max<int64_t>(parts, 2)));
    sketch.steps.steps =
        matrix_product_steps(kernel, structure, *form, tile,
                             in_parts ? sketch.open("part", part_choices(extents.k), part) : Size(0));
    sketches.push_back(std::move(sketch));
  };
  if (wish.part) {
    add(*wish.part > 0);
    return sketches;
  }
  // A convolution's windows are staged with less work, unless parts of them are needed to fill a GPU.
  if (wish.faster ? parts > 1 : parts == 1 && !part_choices(extents.k).empty()) add(true);
  if (form->is_convolution && !wish.faster) add(false);
  return sketches;
}

}  // namespace

std::vector<Sketch> product_on_gpu(const tensor::KernelSpec& kernel, const GpuTile& by_default) {
  const Structure structure = structure_of(kernel.workload);
  if (!structure.anchor) return {};
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  if (anchor.reduce_axes.size() != 1 || anchor.axes.size() < 2) return {};
  if (operands_of(kernel.workload, anchor).empty()) return {};  // it reads what other stages make of them
  const GpuTile fit =
      fitted(by_default, extent_of(anchor.axes[anchor.axes.size() - 2]), extent_of(anchor.axes.back()));
  if (fit.threads_m * fit.threads_n == 1) return {};  // no loop is left to bind to threads
  Sketch sketch("product", kernel);
  const OpenTile tile = opened(fit, sketch);
  sketch.steps.steps = product_steps(kernel.workload, structure, tile);
  return {std::move(sketch)};
}

std::vector<Sketch> product_on_gpu(const tensor::KernelSpec& kernel) {
  return product_on_gpu(kernel, usual_tile(kernel.target));
}

std::vector<Sketch> matrix_product_on_gpu(const tensor::KernelSpec& kernel, const GpuTile& tile,
                                          int64_t part) {
  return matrix_sketches(kernel, {.tile = tile, .part = part});
}

std::vector<Sketch> matrix_product_on_gpu(const tensor::KernelSpec& kernel) {
  return matrix_sketches(kernel, {});
}

std::vector<Sketch> more_matrix_products_on_gpu(const tensor::KernelSpec& kernel) {
  return matrix_sketches(kernel, {.faster = false});
}

}  // namespace tf::recipes
