#include "compiler/recipes/gpu/attention.h"

#include <algorithm>
#include <optional>
#include <string>

#include "compiler/recipes/gpu/flat.h"
#include "compiler/recipes/gpu/key_blocks.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

// The element-wise stage that makes the weights, which the result reads.
std::optional<int> weights_of(const Workload& workload, const WeightedValues& found) {
  std::vector<bool> follows(workload.stages.size(), false);  // from the sums
  follows[static_cast<size_t>(found.sum)] = true;
  std::optional<int> weights;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    for (size_t of = 0; of < s; ++of) {
      if (!follows[of] || load_of(workload.stages[s], workload.stages[of].output) == nullptr) continue;
      follows[s] = true;
      if (static_cast<int>(s) == found.result) {
        if (weights || !workload.stages[of].reduce_axes.empty()) return std::nullopt;
        weights = static_cast<int>(of);
      }
    }
  }
  return weights;
}

// The output's axis that is the result's.
std::optional<size_t> output_axis(const Stage& output, const Stage& result, size_t axis) {
  if (output.output.same_as(result.output)) return axis;
  const tensor::Load* load = load_of(output, result.output);
  for (size_t d = 0; load != nullptr && d < output.axes.size(); ++d)
    if (load->indices[axis].same_as(tensor::Expr(output.axes[d].var))) return d;
  return std::nullopt;
}

// A launch that adds up what blocks of keys gave, one thread a row.
void append_combination(const tensor::KernelSpec& kernel, int stage, Sketch& sketch) {
  const std::string name = stage_name(stage);
  sketch.steps.steps.push_back(CacheWrite{name});
  const std::string thread =
      append_flat_launch(kernel, kernel.workload.stages[static_cast<size_t>(stage)], name, sketch);
  sketch.steps.steps.push_back(ComputeAt{name + ".acc", name, thread, tensor::Scope::kRegister});
}

// Axes of the output's, and of the weights'.
struct SecondPass {
  std::string output, sums, weights, scores;
  size_t output_rank = 0, row = 0, column = 0;
  size_t rank = 0;  // of the sums
  size_t weights_rank = 0, weights_row = 0, weights_key = 0, scores_rank = 0;
};

