#include "compiler/recipes/gpu/rows.h"

#include <algorithm>
#include <bit>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/analysis/access.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/attention.h"
#include "compiler/recipes/shape/rows.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

// Rows of a block, threads of a row, and how many of these add up what all have: by way of shared memory. Or the lanes of a warp
// add up what they have by shuffles: lanes of a row along x and rows along y; or whole warps of a row along y, and rows along z.
struct RowThreads {
  Size rows, threads, fan;
  bool shuffles = false;
  std::optional<Size> warps = std::nullopt;  // with shuffles; `threads` are 32 then
};

int64_t elements_of(const std::vector<tensor::Axis>& axes) {
  int64_t elements = 1;
  for (const tensor::Axis& axis : axes) elements *= extent_of(axis);
  return elements;
}

// What runs row by row: a workload, or all of attention but the product of its rows with values.
struct RowWork {
  const Workload& workload;
  Rows rows;
  const Stage& whole;               // a stage with the axes of `rows`
  std::optional<int> product_rows;  // of attention: the axis of the result that runs along the rows
};

int64_t rows_in(const RowWork& work) {
  int64_t count = 1;
  for (const int axis : work.rows.row_axes) count *= extent_of(work.whole.axes[static_cast<size_t>(axis)]);
  return count;
}

// In elements.
int64_t longest_row(const RowWork& work) {
  int64_t longest = elements_of(work.whole.axes) / rows_in(work);
  for (const Stage& stage : work.workload.stages) longest = std::max(longest, elements_of(stage.reduce_axes));
  return longest;
}

class RowBlock {
 public:
  RowBlock(const RowWork& work, bool keeps, const RowThreads& sizes, Steps& steps)
      : work_(work),
        workload_(work.workload),
        rows_(work.rows),
        keeps_(keeps),
        sizes_(sizes),
        steps_(steps) {}

  void append() {
    for (size_t s = 0; s < workload_.stages.size(); ++s) {
      if (place(s) == Place::kInlined) steps_.push_back(Inline{name(s)});
      if (place(s) == Place::kReduced) sizes_.shuffles ? factor_for_lanes(s) : factor(s);
      if (is_product(s)) steps_.push_back(CacheWrite{name(s)});
    }
    const std::string loop = shape_output();
    if (is_product(last())) place_sums(last(), absl::StrCat(own_loop_, ".0"));
    for (size_t s = workload_.stages.size(); s-- > 0;) {
      compute(s, loop);
      shape(s);  // before what it reads is placed: then that is one row's
    }
  }

  // Bytes that a row keeps in shared memory.
  int64_t kept_bytes() const {
    int64_t bytes = 0;
    for (size_t s = 0; s < workload_.stages.size(); ++s)
      if (place(s) == Place::kKept)
        bytes += elements_of(stage(s).axes) / std::min(rows_in(work_), elements_of(stage(s).axes)) *
                 tensor::element_bytes(stage(s).output->element);
    return bytes;
  }

 private:
  enum class Place : uint8_t { kInlined, kReduced, kOne, kKept, kOutput };

  const Stage& stage(size_t s) const { return workload_.stages[s]; }
  static std::string name(size_t s) { return stage_name(static_cast<int>(s)); }
  size_t last() const { return workload_.stages.size() - 1; }
  Annotation along() const { return rows_.across ? Annotation::kThreadY : Annotation::kThreadX; }
  Annotation beside() const {
    if (sizes_.warps) return Annotation::kThreadZ;
    return rows_.across ? Annotation::kThreadX : Annotation::kThreadY;
  }
  // The stage that adds up.
  std::string sum(size_t s) const { return sizes_.shuffles && s == last() ? name(s) + ".acc" : name(s); }

  // What splits a loop over a row's elements among its threads.
  std::vector<Size> of_row() const {
    return sizes_.warps ? std::vector<Size>{*sizes_.warps, sizes_.threads}
                        : std::vector<Size>{sizes_.threads};
  }
  // Loop number `first` of such a split, and those inside of it, as threads. Returns the innermost.
  std::string bind_row(const std::string& stage, const std::string& loop, int first) {
    if (sizes_.warps)
      steps_.push_back(Annotate{stage, absl::StrCat(loop, ".", first++), Annotation::kThreadY});
    const std::string innermost = absl::StrCat(loop, ".", first);
    steps_.push_back(Annotate{stage, innermost, along()});
    return innermost;
  }

