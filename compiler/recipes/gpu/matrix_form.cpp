#include "compiler/recipes/gpu/matrix_form.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/whole_division.h"
#include "compiler/analysis/access.h"
#include "compiler/analysis/simplify.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/schedule/schedule.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Axis;
using tensor::Expr;
using tensor::Stage;
using tensor::Workload;

constexpr int64_t kFewTermsOfPart = 256, kMostParts = 32, kWholeTerms = 64;
constexpr int64_t kManyTerms = 1024;

std::vector<Axis> chosen(const std::vector<Axis>& axes, const std::vector<std::string>& names) {
  std::vector<Axis> found(names.size());
  std::ranges::transform(names, found.begin(), [&](const std::string& name) {
    return axes[static_cast<size_t>(std::stoi(name.substr(1)))];
  });
  return found;
}

bool uses_one_of(const Expr& e, const std::vector<Axis>& axes) {
  return std::ranges::any_of(axes, [&](const Axis& axis) { return analysis::uses(e, axis.var.get()); });
}

int64_t product_of(const std::vector<Axis>& axes) {
  int64_t extent = 1;
  for (const Axis& axis : axes) extent *= extent_of(axis);
  return extent;
}

// The input whose elements these are, through stages that move them; with its number.
std::optional<int> input_behind(const Workload& workload, tensor::Buffer buffer) {
  for (;;) {
    for (size_t i = 0; i < workload.inputs.size(); ++i)
      if (workload.inputs[i].buffer.same_as(buffer)) return static_cast<int>(i);
    const auto stage =
        std::ranges::find_if(workload.stages, [&](const Stage& each) { return each.output.same_as(buffer); });
    if (stage == workload.stages.end()) return std::nullopt;
    tensor::Buffer next;
    tensor::for_each(stage->body, [&](const Expr& e) {
      const auto* load = tensor::as<tensor::Load>(e);
      if (load && !next && load->buffer->rank() == buffer->rank()) next = load->buffer;
      return true;
    });
    if (!next) return std::nullopt;
    buffer = next;
  }
}

// Along which dimension of the load memory runs.
std::optional<int> running_dimension(const tensor::KernelSpec& kernel, const tensor::Load& load) {
  const std::optional<int> input = input_behind(kernel.workload, load.buffer);
  const tensor::Layout layout =
      input ? kernel.ports.input(kernel.workload, static_cast<size_t>(*input)) : tensor::Layout{};
  return memory_axis(*load.buffer, layout);
}

std::optional<MatrixFactor> matrix_factor(const tensor::KernelSpec& kernel, const Expr& e,
                                          const Stage& anchor) {
  const auto* cast = tensor::as<tensor::Cast>(e);
  MatrixFactor factor{.load = tensor::as<tensor::Load>(cast ? cast->a : e)};
  if (!factor.load || factor.load->predicate) return std::nullopt;
  factor.element = factor.load->type().element;
  for (size_t i = 0; i < kernel.workload.inputs.size(); ++i)
    if (kernel.workload.inputs[i].constant && kernel.workload.inputs[i].buffer.same_as(factor.load->buffer))
      factor.constant = static_cast<int>(i);
  if (const std::optional<int> along = running_dimension(kernel, *factor.load)) {
    const Expr& index = factor.load->indices[static_cast<size_t>(*along)];
    factor.runs_along_terms = uses_one_of(index, anchor.reduce_axes) && !uses_one_of(index, anchor.axes);
  }
  return factor;
}