// Blocks of threads have some rows and columns of the result, and go over all keys.
void append_second_pass(const SecondPass& pass, const KeyBlockSizes& sizes, Steps& steps) {
  const std::string row = axis_name(pass.row), column = axis_name(pass.column);
  const auto annotate = [&](const std::string& stage, const std::string& loop, Annotation annotation) {
    steps.push_back(Annotate{stage, loop, annotation});
  };
  steps.push_back(Split{pass.output, row, {sizes.threads_y, sizes.rows}, Tail::kGuard});
  steps.push_back(Split{pass.output, column, {sizes.threads_x, sizes.columns}, Tail::kGuard});
  std::vector<std::string> others, order;
  for (size_t axis = 0; axis < pass.output_rank; ++axis)
    if (axis != pass.row && axis != pass.column) others.push_back(axis_name(axis));
  order = others;
  for (const char* part : {".0", ".1", ".2"}) {
    order.push_back(row + part);
    order.push_back(column + part);
  }
  steps.push_back(Reorder{pass.output, order});
  annotate(pass.output, row + ".0", Annotation::kGridX);
  annotate(pass.output, column + ".0", Annotation::kGridZ);
  annotate(pass.output, row + ".1", Annotation::kThreadY);
  annotate(pass.output, column + ".1", Annotation::kThreadX);
  annotate(pass.output, row + ".2", Annotation::kUnroll);
  annotate(pass.output, column + ".2", Annotation::kUnroll);
  if (!others.empty()) annotate(pass.output, append_fuse(pass.output, others, steps), Annotation::kGridY);

  steps.push_back(ComputeAt{pass.sums, pass.output, column + ".1", tensor::Scope::kRegister});
  steps.push_back(Split{pass.sums, "r0", {sizes.block}, Tail::kGuard});
  steps.push_back(Split{pass.sums, "r0.1", {sizes.added}, Tail::kGuard});
  order = {"r0.0", "r0.1.0", "r0.1.1"};
  for (size_t axis = 0; axis < pass.rank; ++axis) order.push_back(axis_name(axis));
  steps.push_back(Reorder{pass.sums, order});
  for (size_t i = 2; i < order.size(); ++i) annotate(pass.sums, order[i], Annotation::kUnroll);

  const std::string of_row = axis_name(pass.weights_row), key = axis_name(pass.weights_key);
  steps.push_back(ComputeAt{pass.weights, pass.sums, "r0.0", tensor::Scope::kShared});
  steps.push_back(Split{pass.weights, of_row, {sizes.rows}, Tail::kGuard});
  steps.push_back(Split{pass.weights, key, {sizes.keys}, Tail::kGuard});
  order.clear();
  for (size_t axis = 0; axis < pass.weights_rank; ++axis)
    if (axis != pass.weights_row && axis != pass.weights_key) order.push_back(axis_name(axis));
  for (const std::string& loop : {of_row + ".0", key + ".0", of_row + ".1", key + ".1"})
    order.push_back(loop);
  steps.push_back(Reorder{pass.weights, order});
  annotate(pass.weights, of_row + ".0", Annotation::kThreadY);
  annotate(pass.weights, key + ".0", Annotation::kThreadX);
  annotate(pass.weights, of_row + ".1", Annotation::kUnroll);
  annotate(pass.weights, key + ".1", Annotation::kUnroll);
  steps.push_back(ComputeAt{pass.scores, pass.sums, "r0.0", tensor::Scope::kRegister});
  append_register_terms(pass.scores, pass.scores_rank, sizes.scored, steps);
}

constexpr int64_t kManyPartBytes = int64_t{256} << 20;

// What the blocks of keys give, at the default point.
int64_t part_bytes(const Sketch& sketch) {
  const auto state = schedule::apply(*sketch.workload, instantiate(sketch, sketch.default_point()));
  if (!state.ok()) return 0;
  int64_t bytes = 0;
  for (const StageState& stage : state->stages())
    if (stage.place == StageState::Place::kRoot && !state->data().is_output(stage)) {
      int64_t elements = tensor::element_bytes(stage.stage.output->element);
      for (const tensor::Axis& axis : stage.stage.axes) elements *= extent_of(axis);
      bytes += elements;
    }
  return bytes;
}

}  // namespace

std::vector<Sketch> attention_by_blocks_on_gpu(const tensor::KernelSpec& kernel) {
  const std::optional<KeyBlockRows> rows = find_key_block_rows(kernel);
  if (!rows) return {};
  const WeightedValues* found = &rows->values;
  const auto stage = [&](int s) -> const Stage& { return kernel.workload.stages[static_cast<size_t>(s)]; };
  const std::string result = stage_name(found->result), output = stage_name(found->output),
                    maximum = stage_name(found->maximum), sum = stage_name(found->sum);
  Sketch sketch("attention, by blocks of keys", kernel);
  Steps& steps = sketch.steps.steps;
  append_inlining(found->inlined, steps);
  const std::optional<KeyBlockSizes> sizes = open_key_blocks(kernel, *rows, sketch);
  if (!sizes) return {};
  steps.push_back(Rescale{maximum, sum, result, sizes->block});
  append_key_blocks({found->result, found->scores, true, rows->axes}, *sizes, rows->shuffles, steps);

  // What combines the blocks.
  std::string combined = result;
  if (output == result) {
    steps.push_back(CacheWrite{result});
    combined += ".acc";
  }
  Stage whole = stage(found->output);
  whole.reduce_axes = stage(found->result).reduce_axes;  // a sum: no vectors
  const std::string thread = append_flat_launch(kernel, whole, output, sketch);
  for (const std::string& name : {combined, sum, maximum})
    steps.push_back(ComputeAt{name, output, thread, tensor::Scope::kRegister});
  return {std::move(sketch)};
}