  // A reduction that gives whole rows.
  bool is_product(size_t s) const { return work_.product_rows && (s == last() || rows_.stages[s].product); }

  Place place(size_t s) const {
    if (is_product(s)) return s == last() ? Place::kOutput : Place::kKept;
    if (work_.product_rows && s + 1 == last() && stage(s).reduce_axes.empty()) return Place::kInlined;
    if (!stage(s).reduce_axes.empty()) return Place::kReduced;
    if (s == last()) return Place::kOutput;
    if (rows_.stages[s].place == RowStage::Place::kInlined) return Place::kInlined;
    const bool one =
        rows_.across ? elements_of(stage(s).axes) <= rows_in(work_) : rows_.stages[s].vector_axis < 0;
    if (one) return Place::kOne;
    return keeps_ && !rows_.across ? Place::kKept : Place::kInlined;
  }

  std::string fused(const std::string& stage, const std::vector<std::string>& loops) {
    if (loops.size() > 1) steps_.push_back(Fuse{stage, loops});
    return absl::StrJoin(loops, "*");
  }

  static std::vector<std::string> loops(char kind, size_t first, size_t count) {
    std::vector<std::string> names;
    for (size_t i = first; i < first + count; ++i) names.push_back(absl::StrCat(std::string(1, kind), i));
    return names;
  }

  // NAME.rf: partial results, one a thread; NAME.rf.1: of several threads. Both are added up in registers.
  static constexpr const char* kParts[] = {".rf", ".rf.1"};
  void factor(size_t s) {
    const std::string all = fused(name(s), loops('r', 0, stage(s).reduce_axes.size()));
    steps_.push_back(Split{name(s), all, {sizes_.threads}, Tail::kGuard});
    steps_.push_back(RFactor{name(s), all + ".1"});
    steps_.push_back(Split{name(s), "r0", {sizes_.fan}, Tail::kGuard});
    steps_.push_back(RFactor{name(s), "r0.1"});
    for (const char* part : kParts) steps_.push_back(CacheWrite{name(s) + part});
  }

  // NAME.rf: a term a thread, in a register. NAME.rf.1: of several warps, each one's.
  void factor_for_lanes(size_t s) {
    if (s == last()) steps_.push_back(CacheWrite{name(s)});
    const std::string total = sum(s), all = fused(total, loops('r', 0, stage(s).reduce_axes.size()));
    steps_.push_back(Split{total, all, of_row(), Tail::kGuard});
    steps_.push_back(RFactor{total, sizes_.warps ? fused(total, {all + ".1", all + ".2"}) : all + ".1"});
    if (!sizes_.warps) return;
    steps_.push_back(Split{total, "r0", {sizes_.threads}, Tail::kGuard});
    steps_.push_back(RFactor{total, "r0.0"});
  }

  void place_for_lanes(size_t s, const std::string& loop) {
    const std::string output = name(last()), total = sum(s);
    if (total != output) steps_.push_back(ComputeAt{total, output, loop, tensor::Scope::kRegister});
    std::string folded = total;
    if (sizes_.warps) {
      folded = total + ".rf.1";
      steps_.push_back(ComputeAt{folded, output, loop, tensor::Scope::kShared});
      steps_.push_back(Annotate{folded, "i0", Annotation::kThreadY});
      if (const std::optional<size_t> axis = rows_axis(stage(s).axes.size()))
        steps_.push_back(Annotate{folded, axis_name(*axis + 1), beside()});
    }
    steps_.push_back(Annotate{folded, "r0", Annotation::kThreadX});
    steps_.push_back(ComputeAt{total + ".rf", output, loop, tensor::Scope::kRegister});
  }

