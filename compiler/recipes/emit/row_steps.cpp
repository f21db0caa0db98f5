#include "compiler/recipes/emit/row_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
namespace {

using tensor::Stage;
using tensor::Workload;

int index(size_t s) {
  return static_cast<int>(s);
}

std::string loop(char kind, int axis) {
  return absl::StrCat(std::string(1, kind), axis);
}

}  // namespace

// Short folds are one vector.
int64_t RowSteps::fold_extent(size_t s) const {
  const auto axis = static_cast<size_t>(rows_.stages[s].vector_axis) - stage(s).axes.size();
  return extent_of(stage(s).reduce_axes[axis]);
}

bool RowSteps::is_factored(size_t s) const {
  return rows_.stages[s].folds && (sizes_.partials.is_open() || fold_extent(s) > sizes_.partials.value);
}

bool RowSteps::in_blocks() const {
  return only_folds(workload_, rows_) && (sizes_.block.is_open() || sizes_.block.value > 1);
}

// So that each row of a block has registers of its own.
void RowSteps::unroll_rows(const std::string& stage, int first, int count) {
  for (int axis = first; axis < first + count; ++axis)
    steps_.push_back(Annotate{stage, loop('i', axis), Annotation::kUnroll});
}

// One value a row, or a vector of rows, lives in a register.
tensor::Scope RowSteps::scope(size_t s) const {
  const RowStage& row = rows_.stages[s];
  const bool small = row.folds || row.vector_axis < 0 || (rows_.across && row.reduces);
  return small ? tensor::Scope::kRegister : tensor::Scope::kGlobal;
}

void RowSteps::prepare() {
  for (size_t s = 0; s + 1 < workload_.stages.size(); ++s)
    if (rows_.stages[s].place == RowStage::Place::kInlined) steps_.push_back(Inline{stage_name(index(s))});
  for (size_t s = 0; s < workload_.stages.size(); ++s)
    if (is_factored(s)) factor(s);
}

void RowSteps::factor(size_t s) {
  const std::string name = stage_name(index(s));
  const std::string folded = loop('r', rows_.stages[s].vector_axis - index(stage(s).axes.size()));
  steps_.push_back(Split{name, folded, {sizes_.partials}, Tail::kGuard});
  steps_.push_back(RFactor{name, absl::StrCat(folded, ".1")});
}

std::string RowSteps::shape_output(bool parallel) {
  const size_t last = workload_.stages.size() - 1;
  const RowStage& row = rows_.stages[last];
  const std::string name = stage_name(index(last));
  const int rank = index(stage(last).axes.size());
  auto is_row = [&](int axis) {
    return std::find(rows_.row_axes.begin(), rows_.row_axes.end(), axis) != rows_.row_axes.end();
  };
  const bool split = row.vector_axis >= 0 && !row.folds;
  const int blocked = in_blocks() ? block_axis(workload_, rows_) : -1;
  std::vector<std::string> outer, inner;
  for (int axis = 0; axis < rank; ++axis) {
    const std::string whole = loop('i', axis);
    const bool parted = axis == blocked || (split && axis == row.vector_axis);
    (is_row(axis) ? outer : inner).push_back(parted ? absl::StrCat(whole, ".0") : whole);
  }
  if (blocked >= 0) {
    steps_.push_back(Split{name, loop('i', blocked), {sizes_.block}, Tail::kGuard});
    inner.insert(inner.begin(), absl::StrCat(loop('i', blocked), ".1"));
  }
  if (split) steps_.push_back(Split{name, loop('i', row.vector_axis), {sizes_.lanes}, Tail::kGuard});
  std::vector<std::string> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  for (int r = 0; r < output_reduces(); ++r) order.push_back(loop('r', r));
  if (split) order.push_back(absl::StrCat(loop('i', row.vector_axis), ".1"));
  if (order.size() > 1) steps_.push_back(Reorder{name, order});
  if (split) steps_.push_back(Annotate{name, order.back(), Annotation::kVectorize});
  if (blocked >= 0) steps_.push_back(Annotate{name, inner.front(), Annotation::kUnroll});
  if (outer.empty()) return "";
  if (!parallel) return outer.back();
  if (outer.size() > 1) steps_.push_back(Fuse{name, outer});
  std::string fused = absl::StrJoin(outer, "*");
  steps_.push_back(Annotate{name, fused, Annotation::kParallel});
  return fused;
}

