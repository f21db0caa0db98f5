#include "compiler/recipes/shape/rows.h"

#include <algorithm>
#include <set>

#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

namespace {

using tensor::Expr;
using tensor::Stage;
using tensor::Workload;

// What an axis of a stage is to the output: one of its axes, the row's own, or of one element.
constexpr int kOne = -1, kOwn = -2;

class RowFinder {
 public:
  RowFinder(const Workload& workload, const tensor::PortLayouts& ports)
      : workload_(workload), ports_(ports) {}

  // Nothing unless so many of the stages are products.
  std::optional<Rows> run(int products) {
    if (workload_.outputs.size() != 1 || workload_.stages.empty()) return std::nullopt;
    const size_t last = workload_.stages.size() - 1;
    if (!workload_.stages[last].output.same_as(workload_.outputs[0])) return std::nullopt;
    for (const Stage& stage : workload_.stages) {
      axes_.emplace_back(stage.axes.size(), kOne);
      reached_.push_back(false);
    }
    for (size_t d = 0; d < workload_.stages[last].axes.size(); ++d)
      if (extent_of(workload_.stages[last].axes[d]) > 1) axes_[last][d] = static_cast<int>(d);
    reached_[last] = true;
    for (size_t s = last + 1; s-- > 0;)
      if (!reached_[s] || !follow(s)) return std::nullopt;
    settle();
    if (!choose_vectors() || products_ != products) return std::nullopt;
    for (size_t s = 0; s < workload_.stages.size(); ++s) rows_.stages[s].place = place(s);
    return rows_;
  }

 private:
  const Stage& stage(size_t s) const { return workload_.stages[s]; }
  int find_stage(const tensor::BufferNode* buffer) const {
    for (size_t s = 0; s < workload_.stages.size(); ++s)
      if (stage(s).output.get() == buffer) return static_cast<int>(s);
    return -1;
  }
  template <typename F>
  static void for_each_load(const Stage& stage, F&& f) {
    tensor::for_each(stage.body, [&](const Expr& e) {
      if (const auto* load = tensor::as<tensor::Load>(e)) f(*load);
      return true;
    });
  }

  // What the index is to the output; nothing if it is more than an axis.
  std::optional<int> meaning(size_t s, const Expr& index) const {
    if (tensor::as_int(index)) return kOne;
    for (size_t d = 0; d < stage(s).axes.size(); ++d)
      if (index.get() == stage(s).axes[d].var.get()) return axes_[s][d];
    for (const tensor::Axis& axis : stage(s).reduce_axes)
      if (index.get() == axis.var.get()) return kOwn;
    return std::nullopt;
  }

  // The axes of the stages that this one reads.
  bool follow(size_t s) {
    bool ok = true;
    for_each_load(stage(s), [&](const tensor::Load& load) {
      const int read = find_stage(load.buffer.get());
      if (read < 0) return;
      const auto r = static_cast<size_t>(read);
      for (size_t d = 0; d < load.indices.size(); ++d) {
        const std::optional<int> now = meaning(s, load.indices[d]);
        if (!now) {
          ok = false;
          return;
        }
        int& known = axes_[r][d];
        const int before = known;
        // An axis that is read at its own place and folded too is the row's own.
        if (*now == kOwn && before >= 0) own_.insert(before);
        if (before == kOwn && *now >= 0) own_.insert(*now);
        if (before >= 0 && *now >= 0 && before != *now) ok = false;
        if (before == kOne || *now >= 0) known = *now;
      }
      reached_[r] = true;
    });
    return ok;
  }

  // Row axes are those that every reduction has.
  void settle() {
    const std::vector<int>& output = axes_.back();
    for (size_t d = 0; d < output.size(); ++d) {
      const auto axis = static_cast<int>(d);
      bool everywhere = !own_.contains(axis);
      for (size_t s = 0; s < workload_.stages.size(); ++s) {
        const bool has = std::find(axes_[s].begin(), axes_[s].end(), axis) != axes_[s].end();
        everywhere = everywhere && (has || stage(s).reduce_axes.empty());
      }
      if (everywhere || output[d] == kOne)
        rows_.row_axes.push_back(axis);
      else
        own_.insert(axis);
    }
    for (std::vector<int>& axes : axes_)
      for (int& axis : axes)
        if (own_.contains(axis)) axis = kOwn;
  }