  // Blocks, rows of a block, then the threads of a row, whose loop it returns.
  std::string shape_output() {
    const std::string output = name(last());
    std::vector<std::string> others, own, inner;
    const int blocked = work_.product_rows       ? *work_.product_rows
                        : rows_.row_axes.empty() ? -1
                                                 : block_axis(workload_, rows_);
    for (size_t axis = 0; axis < stage(last()).axes.size(); ++axis) {
      const bool is_row = work_.product_rows
                              ? axis + 1 < stage(last()).axes.size()
                              : std::ranges::count(rows_.row_axes, static_cast<int>(axis)) != 0;
      const std::string loop = axis_name(axis);
      if (static_cast<int>(axis) != blocked) (is_row ? others : own).push_back(loop);
    }
    std::vector<std::string> order = others;
    if (blocked >= 0) {
      const std::string rows = axis_name(static_cast<size_t>(blocked));
      steps_.push_back(Split{output, rows, {sizes_.rows}, Tail::kGuard});
      inner = {rows + ".0", rows + ".1"};
      order.insert(order.end(), inner.begin(), inner.end());
    }
    order.insert(order.end(), own.begin(), own.end());
    if (place(last()) == Place::kReduced && !sizes_.shuffles) order.push_back("r0");
    if (order.size() > 1) steps_.push_back(Reorder{output, order});
    // The axes stand apart: which rows a block has is then known of open sizes, too.
    if (blocked >= 0) {
      steps_.push_back(Annotate{output, inner[0], Annotation::kGridX});
      steps_.push_back(Annotate{output, inner[1], beside()});
      if (!others.empty()) {
        inner.insert(inner.begin(), fused(output, others));
        steps_.push_back(Annotate{output, inner[0], Annotation::kGridY});
      }
    }
    std::string thread = along() == Annotation::kThreadX ? "x" : "y";
    if (own.empty()) {
      if (sizes_.warps) steps_.push_back(CrossThread{output, Annotation::kThreadY, *sizes_.warps});
      steps_.push_back(CrossThread{output, along(), sizes_.threads});
    } else {
      const std::string row = own_loop_ = fused(output, own);
      steps_.push_back(Split{output, row, of_row(), Tail::kGuard});
      for (size_t part = 1; part <= of_row().size(); ++part) inner.push_back(absl::StrCat(row, ".", part));
      inner.push_back(row + ".0");
      steps_.push_back(Reorder{output, inner});
      thread = bind_row(output, row, 1);
    }
    return thread;
  }

  void compute(size_t s, const std::string& loop) {
    const Place where = place(s);
    const std::string output = name(last());
    if (where == Place::kReduced && sizes_.shuffles) return place_for_lanes(s, loop);
    if (s != last() && (where == Place::kReduced || where == Place::kOne))
      steps_.push_back(ComputeAt{name(s), output, loop, tensor::Scope::kRegister});
    if (where == Place::kKept) steps_.push_back(ComputeAt{name(s), output, loop, tensor::Scope::kShared});
    if (where != Place::kReduced) return;
    for (const char* part : {".rf.1", ".rf"}) shape_part(name(s) + part, stage(s).axes.size(), output, loop);
  }

  // Which axis of a stage of that rank the rows of a block lie along. (Were it another, the block would do one row after the other.)
  std::optional<size_t> rows_axis(size_t rank) const {
    if (rows_.row_axes.empty() || rank == 0) return std::nullopt;
    int blocked = rows_.row_axes.back();
    for (const int axis : rows_.row_axes)
      if (extent_of(work_.whole.axes[static_cast<size_t>(axis)]) > 1) blocked = axis;
    if (rank == work_.whole.axes.size()) return static_cast<size_t>(blocked);
    const auto place =
        static_cast<size_t>(std::ranges::find(rows_.row_axes, blocked) - rows_.row_axes.begin());
    return std::min(place, rank - 1);
  }

