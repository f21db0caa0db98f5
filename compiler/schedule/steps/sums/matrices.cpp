#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/access.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using tensor::Axis;
using tensor::Expr;
using tensor::Var;

// Axes that become one, outermost first.
using AxisList = std::vector<Axis>;

bool uses_any(const Expr& factor, const AxisList& axes) {
  return std::ranges::any_of(axes, [&](const Axis& axis) { return analysis::uses(factor, axis.var.get()); });
}

// All but the outermost are numbers, by which the one axis is divided.
bool can_be_one(const AxisList& axes) {
  return !axes.empty() && std::ranges::all_of(axes.begin() + 1, axes.end(), [](const Axis& axis) {
    return tensor::as_int(axis.extent).value_or(0) > 0;
  });
}

Expr extent_of(const AxisList& axes) {
  Expr extent = axes[0].extent;
  for (size_t i = 1; i < axes.size(); ++i) extent = extent * axes[i].extent;
  return extent;
}

// The one axis, of theirs.
Expr together(const AxisList& axes) {
  Expr all = axes[0].var;
  for (size_t i = 1; i < axes.size(); ++i) all = all * axes[i].extent + Expr(axes[i].var);
  return all;
}

// Theirs, of the one axis.
void take_apart(const AxisList& axes, Expr all, tensor::Substitution& values) {
  for (size_t i = axes.size(); i-- > 1;) {
    const int64_t extent = constant_extent(axes[i]);
    values[axes[i].var.get()] = extent == 1 ? tensor::imm(0) : tensor::floor_mod(all, extent);
    if (extent != 1) all = tensor::floor_div(all, extent);
  }
  values[axes[0].var.get()] = all;
}

// A sum of products, whose axes are parted.
struct Parted {
  AxisList count, rows, columns, terms;  // count: those of both factors
  Expr a, b;
  Expr load_of(const Expr& factor) const {
    const auto* cast = tensor::as<tensor::Cast>(factor);
    return cast ? cast->a : factor;
  }
};

// The axes that the names say, in their order; nothing if one is said twice or not there.
std::optional<AxisList> named(const AxisList& axes, const std::vector<std::string>& names, char kind) {
  AxisList found;
  for (size_t n = 0; n < names.size(); ++n) {
    if (std::ranges::count(names, names[n]) != 1) return std::nullopt;
    for (size_t i = 0; i < axes.size(); ++i)
      if (names[n] == absl::StrCat(std::string(1, kind), i)) found.push_back(axes[i]);
  }
  if (found.size() != names.size()) return std::nullopt;
  return found;
}

std::optional<Parted> parted(const tensor::Stage& stage, const Matrices& step) {
  const auto* product = tensor::as<tensor::Binary>(stage.body);
  if (stage.combiner != tensor::Combiner::kSum || !product || product->op != tensor::BinaryOp::kMul)
    return std::nullopt;
  const auto rows = named(stage.axes, step.rows, 'i'), terms = named(stage.reduce_axes, step.terms, 'r');
  if (!rows || !terms || terms->size() != stage.reduce_axes.size()) return std::nullopt;
  Parted found{.count = {}, .rows = *rows, .columns = {}, .terms = *terms, .a = product->a, .b = product->b};
  if (!uses_any(found.a, found.rows)) std::swap(found.a, found.b);
  for (const Expr& factor : {found.a, found.b}) {
    const auto* load = tensor::as<tensor::Load>(found.load_of(factor));
    if (!load || load->predicate) return std::nullopt;
  }
  for (const Axis& axis : stage.axes) {
    if (std::ranges::any_of(found.rows, [&](const Axis& row) { return row.var.same_as(axis.var); })) continue;
    (uses_any(found.a, {axis}) ? found.count : found.columns).push_back(axis);
  }
  if (uses_any(found.b, found.rows) || !can_be_one(found.rows) || !can_be_one(found.columns) ||
      !can_be_one(found.terms))
    return std::nullopt;
  return found;
}

// Adds the stages before the sum, which it then reads.
class MatrixMaker {
 public:
  MatrixMaker(StateData& data, const Matrices& step, Parted parted, std::optional<SymInt> part)
      : data_(data), step_(step), parted_(std::move(parted)), part_(std::move(part)) {}

  void run() {
    const Var k = tensor::var("r0");
    const Expr terms = part_ ? part_->expr() : extent_of(parted_.terms);
    const tensor::Buffer a = factor(".a", parted_.a, parted_.rows, true);
    const tensor::Buffer b = factor(".b", parted_.b, parted_.columns, step_.turns);
    tensor::Stage product = stage_of({parted_.rows, parted_.columns});
    product.combiner = tensor::Combiner::kSum;
    product.reduce_axes = {{k, terms}};
    std::vector<Expr> left = leading(product), right = left;
    const Expr row = product.axes[left.size()].var, column = product.axes[left.size() + 1].var;
    left.insert(left.end(), {row, k});
    right.insert(right.end(), {step_.turns ? column : Expr(k), step_.turns ? Expr(k) : column});
    product.body = like(parted_.a, tensor::load(a, left)) * like(parted_.b, tensor::load(b, right));
    const tensor::Buffer sums = add(".mm", std::move(product), sum().stage.output->element);

    StageState& whole = sum();
    std::vector<Expr> indices;
    whole.stage.reduce_axes.clear();
    if (part_) {
      const Var p = tensor::var("r0");
      whole.stage.reduce_axes = {{p, parts()}};
      indices.push_back(p);
    } else {
      whole.stage.combiner.reset();
    }
    for (const Axis& axis : parted_.count) indices.push_back(axis.var);
    indices.insert(indices.end(), {together(parted_.rows), together(parted_.columns)});
    whole.stage.body = tensor::load(sums, std::move(indices));
    reset_loops(whole);
  }