void RowSteps::place(const std::string& loop) {
  const size_t last = workload_.stages.size() - 1;
  const std::string holder = stage_name(index(last));
  for (size_t s = last + 1; s-- > 0;) {
    if (!is_placed(s)) continue;
    const std::string name = stage_name(index(s));
    if (s != last) steps_.push_back(ComputeAt{name, holder, loop, scope(s)});
    if (is_factored(s))
      steps_.push_back(ComputeAt{absl::StrCat(name, ".rf"), holder, loop, tensor::Scope::kRegister});
  }
}

// Reduce loops that the output has once its lanes are factored off.
int RowSteps::output_reduces() const {
  const size_t last = workload_.stages.size() - 1;
  return is_factored(last) ? 1 : index(stage(last).reduce_axes.size());
}

void RowSteps::shape(size_t s) {
  const RowStage& row = rows_.stages[s];
  const std::string name = stage_name(index(s));
  const int rank = index(stage(s).axes.size()), reduces = index(stage(s).reduce_axes.size());
  if (in_blocks() && s + 1 != workload_.stages.size()) unroll_rows(name, 0, rank);
  if (is_factored(s)) {
    const std::string partial = absl::StrCat(name, ".rf");
    std::vector<std::string> order, terms;
    for (int axis = 1; axis <= rank; ++axis) order.push_back(loop('i', axis));
    for (int r = 0; r < reduces; ++r) terms.push_back(loop('r', r));
    order.insert(in_blocks() ? order.begin() : order.end(), terms.begin(), terms.end());
    order.push_back("i0");
    steps_.push_back(Reorder{partial, order});
    if (in_blocks()) unroll_rows(partial, 1, rank);
    steps_.push_back(Annotate{partial, "i0", Annotation::kVectorize});
    steps_.push_back(Annotate{name, "r0", Annotation::kVectorize});
    return;
  }
  if (row.folds) return shape_short_fold(s);
  if (row.vector_axis >= 0 && s + 1 != workload_.stages.size()) shape_stage(s);
}

// An element-wise stage, or one over rows side by side.
void RowSteps::shape_stage(size_t s) {
  const RowStage& row = rows_.stages[s];
  const std::string name = stage_name(index(s));
  const int rank = index(stage(s).axes.size()), reduces = index(stage(s).reduce_axes.size());
  const std::string vector = loop('i', row.vector_axis);
  std::vector<std::string> order;
  for (int axis = 0; axis < rank; ++axis)
    if (axis != row.vector_axis || !rows_.across)
      order.push_back(axis == row.vector_axis ? absl::StrCat(vector, ".0") : loop('i', axis));
  for (int r = 0; r < reduces; ++r) order.push_back(loop('r', r));
  order.push_back(rows_.across ? vector : absl::StrCat(vector, ".1"));
  if (!rows_.across) steps_.push_back(Split{name, vector, {sizes_.lanes}, Tail::kGuard});
  if (order.size() > 1) steps_.push_back(Reorder{name, order});
  steps_.push_back(Annotate{name, order.back(), Annotation::kVectorize});
}

void RowSteps::shape_short_fold(size_t s) {
  const std::string name = stage_name(index(s));
  const std::string folded = loop('r', rows_.stages[s].vector_axis - index(stage(s).axes.size()));
  std::vector<std::string> order;
  for (size_t axis = 0; axis < stage(s).axes.size(); ++axis) order.push_back(loop('i', index(axis)));
  for (size_t r = 0; r < stage(s).reduce_axes.size(); ++r)
    if (loop('r', index(r)) != folded) order.push_back(loop('r', index(r)));
  order.push_back(folded);
  // The output's loops stand already, with the fold among them.
  if (s + 1 != workload_.stages.size()) steps_.push_back(Reorder{name, order});
  steps_.push_back(Annotate{name, folded, Annotation::kVectorize});
}

void append_rows(const Workload& workload, const Rows& rows, const RowSizes& sizes, bool parallel,
                 Steps& steps) {
  RowSteps row_steps(workload, rows, sizes, steps);
  row_steps.prepare();
  if (const std::string loop = row_steps.shape_output(parallel); !loop.empty()) row_steps.place(loop);
  for (size_t s = 0; s < workload.stages.size(); ++s)
    if (rows.stages[s].place == RowStage::Place::kStored) row_steps.shape(s);
}

}  // namespace tf::recipes