  // Partial results: a thread's along the first axis, of the rows along the others.
  void shape_part(const std::string& part, size_t rank, const std::string& output, const std::string& loop) {
    steps_.push_back(ComputeAt{part, output, loop, tensor::Scope::kShared});
    steps_.push_back(Annotate{part, "i0", along()});
    if (rank > 0 && !rows_.across) {  // neighbouring threads store neighbouring elements
      OpenLayout layout;
      for (size_t axis = 1; axis <= rank; ++axis) layout.push_back(static_cast<int>(axis), 0);
      layout.push_back(0, 0);
      steps_.push_back(LayoutRewrite{part, std::move(layout)});
    }
    if (const std::optional<size_t> axis = rows_axis(rank))
      steps_.push_back(Annotate{part, axis_name(*axis + 1), beside()});
    steps_.push_back(ComputeAt{part + ".acc", part, axis_name(rank), tensor::Scope::kRegister});
  }

  void place_sums(size_t s, const std::string& loop) {
    steps_.push_back(ComputeAt{name(s) + ".acc", name(s), loop, tensor::Scope::kRegister});
  }

  // A kept stage has the axes of the whole, or none is known to be a row's.
  void shape(size_t s) {
    if (place(s) != Place::kKept) return;
    const std::vector<tensor::Axis>&axes = stage(s).axes, &all = work_.whole.axes;
    const bool like_whole = std::ranges::equal(
        axes, all, [](const tensor::Axis& a, const tensor::Axis& b) { return extent_of(a) == extent_of(b); });
    if (!like_whole || rows_.row_axes.empty()) {
      const std::string whole = fused(name(s), loops('i', 0, axes.size()));
      std::vector<Size> parts = of_row();
      parts.insert(parts.begin(), sizes_.rows);
      steps_.push_back(Split{name(s), whole, std::move(parts), Tail::kGuard});
      const std::string thread = bind_row(name(s), whole, 2);
      if (!rows_.row_axes.empty()) steps_.push_back(Annotate{name(s), whole + ".1", beside()});
      if (is_product(s)) place_sums(s, thread);
      return;
    }
    std::vector<std::string> beside_loops, own, order;
    for (size_t axis = 0; axis < axes.size(); ++axis)
      (std::ranges::count(rows_.row_axes, static_cast<int>(axis)) != 0 ? beside_loops : own)
          .push_back(axis_name(axis));
    order = beside_loops;
    order.insert(order.end(), own.begin(), own.end());
    steps_.push_back(Reorder{name(s), order});
    if (const std::optional<size_t> axis = rows_axis(axes.size()))
      steps_.push_back(Annotate{name(s), axis_name(*axis), beside()});
    const std::string row = fused(name(s), own);
    steps_.push_back(Split{name(s), row, of_row(), Tail::kGuard});
    const std::string thread = bind_row(name(s), row, 1);
    if (is_product(s)) place_sums(s, thread);
  }

  const RowWork& work_;
  const Workload& workload_;
  const Rows& rows_;
  std::string own_loop_;  // the output's, over what is a row's own
  const bool keeps_;
  const RowThreads sizes_;
  Steps& steps_;
};

int64_t power_of_two(int64_t least) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(least, 1))));
}

constexpr int64_t kLeastThreads = 4;      // of a row
constexpr int64_t kShortRowsBlock = 128;  // threads of a block of short rows

// Rows of a block and threads of a row.
Choice default_row_threads(const RowWork& work) {
  const Rows& rows = work.rows;
  const int64_t length = longest_row(work);
  int64_t beside = 1;  // rows that lie next to each other
  for (const int axis : rows.row_axes)
    if (const int64_t extent = extent_of(work.whole.axes[static_cast<size_t>(axis)]); extent > 1)
      beside = extent;
  constexpr int64_t kElements = 4, kMostThreads = 256, kWarp = 32;  // elements of a thread
  if (rows.across) {
    const int64_t side = std::min(kWarp, power_of_two(beside));
    return {side, std::clamp(power_of_two(length / kElements), kLeastThreads,
                             std::max(kMostThreads / side, kLeastThreads))};
  }
  const int64_t threads = std::clamp(power_of_two(length / kElements),
                                     std::clamp(power_of_two(length), kLeastThreads, kWarp), kMostThreads);
  // Rows of a product share its other factor.
  const int64_t most = std::max<int64_t>(work.product_rows ? 4 : 1, kShortRowsBlock / threads);
  return {std::min(most, power_of_two(beside)), threads};
}