std::vector<Sketch> attention_by_few_blocks_on_gpu(const tensor::KernelSpec& kernel) {
  std::vector<Sketch> sketches = attention_by_blocks_on_gpu(kernel);
  std::erase_if(sketches, [](const Sketch& sketch) { return part_bytes(sketch) > kManyPartBytes; });
  return sketches;
}

std::vector<Sketch> attention_by_many_blocks_on_gpu(const tensor::KernelSpec& kernel) {
  std::vector<Sketch> sketches = attention_by_blocks_on_gpu(kernel);
  std::erase_if(sketches, [](const Sketch& sketch) { return part_bytes(sketch) <= kManyPartBytes; });
  return sketches;
}

std::vector<Sketch> attention_in_two_passes_on_gpu(const tensor::KernelSpec& kernel) {
  const std::optional<KeyBlockRows> rows = find_key_block_rows(kernel);
  const std::optional<int> weights = rows ? weights_of(kernel.workload, rows->values) : std::nullopt;
  if (!weights) return {};
  const WeightedValues& found = rows->values;
  const auto stage = [&](int s) -> const Stage& { return kernel.workload.stages[static_cast<size_t>(s)]; };
  if (stage(found.maximum).axes.empty() || stage(found.sum).axes.empty()) return {};
  Sketch sketch("attention, in two passes over the keys", kernel);
  Steps& steps = sketch.steps.steps;
  std::vector<int> inlined = found.inlined;
  std::erase(inlined, *weights);
  append_inlining(inlined, steps);
  const std::optional<State> state = state_after(kernel.workload, steps);
  const std::optional<KeyBlockSizes> sizes = open_key_blocks(kernel, *rows, sketch);
  if (!state || !sizes) return {};
  const auto now = [&](int s) -> const Stage& { return state->data().find_stage(stage_name(s))->stage; };
  const Stage& result = now(found.result);
  const std::optional<size_t> row = output_axis(now(found.output), result, rows->axes.part - 1),
                              column = output_axis(now(found.output), result, result.axes.size() - 1),
                              weights_row =
                                  axis_along(result, result.axes[rows->axes.part - 1], now(*weights)),
                              key = axis_along(result, result.reduce_axes[0], now(*weights));
  if (!row || !column || !weights_row || !key || *weights_row == *key) return {};

  const std::string sum = stage_name(found.sum);
  steps.push_back(Rescale{stage_name(found.maximum), sum, sum, sizes->block});
  steps.push_back(Recompute{stage_name(found.scores), stage_name(*weights)});
  KeyBlockAxes of_sums = rows->axes;
  of_sums.part = of_sums.sum;
  of_sums.rank = of_sums.sum_rank + 1;
  append_key_blocks({found.sum, found.scores, false, of_sums}, *sizes, rows->shuffles, steps);
  append_combination(kernel, found.maximum, sketch);
  append_combination(kernel, found.sum, sketch);

  SecondPass pass{.output = stage_name(found.output),
                  .sums = stage_name(found.result),
                  .weights = stage_name(*weights),
                  .scores = stage_name(found.scores) + ".again",
                  .output_rank = stage(found.output).axes.size(),
                  .row = *row,
                  .column = *column,
                  .rank = result.axes.size(),
                  .weights_rank = stage(*weights).axes.size(),
                  .weights_row = *weights_row,
                  .weights_key = *key,
                  .scores_rank = rows->axes.scores_rank};
  if (found.output == found.result) {
    steps.push_back(CacheWrite{pass.sums});
    pass.sums += ".acc";
  }
  append_second_pass(pass, *sizes, steps);
  return {std::move(sketch)};
}

}  // namespace tf::recipes