 private:
  StageState& sum() { return *data_.find_stage(step_.stage); }
  Expr parts() const { return ceil_div(SymInt(extent_of(parted_.terms)), *part_).expr(); }

  // A stage over parts, counts, and an axis for each of the lists.
  tensor::Stage stage_of(const std::vector<AxisList>& lists) const {
    tensor::Stage stage;
    const auto add_axis = [&](const Expr& extent) {
      stage.axes.push_back({tensor::var(absl::StrCat("i", stage.axes.size())), extent});
    };
    if (part_) add_axis(parts());
    for (const Axis& axis : parted_.count) add_axis(axis.extent);
    for (const AxisList& list : lists) add_axis(extent_of(list));
    return stage;
  }

  // The parts' and counts' variables.
  std::vector<Expr> leading(const tensor::Stage& stage) const {
    std::vector<Expr> vars;
    for (size_t i = 0; i < parted_.count.size() + (part_ ? 1 : 0); ++i) vars.push_back(stage.axes[i].var);
    return vars;
  }

  // Its last two axes are lines (rows of a, columns of b) and terms, the terms last or last but one.
  tensor::Buffer factor(const char* suffix, const Expr& factor, const AxisList& lines, bool terms_last) {
    tensor::Stage stage = terms_last ? stage_of({lines, parted_.terms}) : stage_of({parted_.terms, lines});
    const size_t rank = stage.axes.size();
    const size_t terms_axis = rank - (terms_last ? 1 : 2), lines_axis = rank - (terms_last ? 2 : 1);
    Expr term = stage.axes[terms_axis].var;
    Expr inside;
    if (part_) {
      stage.axes[terms_axis].extent = part_->expr();
      term = Expr(stage.axes[0].var) * part_->expr() + term;
      const Expr divides = tensor::divides(*part_, SymInt(extent_of(parted_.terms)));
      if (tensor::as_int(divides) != 1) inside = tensor::logical_or(divides, term < extent_of(parted_.terms));
    }
    tensor::Substitution values;
    for (size_t i = 0; i < parted_.count.size(); ++i)
      values[parted_.count[i].var.get()] = stage.axes[i + (part_ ? 1 : 0)].var;
    take_apart(lines, stage.axes[lines_axis].var, values);
    take_apart(parted_.terms, term, values);
    stage.body = tensor::substitute(parted_.load_of(factor), values);
    const tensor::Element element = stage.body->type().element;
    if (inside) stage.body = tensor::select(inside, stage.body, tensor::imm(stage.body->type(), 0));
    return add(suffix, std::move(stage), element);
  }

  static Expr like(const Expr& factor, const Expr& load) {
    const auto* cast = tensor::as<tensor::Cast>(factor);
    return cast ? tensor::cast(factor->type(), load) : load;
  }

  tensor::Buffer add(const char* suffix, tensor::Stage stage, tensor::Element element) {
    StageState state;
    state.name = fresh_stage_name(data_, step_.stage + suffix);
    std::vector<Expr> extents;
    for (const Axis& axis : stage.axes) extents.push_back(axis.extent);
    state.stage = std::move(stage);
    state.stage.output = tensor::buffer(state.name, element, std::move(extents));
    reset_loops(state);
    tensor::Buffer output = state.stage.output;
    data_.stages.insert(data_.stages.begin() + (&sum() - data_.stages.data()), std::move(state));
    return output;
  }

  StateData& data_;
  const Matrices& step_;
  const Parted parted_;
  const std::optional<SymInt> part_;
};

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const Matrices& step) {
  const StageState* stage = data.find_stage(step.stage);
  if (const std::optional<Illegal> reason = check_untouched(data, stage)) return reason;
  std::optional<Parted> found = parted(stage->stage, step);
  if (!found) return Illegal::kNotMatrices;
  std::optional<SymInt> part;
  if (step.part != Size(0)) {
    part = data.value_of(step.part);
    if (!part) return Illegal::kOpenSize;
    if (!data.require(tensor::less_equal(1, *part)) ||
        !data.require(tensor::less_equal(*part, greatest_part(data, stage->stage))))
      return Illegal::kBadFactor;
  }
  MatrixMaker(data, step, *std::move(found), std::move(part)).run();
  return std::nullopt;
}

}  // namespace tf::schedule