  // The axis of the buffer along which memory runs; -1 if there is none.
  int innermost(const tensor::Buffer& buffer) const {
    tensor::Layout layout;
    for (size_t i = 0; i < workload_.inputs.size(); ++i)
      if (workload_.inputs[i].buffer.same_as(buffer)) layout = ports_.input(workload_, i);
    if (buffer.same_as(workload_.outputs[0])) layout = ports_.output(0);
    return memory_axis(*buffer, layout).value_or(-1);
  }

  // What memory runs along, as far as the stage reads the model's tensors: kOwn, an output axis, or kOne.
  int runs_along(size_t s) const {
    int found = kOne;
    for_each_load(stage(s), [&](const tensor::Load& load) {
      if (find_stage(load.buffer.get()) >= 0) return;
      const int axis = innermost(load.buffer);
      if (axis < 0) return;
      const int now = meaning(s, load.indices[static_cast<size_t>(axis)]).value_or(kOne);
      if (now == kOwn || found == kOne) found = now;
    });
    return found;
  }

  bool choose_vectors() {
    int along = kOne;
    size_t reductions = 0;
    for (size_t s = 0; s < workload_.stages.size(); ++s) {
      reductions += stage(s).reduce_axes.empty() ? 0 : 1;
      const int now = runs_along(s);
      if (now == kOwn || along == kOne) along = now;
    }
    if (reductions == 0 || (structure_of(workload_).anchor && !folds_without_reuse())) return false;
    rows_.across = along >= 0;
    for (size_t s = 0; s < workload_.stages.size(); ++s) {
      RowStage chosen;
      chosen.reduces = !stage(s).reduce_axes.empty();
      const int wanted = rows_.across ? along : kOwn;
      for (size_t d = 0; d < axes_[s].size(); ++d)
        if (axes_[s][d] == wanted && extent_of(stage(s).axes[d]) > 1)
          chosen.vector_axis = static_cast<int>(d);
      if (s + 1 == workload_.stages.size() && chosen.vector_axis >= 0) {
        const int inner = innermost(stage(s).output);
        if (inner >= 0 && axes_[s][static_cast<size_t>(inner)] == wanted) chosen.vector_axis = inner;
      }
      chosen.product = chosen.reduces && std::find(axes_[s].begin(), axes_[s].end(), kOwn) != axes_[s].end();
      products_ += chosen.product ? 1 : 0;
      if (!rows_.across && chosen.reduces && !chosen.product &&
          stage(s).combiner != tensor::Combiner::kProd) {
        chosen.folds = true;
        chosen.vector_axis = static_cast<int>(stage(s).axes.size()) + folded_axis(s);
      }
      rows_.stages.push_back(chosen);
    }
    return true;
  }

  // The reduce axis that memory runs along, else the last one.
  int folded_axis(size_t s) const {
    auto found = static_cast<int>(stage(s).reduce_axes.size()) - 1;
    for_each_load(stage(s), [&](const tensor::Load& load) {
      const int axis = innermost(load.buffer);
      if (axis < 0) return;
      for (size_t r = 0; r < stage(s).reduce_axes.size(); ++r)
        if (load.indices[static_cast<size_t>(axis)].get() == stage(s).reduce_axes[r].var.get())
          found = static_cast<int>(r);
    });
    return found;
  }

  // Of a workload with one reduction: whether memory runs along it in all that it reads, and one operand at
  // most has elements of its own for each result (a sum over rows, a matrix by a vector): registers have
  // nothing to keep for other results then.
  bool folds_without_reuse() const {
    for (size_t s = 0; s < workload_.stages.size(); ++s) {
      if (stage(s).reduce_axes.empty()) continue;
      std::set<const tensor::BufferNode*> operands, moving;
      bool along = true;
      for_each_load(stage(s), [&](const tensor::Load& load) {
        operands.insert(load.buffer.get());
        // A place in a window moves too.
        for (const Expr& index : load.indices)
          if (meaning(s, index).value_or(0) >= 0) moving.insert(load.buffer.get());
        const int read = find_stage(load.buffer.get());
        const int axis = innermost(load.buffer);
        const int now = read >= 0  ? runs_along(static_cast<size_t>(read))
                        : axis < 0 ? kOne
                                   : meaning(s, load.indices[static_cast<size_t>(axis)]).value_or(kOne);
        along = along && now == kOwn;
      });
      return along && (operands.size() == 1 || moving.size() <= 1);
    }
    return false;
  }

