#include "compiler/recipes/gpu/key_blocks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/access.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

std::optional<WeightedValues> weighted_values(const Workload& workload) {
  const Structure structure = structure_of(workload);
  const std::vector<int>& sums = structure.reductions;
  if (sums.size() != 4 || workload.outputs.size() != 1) return std::nullopt;
  for (size_t i = 0; i < sums.size(); ++i) {
    const Stage& stage = workload.stages[static_cast<size_t>(sums[i])];
    if (stage.reduce_axes.size() != 1 ||
        stage.combiner != (i == 1 ? tensor::Combiner::kMax : tensor::Combiner::kSum))
      return std::nullopt;
  }
  WeightedValues found{.scores = sums[0],
                       .maximum = sums[1],
                       .sum = sums[2],
                       .result = sums[3],
                       .output = structure.output,
                       .inlined = {}};
  for (int s = 0; s < static_cast<int>(workload.stages.size()); ++s)
    if (s != found.output && std::ranges::count(sums, s) == 0) found.inlined.push_back(s);
  return found;
}

std::optional<KeyBlockAxes> row_axes(const StateData& data, const WeightedValues& found) {
  const std::string result = stage_name(found.result);
  const auto stage = [&](const char* suffix) -> const Stage& {
    return data.find_stage(result + suffix)->stage;
  };
  const Stage &part = stage(".part"), &values = stage(".values"), &exponentials = stage(".exp");
  const Stage& scores = data.find_stage(stage_name(found.scores))->stage;
  KeyBlockAxes axes{.rank = part.axes.size()};
  // The longest of those that the values do not have.
  for (size_t axis = 1; axis + 1 < axes.rank; ++axis) {
    bool is_of_values = false;
    tensor::for_each(values.body, [&](const tensor::Expr& e) {
      const auto* load = tensor::as<tensor::Load>(e);
      if (load == nullptr) return true;
      for (const tensor::Expr& index : load->indices)
        is_of_values = is_of_values || (!load->buffer.same_as(exponentials.output) &&
                                        analysis::uses(index, values.axes[axis].var.get()));
      return false;
    });
    if (!is_of_values && (axes.part == 0 || extent_of(part.axes[axis]) > extent_of(part.axes[axes.part])))
      axes.part = axis;
  }
  if (axes.part == 0) return std::nullopt;
  const auto sum = axis_along(part, part.axes[axes.part], stage(".sum")),
             maximum = axis_along(part, part.axes[axes.part], stage(".max"));
  if (!sum || !maximum) return std::nullopt;
  // Those of the exponentials are the sum's, and the keys.
  const auto row = axis_along(exponentials, exponentials.axes[*sum], scores),
             keys = axis_along(exponentials, exponentials.axes.back(), scores);
  if (!row || !keys || *row == *keys) return std::nullopt;
  axes.sum = *sum;
  axes.maximum = *maximum;
  axes.sum_rank = stage(".sum").axes.size();
  axes.maximum_rank = stage(".max").axes.size();
  axes.scores_rank = scores.axes.size();
  return axes;
}

class KeyBlocks {
 public:
  KeyBlocks(const KeyBlockParts& parts, const KeyBlockSizes& sizes, bool shuffles, Steps& steps)
      : axes_(parts.axes),
        sizes_(sizes),
        has_values_(parts.has_values),
        shuffles_(shuffles),
        result_(stage_name(parts.result)),
        scores_(stage_name(parts.scores)),
        steps_(steps) {}

  void append() {
    if (!has_values_) steps_.push_back(Inline{result_ + ".exp"});
    factor(".max");
    factor(".sum");
    if (has_values_) steps_.push_back(CacheWrite{values_});
    shape_part();
    if (has_values_) place_values();
    place_fold(".sum", axes_.sum);
    if (has_values_) place_exponentials();
    place_fold(".max", axes_.maximum);
    steps_.push_back(ComputeAt{scores_, part_, thread_, tensor::Scope::kRegister});
    append_register_terms(scores_, axes_.scores_rank, sizes_.scored, steps_);
  }