// Terms that lie next to each other last.
std::vector<std::string> ordered_terms(const tensor::KernelSpec& kernel, const Stage& anchor,
                                       const MatrixFactor& factor) {
  std::vector<std::string> first, last;
  const std::optional<int> along = running_dimension(kernel, *factor.load);
  for (size_t r = 0; r < anchor.reduce_axes.size(); ++r) {
    const bool runs = factor.runs_along_terms &&
                      uses_one_of(factor.load->indices[static_cast<size_t>(*along)], {anchor.reduce_axes[r]});
    (runs ? last : first).push_back(absl::StrCat("r", r));
  }
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

bool has_numbers(const std::vector<Axis>& axes) {
  return !axes.empty() && std::ranges::all_of(axes.begin() + 1, axes.end(), [](const Axis& axis) {
    return tensor::as_int(axis.extent).has_value();
  });
}

// The dimensions of a constant in the order of the matrix's axes; nothing unless each is one of them.
std::optional<std::vector<int>> dimensions_in_order(const tensor::Load& load,
                                                    const std::vector<Axis>& order) {
  std::vector<int> dimensions;
  for (const Axis& axis : order)
    for (size_t d = 0; d < load.indices.size(); ++d)
      if (load.indices[d].same_as(axis.var)) dimensions.push_back(static_cast<int>(d));
  for (size_t d = 0; d < load.indices.size(); ++d)
    if (tensor::as_int(load.indices[d]) && tensor::as_int(load.buffer->extents[d]) == 1)
      dimensions.insert(dimensions.begin(), static_cast<int>(d));
  if (dimensions.size() != load.indices.size()) return std::nullopt;
  return dimensions;
}

OpenLayout layout_of(const std::vector<int>& dimensions) {
  if (std::ranges::is_sorted(dimensions)) return {};
  OpenLayout layout;
  for (const int d : dimensions) layout.push_back(d, 0);
  return layout;
}

OpenLayout constant_layout(const Stage& anchor, const MatrixForm& form, const MatrixFactor& factor,
                           const std::vector<std::string>& lines, bool terms_last) {
  std::vector<Axis> order = chosen(anchor.axes, form.counts);
  const std::vector<Axis> line_axes = chosen(anchor.axes, lines),
                          term_axes = chosen(anchor.reduce_axes, form.terms);
  for (const std::vector<Axis>* axes :
       {terms_last ? &line_axes : &term_axes, terms_last ? &term_axes : &line_axes})
    order.insert(order.end(), axes->begin(), axes->end());
  const auto dimensions = dimensions_in_order(*factor.load, order);
  return dimensions ? layout_of(*dimensions) : OpenLayout{};
}

// Whether `vector` neighbours along the last axis of the stage are as many in memory, at an aligned address, under one condition.
bool moves_in_vectors(const Stage& stage, int64_t vector,
                      const std::function<tensor::Layout(const tensor::Buffer&)>& layout_for) {
  const int64_t extent = extent_of(stage.axes.back());
  if (extent % vector != 0) return false;
  analysis::RangeMap ranges;
  for (const Axis& axis : stage.axes) ranges[axis.var.get()] = {0, extent_of(axis) - 1};
  const tensor::Var start = tensor::var("start"), lane = tensor::var("lane");
  ranges[start.get()] = {0, extent / vector - 1};
  ranges[lane.get()] = {0, vector - 1};
  const auto at = [&](const Expr& e) {
    return analysis::simplify(
        tensor::substitute(e, {{stage.axes.back().var.get(), start * vector + Expr(lane)}}), ranges);
  };
  bool moves = true;
  tensor::for_each(stage.body, [&](const Expr& e) {
    if (const auto* choice = tensor::as<tensor::Select>(e))
      moves = moves && !analysis::uses(at(choice->condition), lane.get());
    const auto* load = tensor::as<tensor::Load>(e);
    if (!moves || !load) return moves;
    const Expr place = element_offset(*load, layout_for(load->buffer));
    if (!place) return moves = false;
    const Expr there = at(place);
    const Expr first = tensor::substitute(there, {{lane.get(), tensor::imm(0)}});
    moves = tensor::as_int(analysis::simplify(there - first - Expr(lane), ranges)) == 0 &&
            tensor::as_int(analysis::simplify(tensor::floor_mod(first, vector), ranges)) == 0;
    return moves;
  });
  return moves;
}

}  // namespace