  bool depends_on_reduction(size_t s) const {
    bool depends = !stage(s).reduce_axes.empty();
    for_each_load(stage(s), [&](const tensor::Load& load) {
      const int read = find_stage(load.buffer.get());
      depends = depends || (read >= 0 && depends_on_reduction(static_cast<size_t>(read)));
    });
    return depends;
  }

  // Stored are reductions, what there is one of a row, and what is dear and read more than once.
  RowStage::Place place(size_t s) const {
    if (s + 1 == workload_.stages.size() || !stage(s).reduce_axes.empty()) return RowStage::Place::kStored;
    const bool one = std::find(axes_[s].begin(), axes_[s].end(), kOwn) == axes_[s].end();
    if (one && depends_on_reduction(s)) return RowStage::Place::kStored;
    bool dear = false;
    tensor::for_each(stage(s).body, [&](const Expr& e) {
      dear = dear || tensor::as<tensor::Call>(e) != nullptr;
      return !dear;
    });
    int readers = 0;
    for (const Stage& reader : workload_.stages) {
      bool reads = false;
      for_each_load(reader,
                    [&](const tensor::Load& load) { reads = reads || load.buffer.same_as(stage(s).output); });
      readers += reads ? 1 : 0;
    }
    return dear && readers > 1 ? RowStage::Place::kStored : RowStage::Place::kInlined;
  }

  const Workload& workload_;
  const tensor::PortLayouts& ports_;
  std::vector<std::vector<int>> axes_;  // of each stage, what they are to the output
  std::vector<bool> reached_;
  std::set<int> own_;  // output axes
  int products_ = 0;
  Rows rows_;
};

}  // namespace

std::optional<Rows> rows_of(const Workload& workload, const tensor::PortLayouts& ports) {
  return RowFinder(workload, ports).run(0);
}

std::optional<Rows> rows_with_product(const Workload& workload, const tensor::PortLayouts& ports) {
  return RowFinder(workload, ports).run(1);
}

bool only_folds(const Workload& workload, const Rows& rows) {
  bool folds = false;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    const RowStage& row = rows.stages[s];
    if (row.place == RowStage::Place::kInlined) continue;
    folds = folds || row.folds;
    if (row.product || (row.vector_axis >= 0 && !row.folds)) return false;
  }
  return folds && !rows.across && !rows.row_axes.empty();
}

int block_axis(const Workload& workload, const Rows& rows) {
  int found = rows.row_axes.back();
  for (int axis : rows.row_axes)
    if (extent_of(workload.stages.back().axes[static_cast<size_t>(axis)]) > 1) found = axis;
  return found;
}

int64_t longest_fold(const Workload& workload, const Rows& rows) {
  int64_t longest = 1;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    const Stage& stage = workload.stages[s];
    const auto axis = static_cast<size_t>(rows.stages[s].vector_axis);
    if (rows.stages[s].folds)
      longest = std::max(longest, extent_of(stage.reduce_axes[axis - stage.axes.size()]));
  }
  return longest;
}

RowSizes default_row_sizes(const Workload& workload, const Rows& rows, int64_t lanes) {
  RowSizes sizes{lanes, 4 * lanes};
  const int64_t fold = longest_fold(workload, rows);
  int64_t shortest = 4 * lanes;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    const tensor::Stage& stage = workload.stages[s];
    const RowStage& row = rows.stages[s];
    if (!row.folds && row.vector_axis >= 0)
      shortest = std::min(shortest, extent_of(stage.axes[static_cast<size_t>(row.vector_axis)]));
  }
  // Several partial results a lane hide the latency of adding; what does not fill them is wasted in the last
  // round.
  while (sizes.partials.value > lanes && fold % sizes.partials.value != 0 && fold < 4 * sizes.partials.value)
    sizes.partials.value /= 2;
  while (sizes.lanes.value > 2 && sizes.lanes.value > shortest) sizes.lanes.value /= 2;
  // Memory delivers several streams faster than one, which ends at each page; the sums of several rows hide
  // the latency of adding, too.
  constexpr int64_t kRows = 8, kLongFold = 16;
  if (fold >= kLongFold * lanes && only_folds(workload, rows) &&
      extent_of(workload.stages.back().axes[static_cast<size_t>(block_axis(workload, rows))]) >= 2 * kRows) {
    sizes.block = kRows;
    sizes.partials = lanes;
  }
  return sizes;
}

}  // namespace tf::recipes