 private:
  void annotate(const std::string& stage, const std::string& loop, Annotation annotation) {
    steps_.push_back(Annotate{stage, loop, annotation});
  }

  // All loops of a stage of that rank but those, in their order, and then these.
  void reorder(const std::string& stage, size_t rank, const std::vector<size_t>& without,
               const std::vector<std::string>& then) {
    std::vector<std::string> order;
    for (size_t axis = 0; axis < rank; ++axis)
      if (std::ranges::count(without, axis) == 0) order.push_back(axis_name(axis));
    order.insert(order.end(), then.begin(), then.end());
    steps_.push_back(Reorder{stage, order});
  }

  // A term a thread along x, of neighbouring keys.
  void factor(const char* suffix) {
    const std::string total = result_ + suffix;
    steps_.push_back(Split{total, "r0", {sizes_.keys}, Tail::kGuard});
    steps_.push_back(RFactor{total, "r0.0"});
    if (!shuffles_) steps_.push_back(CacheWrite{total + ".rf"});
  }

  void shape_part() {
    const std::string row = axis_name(axes_.part), column = axis_name(axes_.rank - 1);
    steps_.push_back(Split{part_, row, {sizes_.threads_y, sizes_.rows}, Tail::kGuard});
    steps_.push_back(Split{part_, column, {sizes_.threads_x}, Tail::kGuard});
    reorder(part_, axes_.rank, {axes_.part, axes_.rank - 1},
            {row + ".0", row + ".1", column + ".1", row + ".2", column + ".0"});
    std::vector<std::string> others;
    for (size_t axis = 0; axis + 1 < axes_.rank; ++axis)
      if (axis != axes_.part) others.push_back(axis_name(axis));
    annotate(part_, row + ".0", Annotation::kGridX);
    annotate(part_, row + ".1", Annotation::kThreadY);
    annotate(part_, column + ".1", Annotation::kThreadX);
    annotate(part_, row + ".2", Annotation::kUnroll);
    annotate(part_, append_fuse(part_, others, steps_), Annotation::kGridY);
    thread_ = column + ".1";
  }

  void place_values() {
    const std::string row = axis_name(axes_.part), column = axis_name(axes_.rank - 1),
                      sums = values_ + ".acc";
    steps_.push_back(ComputeAt{values_, part_, thread_, tensor::Scope::kShared});
    steps_.push_back(Split{values_, row, {sizes_.rows}, Tail::kGuard});
    steps_.push_back(Split{values_, column, {sizes_.threads_x, sizes_.columns}, Tail::kGuard});
    reorder(values_, axes_.rank, {axes_.part, axes_.rank - 1},
            {column + ".0", row + ".0", column + ".1", row + ".1", column + ".2"});
    annotate(values_, row + ".0", Annotation::kThreadY);
    annotate(values_, column + ".1", Annotation::kThreadX);
    annotate(values_, row + ".1", Annotation::kUnroll);
    annotate(values_, column + ".2", Annotation::kUnroll);
    steps_.push_back(ComputeAt{sums, values_, column + ".1", tensor::Scope::kRegister});
    append_register_terms(sums, axes_.rank, sizes_.added, steps_);
  }