std::optional<MatrixForm> matrix_form(const tensor::KernelSpec& kernel, const Structure& structure) {
  if (!structure.anchor) return std::nullopt;
  const Stage& anchor = anchor_of(kernel.workload, structure);
  const auto* product = tensor::as<tensor::Binary>(anchor.body);
  if (anchor.combiner != tensor::Combiner::kSum || !product || product->op != tensor::BinaryOp::kMul ||
      anchor.axes.size() < 2)
    return std::nullopt;
  std::optional<MatrixFactor> a = matrix_factor(kernel, product->a, anchor),
                              b = matrix_factor(kernel, product->b, anchor);
  if (!a || !b || a->load->buffer.same_as(b->load->buffer)) return std::nullopt;
  MatrixForm form;
  const auto memory = static_cast<size_t>(vector_axis(kernel, structure));
  bool columns_of_a = false;
  for (size_t i = 0; i < anchor.axes.size(); ++i) {
    const bool in_a = uses_one_of(product->a, {anchor.axes[i]}),
               in_b = uses_one_of(product->b, {anchor.axes[i]});
    columns_of_a = columns_of_a || (i == memory && in_a && !in_b);
    if (extent_of(anchor.axes[i]) == 1) form.units.insert(axis_name(i));
    (in_a && in_b ? form.counts : in_a ? form.rows : form.columns).push_back(axis_name(i));
  }
  form.a = *a;
  form.b = *b;
  form.is_convolution = form.rows.size() + form.columns.size() + anchor.reduce_axes.size() > 3;
  // A convolution's data is b where memory does not run along the terms: only b may be gathered along its columns.
  if (form.is_convolution && form.a.constant.has_value() != form.b.constant.has_value()) {
    const MatrixFactor& data = form.a.constant ? form.b : form.a;
    if (!data.runs_along_terms) columns_of_a = !form.a.constant.has_value();
  }
  if (columns_of_a) {
    std::swap(form.rows, form.columns);
    std::swap(form.a, form.b);
  }
  const MatrixFactor& data = form.a.constant ? form.b : form.a;
  form.terms = ordered_terms(kernel, anchor, data);
  const std::vector<Axis> rows = chosen(anchor.axes, form.rows), columns = chosen(anchor.axes, form.columns),
                          terms = chosen(anchor.reduce_axes, form.terms);
  if (!has_numbers(rows) || !has_numbers(columns) || !has_numbers(terms)) return std::nullopt;
  form.extents = {.m = product_of(rows),
                  .n = product_of(columns),
                  .k = product_of(terms),
                  .count = product_of(chosen(anchor.axes, form.counts))};
  return form;
}

MatrixStages append_matrices(const tensor::KernelSpec& kernel, const Structure& structure,
                             const MatrixForm& form, bool turns, const Size& part, Steps& steps) {
  const Stage& anchor = anchor_of(kernel.workload, structure);
  for (const auto& [factor, lines, terms_last] :
       {std::tuple(&form.a, &form.rows, true), {&form.b, &form.columns, turns}}) {
    if (!factor->constant) continue;
    OpenLayout layout = constant_layout(anchor, form, *factor, *lines, terms_last);
    if (!layout.is_row_major())
      steps.push_back(LayoutRewrite{input_name(*factor->constant), std::move(layout)});
  }
  MatrixStages stages{stage_name(*structure.anchor)};
  steps.push_back(Matrices{stages.anchor, form.rows, form.terms, turns, part});
  append_inlining(structure.producers, steps);
  return stages;
}

std::array<int64_t, 2> matrix_vectors(const tensor::KernelSpec& kernel, const Structure& structure,
                                      const MatrixForm& form, bool turns, int64_t most) {
  Steps steps;
  const MatrixStages stages = append_matrices(kernel, structure, form, turns, 0, steps);
  State state(kernel.workload);
  for (const Step& step : steps)
    if (state.apply(step)) return {1, 1};
  const auto layout_for = [&](const tensor::Buffer& buffer) -> tensor::Layout {
    for (size_t i = 0; i < kernel.workload.inputs.size(); ++i) {
      if (!kernel.workload.inputs[i].buffer.same_as(buffer)) continue;
      if (!kernel.workload.inputs[i].constant) return kernel.ports.input(kernel.workload, i);
      const auto found = state.data().layouts.find(input_name(static_cast<int>(i)));
      return found == state.data().layouts.end() ? tensor::Layout{} : found->second.closed();
    }
    return {};
  };
  std::array<int64_t, 2> vectors = {1, 1};
  for (const StageState& stage : state.stages())
    for (int64_t vector = most; vector > 1; vector /= 2)
      for (const auto& [name, found] :
           {std::pair(stages.a(), &vectors[0]), std::pair(stages.b(), &vectors[1])})
        if (stage.name == name && *found == 1 && moves_in_vectors(stage.stage, vector, layout_for))
          *found = vector;
  return vectors;
}