// All that the target has room for.
std::vector<Choice> row_thread_choices(const tensor::KernelSpec& kernel, const Rows& rows,
                                       int64_t kept_bytes) {
  std::vector<Choice> choices;
  for (int64_t side = 1; side <= (rows.row_axes.empty() ? 1 : 64); side *= 2)
    for (int64_t threads = kLeastThreads; threads * side <= kernel.target.gpu.block_threads; threads *= 2)
      if (constexpr int64_t kPartBytes = 8, kMostFan = 32;
          side * (kept_bytes + (threads + kMostFan) * kPartBytes) <= kernel.target.gpu.shared_bytes)
        choices.push_back({side, threads});
  return choices;
}

std::optional<Sketch> row_sketch(const tensor::KernelSpec& kernel, const RowWork& work, bool keeps) {
  const Rows& rows = work.rows;
  Steps none;
  const int64_t kept = RowBlock(work, keeps, {}, none).kept_bytes();
  if (keeps && kept == 0) return std::nullopt;
  const std::vector<Choice> choices = row_thread_choices(kernel, rows, kept);
  Choice threads = default_row_threads(work);
  while (threads[0] > 1 && std::ranges::count(choices, threads) == 0) threads[0] /= 2;
  if (std::ranges::count(choices, threads) == 0) return std::nullopt;
  Sketch sketch(work.product_rows ? "attention" : keeps ? "rows, kept" : "rows", kernel);
  const std::vector<Size> both = sketch.open({.name = "threads", .choices = choices}, threads);
  const int64_t fan = threads[1] >= 128 ? 16 : threads[1] >= 16 ? 8 : 4;
  const RowThreads sizes{both[0], both[1], sketch.open("fan", {1, 2, 4, 8, 16, 32}, fan)};
  RowBlock(work, keeps, sizes, sketch.steps.steps).append();
  return sketch;
}

// Longer rows are worth several warps.
constexpr int64_t kRowOfAWarp = 1024;

// The lanes of a warp share a row, or a few; or warps do.
std::optional<Sketch> shuffled_row_sketch(const tensor::KernelSpec& kernel, const RowWork& work, bool keeps,
                                          bool several_warps) {
  const target::Target& target = kernel.target;
  if (target.arch != target::Arch::kCuda || work.rows.across || (work.product_rows && several_warps))
    return std::nullopt;
  Steps none;
  const int64_t kept = RowBlock(work, keeps, {}, none).kept_bytes(), length = longest_row(work);
  if (keeps && kept == 0) return std::nullopt;
  constexpr int64_t kWarp = 32, kMostSide = 16, kPartBytes = 8;
  std::vector<Choice> choices;  // rows, then lanes or warps of a row
  for (int64_t side = 1; side <= (work.rows.row_axes.empty() ? 1 : kMostSide); side *= 2)
    for (int64_t own = 2; own <= kWarp; own *= 2) {
      const int64_t threads = side * own * (several_warps ? kWarp : 1);
      if (threads % kWarp == 0 && threads <= target.gpu.block_threads &&
          side * (kept + (several_warps ? own * kPartBytes : 0)) <= target.gpu.shared_bytes)
        choices.push_back({side, own});
    }
  const int64_t lanes = std::clamp(power_of_two(length / 4), kLeastThreads, kWarp);
  // Rows of a product share its other factor, as above; a block has whole warps.
  const int64_t most = work.product_rows ? 4 : kShortRowsBlock / lanes;
  Choice standard =
      several_warps ? Choice{1, std::clamp(power_of_two(length / 256), int64_t{2}, int64_t{8})}
                    : Choice{std::max(std::min(most, default_row_threads(work)[0]), kWarp / lanes), lanes};
  if (work.rows.row_axes.empty()) standard[0] = 1;
  while (standard[0] > 1 && std::ranges::count(choices, standard) == 0) standard[0] /= 2;
  if (std::ranges::count(choices, standard) == 0) return std::nullopt;
  const std::string family = absl::StrCat(work.product_rows ? "attention"
                                          : keeps           ? "rows, kept"
                                                            : "rows",
                                          several_warps ? ", by warps" : ", by lanes");
  Sketch sketch(family, kernel);
  const std::vector<Size> both = sketch.open({.name = "threads", .choices = choices}, standard);
  RowThreads sizes{.rows = both[0], .threads = both[1], .fan = 1, .shuffles = true};
  if (several_warps) {
    sizes.warps = both[1];
    sizes.threads = kWarp;
  }
  RowBlock(work, keeps, sizes, sketch.steps.steps).append();
  return sketch;
}