  // What the threads along x have, added up (or the greatest of it): by shuffles, or by one thread of the row.
  void place_fold(const char* suffix, size_t row_axis) {
    const std::string total = result_ + suffix, terms = total + ".rf";
    const size_t rank = suffix == std::string(".sum") ? axes_.sum_rank : axes_.maximum_rank;
    if (shuffles_) {
      steps_.push_back(ComputeAt{total, part_, thread_, tensor::Scope::kRegister});
      for (size_t axis = 0; axis < rank; ++axis) annotate(total, axis_name(axis), Annotation::kUnroll);
      annotate(total, "r0", Annotation::kThreadX);
      steps_.push_back(ComputeAt{terms, part_, thread_, tensor::Scope::kRegister});
      for (size_t axis = 0; axis <= rank; ++axis) annotate(terms, axis_name(axis), Annotation::kUnroll);
      annotate(terms, "r0", Annotation::kUnroll);
      return;
    }
    const std::string row = axis_name(row_axis), row_of_terms = axis_name(row_axis + 1);
    steps_.push_back(ComputeAt{total, part_, thread_, tensor::Scope::kShared});
    steps_.push_back(Split{total, row, {sizes_.rows}, Tail::kGuard});
    annotate(total, row + ".0", Annotation::kThreadY);
    steps_.push_back(ComputeAt{terms, part_, thread_, tensor::Scope::kShared});
    steps_.push_back(Split{terms, row_of_terms, {sizes_.rows}, Tail::kGuard});
    reorder(terms, rank + 1, {row_axis + 1}, {row_of_terms + ".0", row_of_terms + ".1"});
    annotate(terms, "i0", Annotation::kThreadX);
    annotate(terms, row_of_terms + ".0", Annotation::kThreadY);
    annotate(terms, row_of_terms + ".1", Annotation::kUnroll);
    steps_.push_back(ComputeAt{terms + ".acc", terms, row_of_terms + ".1", tensor::Scope::kRegister});
    annotate(terms + ".acc", "r0", Annotation::kUnroll);
  }

  void place_exponentials() {
    const std::string name = result_ + ".exp", row = axis_name(axes_.sum), key = axis_name(axes_.sum_rank);
    steps_.push_back(ComputeAt{name, part_, thread_, tensor::Scope::kShared});
    steps_.push_back(Split{name, row, {sizes_.rows}, Tail::kGuard});
    steps_.push_back(Split{name, key, {sizes_.keys}, Tail::kGuard});
    reorder(name, axes_.sum_rank + 1, {axes_.sum, axes_.sum_rank},
            {row + ".0", key + ".0", row + ".1", key + ".1"});
    annotate(name, row + ".0", Annotation::kThreadY);
    annotate(name, key + ".0", Annotation::kThreadX);
    annotate(name, row + ".1", Annotation::kUnroll);
    annotate(name, key + ".1", Annotation::kUnroll);
  }

  const KeyBlockAxes axes_;
  const KeyBlockSizes sizes_;
  const bool has_values_, shuffles_;
  const std::string result_, scores_, values_ = result_ + ".values", part_ = result_ + ".part";
  std::string thread_;
  Steps& steps_;
};

// Threads along y, rows of each, threads along x, keys of each, keys of a block.
std::vector<Choice> block_choices(const target::GpuLimits& gpu, int64_t columns, bool shuffles) {
  std::vector<Choice> choices;
  for (const int64_t threads_y : {1, 2, 4, 8, 16})
    for (const int64_t rows : {1, 2, 4, 8})
      for (const int64_t threads_x : {8, 16, 32})
        for (const int64_t keys : {1, 2, 4, 8, 16}) {
          const int64_t block = threads_x * keys, threads = threads_x * threads_y;
          const int64_t kept = block + columns + (shuffles ? 0 : 2 * threads_x + 2);  // of a row
          constexpr int64_t kMostScores = 64, kElementBytes = 4;
          if (threads <= gpu.block_threads && rows * keys <= kMostScores &&
              (!shuffles || threads % gpu.warp_threads == 0) &&
              threads_y * rows * kept * kElementBytes <= gpu.shared_bytes)
            choices.push_back({threads_y, rows, threads_x, keys, block});
        }
  return choices;
}

// As many threads as there are rows for, and keys as there are: the standard, or less.
std::optional<Choice> default_blocks(const std::vector<Choice>& choices, bool shuffles, int64_t rows,
                                     int64_t keys) {
  int64_t threads_y = 8, own_rows = 4, own_keys = 8;
  const int64_t threads_x = shuffles ? 32 : 16;
  while (threads_y > 1 && threads_y / 2 * own_rows >= rows) threads_y /= 2;
  while (own_rows > 1 && own_rows / 2 * threads_y >= rows) own_rows /= 2;
  while (own_keys > 1 && threads_x * own_keys / 2 >= keys) own_keys /= 2;
  for (; threads_y * own_rows * own_keys > 0; (threads_y > 1  ? threads_y
                                               : own_rows > 1 ? own_rows
                                                              : own_keys) /= 2) {
    Choice choice = {threads_y, own_rows, threads_x, own_keys, threads_x * own_keys};
    if (std::ranges::count(choices, choice) != 0) return choice;
  }
  return std::nullopt;
}

}  // namespace