std::string append_gather(const std::string& matrix, size_t rank, int64_t vector, bool lines_inside,
                          Steps& steps) {
  const std::string last = axis_name(rank - 1);
  std::vector<std::string> loops;
  for (size_t axis = 0; axis + 1 < rank; ++axis) loops.push_back(axis_name(axis));
  if (vector > 1) {
    steps.push_back(Split{matrix, last, {Size(vector)}, Tail::kGuard});
    steps.push_back(Annotate{matrix, last + ".1", Annotation::kVectorize});
    loops.push_back(last + ".0");
  } else if (lines_inside) {
    loops.insert(loops.end() - 1, last);
    steps.push_back(Reorder{matrix, loops});
  } else {
    loops.push_back(last);
  }
  return append_fuse(matrix, loops, steps);
}

std::array<std::string, 3> append_matrix_loops(const std::string& output, const MatrixForm& form,
                                               Steps& steps) {
  // What is read at 0, as stages read axes of one element, would not be known as the outermost of a fused loop.
  std::vector<std::string> counts, rows, columns;
  for (const auto& [axes, long_axes] :
       {std::pair(&form.counts, &counts), std::pair(&form.rows, &rows), std::pair(&form.columns, &columns)})
    for (const std::string& axis : *axes) {
      const bool alone = long_axes->empty() && &axis == &axes->back();
      (form.units.contains(axis) && !alone ? counts : *long_axes).push_back(axis);
    }
  std::vector<std::string> order = counts;
  order.insert(order.end(), rows.begin(), rows.end());
  order.insert(order.end(), columns.begin(), columns.end());
  steps.push_back(Reorder{output, order});
  const std::string count = counts.empty() ? "" : append_fuse(output, counts, steps);
  return {count, append_fuse(output, rows, steps), append_fuse(output, columns, steps)};
}

void append_sum_of_parts(const tensor::KernelSpec& kernel, const Structure& structure, Steps& steps) {
  constexpr int64_t kThreads = 128;
  const std::string output = stage_name(structure.output), sum = stage_name(*structure.anchor);
  const size_t rank = output_of(kernel.workload, structure).axes.size();
  const std::string all = append_fuse(output, rank, steps);
  steps.push_back(Split{output, all, {Size(kThreads)}, Tail::kGuard});
  steps.push_back(Annotate{output, all + ".0", Annotation::kGridX});
  steps.push_back(Annotate{output, all + ".1", Annotation::kThreadX});
  if (output != sum) steps.push_back(ComputeAt{sum, output, all + ".1", tensor::Scope::kRegister});
}

int64_t terms_of_parts(int64_t terms, int64_t parts) {
  const int64_t part = ceil_div(terms, parts);
  return part < kWholeTerms ? part : ceil_div(part, kWholeTerms) * kWholeTerms;
}

std::vector<int64_t> part_choices(int64_t terms) {
  std::set<int64_t> choices;
  for (int64_t parts = 2; parts <= kMostParts && terms >= parts * kFewTermsOfPart; parts *= 2)
    choices.insert(terms_of_parts(terms, parts));
  return {choices.begin(), choices.end()};
}

int64_t default_parts(int64_t blocks, int64_t terms) {
  if (terms < kManyTerms) return 1;
  int64_t parts = 1;
  while (parts * 2 <= kMostParts && blocks * parts < kEnoughBlocks && terms >= 2 * parts * kFewTermsOfPart)
    parts *= 2;
  return parts;
}

}  // namespace tf::recipes