// Ways to share rows, the best by rule first.
std::vector<Sketch> row_sketches(const tensor::KernelSpec& kernel, const RowWork& work) {
  std::vector<Sketch> sketches;
  const bool is_long = longest_row(work) > kRowOfAWarp;
  for (const bool several_warps : {is_long, !is_long})
    for (const bool keeps : {true, false})
      if (std::optional<Sketch> sketch = shuffled_row_sketch(kernel, work, keeps, several_warps))
        sketches.push_back(*std::move(sketch));
  for (const bool keeps : {true, false})
    if (std::optional<Sketch> sketch = row_sketch(kernel, work, keeps))
      sketches.push_back(*std::move(sketch));
  return sketches;
}

// Below so many terms a thread adds up all of them faster than several would.
constexpr int64_t kFewTerms = 64;

// One reduction of which one operand at most has elements of its own for each result: sums of columns, a vector by a matrix. Each
// result is a row, which lie side by side where memory runs along them.
std::optional<Rows> rows_without_reuse(const tensor::KernelSpec& kernel) {
  const Workload& workload = kernel.workload;
  const Structure structure = structure_of(workload);
  if (!structure.anchor) return std::nullopt;
  const Stage& anchor = anchor_of(workload, structure);
  if (elements_of(anchor.reduce_axes) < kFewTerms || anchor.axes.empty()) return std::nullopt;
  const auto moves_with = [](const tensor::Expr& index, const std::vector<tensor::Axis>& axes) {
    return std::ranges::any_of(axes, [&](const tensor::Axis& axis) {
      return extent_of(axis) > 1 && analysis::uses(index, axis.var.get());
    });
  };
  Rows rows;
  std::set<const tensor::BufferNode*> moving;
  tensor::for_each(anchor.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr) return true;
    for (const tensor::Expr& index : load->indices)
      if (moves_with(index, anchor.axes)) moving.insert(load->buffer.get());
    if (const std::optional<int> along = memory_axis(*load->buffer, {});
        along && moves_with(load->indices[static_cast<size_t>(*along)], {anchor.axes.back()}))
      rows.across = true;
    return true;
  });
  if (moving.size() > 1) return std::nullopt;
  for (size_t axis = 0; axis < anchor.axes.size(); ++axis) rows.row_axes.push_back(static_cast<int>(axis));
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    const bool stored = static_cast<int>(s) == *structure.anchor || static_cast<int>(s) == structure.output;
    rows.stages.push_back({.place = stored ? RowStage::Place::kStored : RowStage::Place::kInlined});
  }
  return rows;
}

}  // namespace

std::vector<Sketch> rows_on_gpu(const tensor::KernelSpec& kernel) {
  std::optional<Rows> rows = rows_of(kernel.workload, kernel.ports);
  if (!rows) rows = rows_without_reuse(kernel);
  if (!rows) return {};
  const RowWork work{kernel.workload, *std::move(rows), kernel.workload.stages.back(), std::nullopt};
  return row_sketches(kernel, work);
}

std::vector<Sketch> attention_on_gpu(const tensor::KernelSpec& kernel) {
  const std::optional<Attention> found = attention_of(kernel.workload, kernel.ports);
  if (!found) return {};
  const RowWork work{kernel.workload, found->rows, found->inner.stages.back(), found->row};
  std::vector<Sketch> sketches;
  if (std::optional<Sketch> sketch = shuffled_row_sketch(kernel, work, true, false))
    sketches.push_back(*std::move(sketch));
  if (std::optional<Sketch> sketch = row_sketch(kernel, work, true)) sketches.push_back(*std::move(sketch));
  return sketches;
}

}  // namespace tf::recipes
