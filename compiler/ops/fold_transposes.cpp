#include "compiler/ops/fold_transposes.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tf::ops {
namespace {

using tensor::Expr;
using tensor::Stage;
using tensor::Workload;

// What the stage loads if it only puts the elements of one buffer in another order; else null.
const tensor::Load* permutation(const Stage& stage) {
  const auto* load = tensor::as<tensor::Load>(stage.body);
  if (!load || load->predicate || !stage.reduce_axes.empty() || load->indices.size() != stage.axes.size())
    return nullptr;
  std::set<const tensor::ExprNode*> moved;
  for (const tensor::Axis& axis : stage.axes)
    for (const Expr& index : load->indices)
      if (index.get() == axis.var.get()) moved.insert(index.get());
  return moved.size() == stage.axes.size() ? load : nullptr;
}

// The body with elements of the moved buffer taken from where they come from.
Expr read_through(const Expr& body, const Stage& moved) {
  const tensor::Load* source = permutation(moved);
  return tensor::rewrite(body, [&](const Expr& e) -> Expr {
    const auto* load = tensor::as<tensor::Load>(e);
    if (!load || !load->buffer.same_as(moved.output)) return e;
    tensor::Substitution places;
    for (size_t d = 0; d < moved.axes.size(); ++d) places[moved.axes[d].var.get()] = load->indices[d];
    std::vector<Expr> indices;
    for (const Expr& index : source->indices) indices.push_back(tensor::substitute(index, places));
    return tensor::load(source->buffer, std::move(indices), load->predicate);
  });
}

// How many stages read the buffer.
std::ptrdiff_t readers(const Workload& workload, const tensor::Buffer& buffer) {
  return std::ranges::count_if(workload.stages, [&](const Stage& stage) {
    bool reads = false;
    tensor::for_each(stage.body, [&](const Expr& e) {
      const auto* load = tensor::as<tensor::Load>(e);
      reads = reads || (load && load->buffer.same_as(buffer));
      return !reads;
    });
    return reads;
  });
}

bool is_output(const Workload& workload, const tensor::Buffer& buffer) {
  return std::ranges::any_of(workload.outputs, [&](const tensor::Buffer& b) { return b.same_as(buffer); });
}

// Lets the stage that makes what `moved` puts in order make it in that order; false if others need it too.
bool make_in_order(Workload& workload, const Stage& moved) {
  const tensor::Load* source = permutation(moved);
  const auto maker = std::ranges::find_if(
      workload.stages, [&](const Stage& stage) { return stage.output.same_as(source->buffer); });
  if (maker == workload.stages.end() || is_output(workload, source->buffer) ||
      readers(workload, source->buffer) != 1 || readers(workload, moved.output) != 0)
    return false;
  std::vector<tensor::Axis> axes;
  for (const tensor::Axis& axis : moved.axes)
    for (size_t d = 0; d < source->indices.size(); ++d)
      if (source->indices[d].get() == axis.var.get()) axes.push_back(maker->axes[d]);
  maker->axes = std::move(axes);
  maker->output = moved.output;
  return true;
}

std::string without_transposes(const std::string& label) {
  std::vector<std::string> parts = absl::StrSplit(label, '+');
  std::erase(parts, "transpose");
  return absl::StrJoin(parts, "+");
}

}  // namespace

Workload fold_transposes(Workload workload) {
  const size_t before = workload.stages.size();
  for (size_t s = 0; s < workload.stages.size();) {
    const Stage moved = workload.stages[s];
    if (!permutation(moved) || (is_output(workload, moved.output) && !make_in_order(workload, moved))) {
      ++s;
      continue;
    }
    workload.stages.erase(workload.stages.begin() + static_cast<std::ptrdiff_t>(s));
    for (Stage& stage : workload.stages) stage.body = read_through(stage.body, moved);
  }
  if (workload.stages.size() < before) workload.label = without_transposes(workload.label);
  return workload;
}

}  // namespace tf::ops