const tensor::Load* load_of(const Stage& reader, const tensor::Buffer& from) {
  const tensor::Load* found = nullptr;
  tensor::for_each(reader.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load != nullptr && load->buffer.same_as(from)) found = load;
    return found == nullptr;
  });
  return found;
}

std::optional<size_t> axis_along(const Stage& reader, const tensor::Axis& axis, const Stage& from) {
  const tensor::Load* load = load_of(reader, from.output);
  for (size_t d = 0; load != nullptr && d < load->indices.size(); ++d)
    if (analysis::uses(load->indices[d], axis.var.get())) return d;
  for (size_t d = from.axes.size(); extent_of(axis) == 1 && d-- > 0;)
    if (extent_of(from.axes[d]) == 1) return d;
  return std::nullopt;
}

void append_register_terms(const std::string& stage, size_t rank, const Size& terms, Steps& steps) {
  steps.push_back(Split{stage, "r0", {terms}, Tail::kGuard});
  std::vector<std::string> order = {"r0.0", "r0.1"};
  for (size_t axis = 0; axis < rank; ++axis) order.push_back(axis_name(axis));
  steps.push_back(Reorder{stage, order});
  for (size_t i = 1; i < order.size(); ++i) steps.push_back(Annotate{stage, order[i], Annotation::kUnroll});
}

std::optional<State> state_after(const Workload& workload, const Steps& steps) {
  State state(workload);
  for (const Step& step : steps)
    if (state.apply(step)) return std::nullopt;
  return state;
}

std::optional<KeyBlockRows> find_key_block_rows(const tensor::KernelSpec& kernel) {
  const std::optional<WeightedValues> found = weighted_values(kernel.workload);
  if (!found) return std::nullopt;
  Steps steps;
  append_inlining(found->inlined, steps);
  steps.push_back(Rescale{stage_name(found->maximum), stage_name(found->sum), stage_name(found->result), 1});
  const std::optional<State> state = state_after(kernel.workload, steps);
  const std::optional<KeyBlockAxes> axes = state ? row_axes(state->data(), *found) : std::nullopt;
  if (!axes) return std::nullopt;
  return KeyBlockRows{*found, *axes, kernel.target.arch == target::Arch::kCuda};
}

std::optional<KeyBlockSizes> open_key_blocks(const tensor::KernelSpec& kernel, const KeyBlockRows& rows,
                                             Sketch& sketch) {
  const Stage& result = kernel.workload.stages[static_cast<size_t>(rows.values.result)];
  const int64_t columns = extent_of(result.axes.back());
  const std::vector<Choice> choices = block_choices(kernel.target.gpu, columns, rows.shuffles);
  const std::optional<Choice> standard = default_blocks(
      choices, rows.shuffles, extent_of(result.axes[rows.axes.part - 1]), extent_of(result.reduce_axes[0]));
  if (!standard) return std::nullopt;
  const std::vector<Size> threads = sketch.open({.name = "threads", .choices = choices}, *standard);
  int64_t own = 1;
  while (own < 8 && own * (*standard)[2] < columns) own *= 2;
  return KeyBlockSizes{.threads_y = threads[0],
                       .rows = threads[1],
                       .threads_x = threads[2],
                       .keys = threads[3],
                       .block = threads[4],
                       .columns = sketch.open("columns", {1, 2, 4, 8}, own),
                       .scored = sketch.open("scored", {1, 2, 4, 8}, 4),
                       .added = sketch.open("added", {1, 2, 4, 8}, 4)};
}

void append_key_blocks(const KeyBlockParts& parts, const KeyBlockSizes& sizes, bool shuffles, Steps& steps) {
  KeyBlocks(parts, sizes, shuffles, steps).append();
}

}  // namespace tf::recipes
