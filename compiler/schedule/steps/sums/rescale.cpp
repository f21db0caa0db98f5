#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/analysis/access.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using tensor::Axis;
using tensor::Expr;
using tensor::Stage;
using tensor::Var;

bool loads_any(const Expr& expr, std::initializer_list<const tensor::BufferNode*> buffers) {
  bool found = false;
  tensor::for_each(expr, [&](const Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    found = found || (load && std::ranges::count(buffers, load->buffer.get()) != 0);
    return !found;
  });
  return found;
}

// The indices with which the expression loads the buffer; nothing if it does not, or in different places.
std::optional<std::vector<Expr>> place_in(const Expr& expr, const tensor::BufferNode* buffer) {
  std::optional<std::vector<Expr>> place;
  bool is_one = true;
  tensor::for_each(expr, [&](const Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (!load || load->buffer.get() != buffer) return true;
    is_one = is_one && !load->predicate &&
             (!place || std::ranges::equal(*place, load->indices, [](auto& a, auto& b) {
               return tensor::structurally_equal(a, b);
             }));
    place = load->indices;
    return true;
  });
  return is_one ? place : std::nullopt;
}

const Expr* exponent_of(const Expr& expr) {
  const auto* call = tensor::as<tensor::Call>(expr);
  return call && call->function == tensor::Intrinsic::kExp ? &call->args[0] : nullptr;
}

// Values that are weighted by the softmax of a row: result = Σ exp(score - maximum) * values * scale, the scale made of sums.
struct Weighted {
  Expr exponential;                      // in the result's axes
  Var weight;                            // stands for it in `values`
  Expr values, scale;                    // the body without the scale; the scale, null: there is none
  std::vector<Expr> maximum_at, sum_at;  // where the result's elements find theirs
};

// Takes the result's body apart.
class WeightFinder {
 public:
  WeightFinder(const Stage& result, const tensor::BufferNode* maximum, const tensor::BufferNode* sum)
      : result_(result), maximum_(maximum), sum_(sum) {}

  std::optional<Weighted> find() {
    found_.weight = tensor::var("weight", {result_.output->element, 1});
    found_.values = take(result_.body);
    if (!is_product_ || !found_.exponential || !found_.scale) return std::nullopt;
    const auto maximum_at = place_in(found_.exponential, maximum_), sum_at = place_in(found_.scale, sum_);
    if (!maximum_at || !sum_at) return std::nullopt;
    found_.maximum_at = *maximum_at;
    found_.sum_at = *sum_at;
    return std::move(found_);
  }

 private:
  Expr fail() {
    is_product_ = false;
    return tensor::imm(found_.weight->type(), 0);
  }

  // Of sums and nothing that changes along a row.
  bool is_scale(const Expr& expr) const {
    return loads_any(expr, {sum_}) && !loads_any(expr, {maximum_}) &&
           !analysis::uses(expr, result_.reduce_axes[0].var.get()) && expr->type() == found_.weight->type();
  }
  void add_scale(const Expr& factor, bool divides) {
    if (divides)
      found_.scale = (found_.scale ? found_.scale : tensor::imm(factor->type(), 1)) / factor;
    else
      found_.scale = found_.scale ? found_.scale * factor : factor;
  }

  // The expression without what is the scale's.
  Expr take(const Expr& expr) {
    if (!loads_any(expr, {maximum_, sum_})) return expr;
    if (exponent_of(expr)) {
      if (found_.exponential || expr->type() != found_.weight->type()) return fail();
      found_.exponential = expr;
      return found_.weight;
    }
    if (is_scale(expr)) {
      add_scale(expr, false);
      return tensor::imm(expr->type(), 1);
    }
    if (const auto* cast = tensor::as<tensor::Cast>(expr))
      return tensor::is_float(cast->type().element) ? tensor::cast(cast->type(), take(cast->a)) : fail();
    const auto* binary = tensor::as<tensor::Binary>(expr);
    if (!binary) return fail();
    if (binary->op == tensor::BinaryOp::kMul) {
      const Expr a = take(binary->a);
      return a * take(binary->b);
    }
    if (binary->op != tensor::BinaryOp::kDiv) return fail();
    if (!loads_any(binary->b, {maximum_, sum_})) return take(binary->a) / binary->b;
    if (!is_scale(binary->b)) return fail();
    add_scale(binary->b, true);
    return take(binary->a);
  }

  const Stage& result_;
  const tensor::BufferNode *maximum_, *sum_;
  Weighted found_;
  bool is_product_ = true;
};

// The same of no values: of the sums themselves.
std::optional<Weighted> exponentials_alone(const Stage& sum, const tensor::BufferNode* maximum) {
  const std::optional<std::vector<Expr>> maximum_at = place_in(sum.body, maximum);
  if (!exponent_of(sum.body) || !maximum_at) return std::nullopt;
  Weighted found{.exponential = sum.body,
                 .weight = {},
                 .values = {},
                 .scale = {},
                 .maximum_at = *maximum_at,
                 .sum_at = {}};
  for (const Axis& axis : sum.axes) found.sum_at.emplace_back(axis.var);
  return found;
}

// The values of the result's axes, but the last, of which an element of `stage` is: stage[place] is each element's. Nothing where
// an index of the place is no axis. An axis that the stage lacks has its first value: all give the same.
std::optional<tensor::Substitution> axes_of(const Stage& result, const Stage& stage,
                                            const std::vector<Expr>& place) {
  tensor::Substitution values;
  for (const Axis& axis : result.axes) values[axis.var.get()] = tensor::imm(0);
  std::vector<const tensor::VarNode*> seen = {result.axes.back().var.get()};
  for (size_t d = 0; d < place.size(); ++d) {
    const auto* var = tensor::as<tensor::VarNode>(place[d]);
    const auto axis = std::ranges::find_if(result.axes, [&](const Axis& a) { return a.var.get() == var; });
    if (axis == result.axes.end()) {
      if (tensor::as_int(stage.axes[d].extent) != 1) return std::nullopt;
      continue;
    }
    if (std::ranges::count(seen, var) != 0 || !tensor::structurally_equal(axis->extent, stage.axes[d].extent))
      return std::nullopt;
    seen.push_back(var);
    values[var] = stage.axes[d].var;
  }
  return values;
}

tensor::Substitution at(const Stage& stage, const std::vector<Expr>& place, const Expr& along) {
  tensor::Substitution values;
  for (size_t d = 0; d < place.size(); ++d) values[stage.axes[d].var.get()] = place[d];
  values[stage.reduce_axes[0].var.get()] = along;
  return values;
}

bool is_row_reduction(const Stage& stage, tensor::Combiner combiner) {
  return stage.reduce_axes.size() == 1 && stage.combiner == combiner &&
         (stage.output->element == tensor::Element::kFloat32 ||
          stage.output->element == tensor::Element::kFloat64);
}

// The three stages, if they are a softmax of rows and what it weights.
struct Rows {
  Weighted weighted;
  tensor::Substitution of_maximum, of_sum;  // the result's axes
};

std::optional<Rows> rows_of(const Stage& maximum, const Stage& sum, const Stage& result) {
  if (!is_row_reduction(maximum, tensor::Combiner::kMax) || !is_row_reduction(sum, tensor::Combiner::kSum) ||
      !is_row_reduction(result, tensor::Combiner::kSum) || result.axes.empty() ||
      maximum.output->element != result.output->element || sum.output->element != result.output->element)
    return std::nullopt;
  const Expr &keys = result.reduce_axes[0].extent, along = result.reduce_axes[0].var;
  for (const Stage* stage : {&maximum, &sum})
    if (!tensor::structurally_equal(stage->reduce_axes[0].extent, keys)) return std::nullopt;
  std::optional<Weighted> weighted =
      result.output.same_as(sum.output) ? exponentials_alone(sum, maximum.output.get())
                                        : WeightFinder(result, maximum.output.get(), sum.output.get()).find();
  if (!weighted) return std::nullopt;
  // Both sums are of one exponential, of a score less the greatest of its row.
  const auto* apart = tensor::as<tensor::Binary>(*exponent_of(weighted->exponential));
  const auto* greatest = apart ? tensor::as<tensor::Load>(apart->b) : nullptr;
  if (!apart || apart->op != tensor::BinaryOp::kSub || !greatest ||
      greatest->buffer.get() != maximum.output.get() ||
      loads_any(apart->a, {maximum.output.get(), sum.output.get()}) ||
      !tensor::structurally_equal(
          apart->a, tensor::substitute(maximum.body, at(maximum, weighted->maximum_at, along))) ||
      !tensor::structurally_equal(weighted->exponential,
                                  tensor::substitute(sum.body, at(sum, weighted->sum_at, along))))
    return std::nullopt;
  std::optional<tensor::Substitution> of_maximum = axes_of(result, maximum, weighted->maximum_at),
                                      of_sum = axes_of(result, sum, weighted->sum_at);
  if (!of_maximum || !of_sum) return std::nullopt;
  return Rows{*std::move(weighted), *std::move(of_maximum), *std::move(of_sum)};
}

double lowest(tensor::Element element) {
  return element == tensor::Element::kFloat32 ? std::numeric_limits<float>::lowest()
                                              : std::numeric_limits<double>::lowest();
}

// Adds the stages of the blocks, of which the three then combine what these give.
class BlockMaker {
 public:
  BlockMaker(StateData& data, const Rescale& step, const Stage& result, Rows rows, SymInt block)
      : data_(data),
        rows_(std::move(rows)),
        block_(std::move(block)),
        result_(result),
        maximum_(data.find_stage(step.maximum)->stage),
        sum_(data.find_stage(step.sum)->stage),
        name_(step.result),
        keys_(result_.reduce_axes[0].extent),
        type_{result_.output->element, 1} {}

  // In the order in which they are computed.
  std::vector<StageState> blocks() {
    std::vector<StageState> made;
    const auto add = [&](const char* suffix, Stage stage) {
      StageState& state = made.emplace_back();
      state.name = fresh_stage_name(data_, name_ + suffix);
      std::vector<Expr> extents;
      for (const Axis& axis : stage.axes) extents.push_back(axis.extent);
      state.stage = std::move(stage);
      state.stage.output = tensor::buffer(state.name, type_.element, std::move(extents));
      reset_loops(state);
      return state.stage.output;
    };
    block_maximum_ = add(".max", maximum_of_block());
    exponentials_ = add(".exp", exponentials());
    block_sum_ = add(".sum", sum_of_block());
    if (rows_.weighted.values) values_ = add(".values", values_of_block());
    part_ = add(".part", part());
    return made;
  }

  // What the three are from then on.
  void combine(StageState& maximum, StageState& sum, StageState& result) const {
    const auto combined = [&](StageState& state, const auto& body) {
      const Var b = tensor::var("r0");
      state.stage.reduce_axes = {{b, count()}};
      state.stage.body = body(b);
      reset_loops(state);
    };
    const Expr one_more = result_.axes.back().extent + 1;
    combined(maximum, [&](const Var& b) { return part_of(b, rows_.of_maximum, one_more); });
    combined(sum, [&](const Var& b) {
      const Expr greatest = greatest_at(rows_.of_sum);
      return part_of(b, rows_.of_sum, result_.axes.back().extent) *
             tensor::call(tensor::Intrinsic::kExp, {part_of(b, rows_.of_sum, one_more) - greatest});
    });
    if (rows_.weighted.values)
      combined(result, [&](const Var& b) {
        const Expr apart = part_of(b, {}, one_more) - greatest_at({});
        return part_of(b, {}, result_.axes.back().var) *
               (tensor::call(tensor::Intrinsic::kExp, {apart}) * rows_.weighted.scale);
      });
  }

 private:
  Expr count() const { return ceil_div(SymInt(keys_), block_).expr(); }

  // The block's axis, then those of `like`, whose variables it maps.
  Stage stage_like(const Stage& like, tensor::Substitution& map) const {
    Stage stage;
    stage.axes.push_back({tensor::var("i0"), count()});
    for (const Axis& axis : like.axes) {
      stage.axes.push_back({tensor::var(axis.var->name), axis.extent});
      map[axis.var.get()] = stage.axes.back().var;
    }
    return stage;
  }
  // The same, combined over the keys of the block.
  Stage over_block(const Stage& like, tensor::Combiner combiner, tensor::Substitution& map) const {
    Stage stage = stage_like(like, map);
    stage.reduce_axes = {{tensor::var("r0"), block_.expr()}};
    stage.combiner = combiner;
    return stage;
  }
  static std::vector<Expr> vars_of(const std::vector<Axis>& axes) {
    std::vector<Expr> vars;
    vars.reserve(axes.size());
    for (const Axis& axis : axes) vars.push_back(axis.var);
    return vars;
  }

  // The value at that key, or `beyond` the last key.
  Expr in_block(const Expr& key, const Expr& body, double beyond) const {
    const Expr divides = tensor::divides(block_, SymInt(keys_));
    if (tensor::as_int(divides) == 1) return body;
    return tensor::select(tensor::logical_or(divides, key < keys_), body, tensor::imm(type_, beyond));
  }
  Expr key_of(const Stage& stage, const Var& k) const {
    return Expr(stage.axes[0].var) * block_.expr() + Expr(k);
  }

  // No less than the lowest number, so that of a block of scores of -inf the exponentials are 0, not NaN.
  Stage maximum_of_block() const {
    tensor::Substitution map;
    Stage stage = over_block(maximum_, tensor::Combiner::kMax, map);
    const Expr key = map[maximum_.reduce_axes[0].var.get()] = key_of(stage, stage.reduce_axes[0].var);
    const Expr score =
        tensor::max(tensor::substitute(maximum_.body, map), tensor::imm(type_, lowest(type_.element)));
    stage.body = in_block(key, score, lowest(type_.element));
    return stage;
  }

  Stage exponentials() const {
    tensor::Substitution map;
    Stage stage = stage_like(sum_, map);
    const Var k = tensor::var("k");
    const Expr key = map[sum_.reduce_axes[0].var.get()] = key_of(stage, k);
    const Expr body = replace_loads(tensor::substitute(sum_.body, map), maximum_.output.get(),
                                    [&](const tensor::Load& load) -> Expr {
                                      std::vector<Expr> indices = {stage.axes[0].var};
                                      indices.insert(indices.end(), load.indices.begin(), load.indices.end());
                                      return tensor::load(block_maximum_, std::move(indices));
                                    });
    stage.axes.push_back({k, block_.expr()});
    stage.body = in_block(key, body, 0);
    return stage;
  }

  Stage sum_of_block() const {
    tensor::Substitution map;
    Stage stage = over_block(sum_, tensor::Combiner::kSum, map);
    std::vector<Expr> indices = vars_of(stage.axes);
    indices.push_back(stage.reduce_axes[0].var);
    stage.body = tensor::load(exponentials_, std::move(indices));
    return stage;
  }

  // The block, then where the result's elements find theirs.
  std::vector<Expr> place(const Stage& stage, const std::vector<Expr>& where,
                          const tensor::Substitution& map) const {
    std::vector<Expr> indices = {stage.axes[0].var};
    for (const Expr& index : where) indices.push_back(tensor::substitute(index, map));
    return indices;
  }

  Stage values_of_block() const {
    tensor::Substitution map;
    Stage stage = over_block(result_, tensor::Combiner::kSum, map);
    const Var& k = stage.reduce_axes[0].var;
    std::vector<Expr> indices = place(stage, rows_.weighted.sum_at, map);
    indices.push_back(k);
    const Expr key = map[result_.reduce_axes[0].var.get()] = key_of(stage, k);
    map[rows_.weighted.weight.get()] = tensor::load(exponentials_, std::move(indices));
    stage.body = in_block(key, tensor::substitute(rows_.weighted.values, map), 0);
    return stage;
  }

  // The values, and two columns more: the sum of the exponentials, and the greatest score.
  Stage part() const {
    tensor::Substitution map;
    Stage stage = stage_like(result_, map);
    const Expr columns = stage.axes.back().extent, column = stage.axes.back().var;
    stage.axes.back().extent = columns + 2;
    stage.body = tensor::select(column < columns + 1,
                                tensor::load(block_sum_, place(stage, rows_.weighted.sum_at, map)),
                                tensor::load(block_maximum_, place(stage, rows_.weighted.maximum_at, map)));
    if (values_)
      stage.body = tensor::select(column < columns, tensor::load(values_, vars_of(stage.axes)), stage.body);
    return stage;
  }

  // Of block `b`, for these values of the result's axes.
  Expr part_of(const Var& b, const tensor::Substitution& axes, const Expr& column) const {
    std::vector<Expr> indices = {b};
    for (size_t d = 0; d + 1 < result_.axes.size(); ++d)
      indices.push_back(tensor::substitute(result_.axes[d].var, axes));
    indices.push_back(column);
    return tensor::load(part_, std::move(indices));
  }
  Expr greatest_at(const tensor::Substitution& axes) const {
    std::vector<Expr> indices;
    for (const Expr& index : rows_.weighted.maximum_at) indices.push_back(tensor::substitute(index, axes));
    return tensor::load(maximum_.output, std::move(indices));
  }

  const StateData& data_;
  const Rows rows_;
  const SymInt block_;
  const Stage result_, maximum_, sum_;  // as they were
  const std::string name_;
  const Expr keys_;
  const tensor::Type type_;
  tensor::Buffer block_maximum_, exponentials_, block_sum_, values_, part_;
};

// Only the result reads the sum, and only these two the maximum.
bool are_read_by_result(const StateData& data, const StageState& maximum, const StageState& sum,
                        const StageState& result) {
  const std::vector<const StageState*> of_maximum = data.readers(maximum.stage.output.get()),
                                       of_sum = data.readers(sum.stage.output.get());
  return !data.is_output(maximum) && !data.is_output(sum) && of_maximum.size() == 2 &&
         std::ranges::count(of_maximum, &sum) == 1 && std::ranges::count(of_maximum, &result) == 1 &&
         of_sum.size() == 1 && of_sum[0] == &result;
}

bool is_load(const Expr& expr, const tensor::BufferNode* buffer) {
  const auto* load = tensor::as<tensor::Load>(expr);
  return load && load->buffer.get() == buffer;
}

// Whether the only expressions that load the buffer are such, of which it is a part: `is_such` says so of one.
template <typename IsSuch>
bool is_only_in(const Expr& expr, const tensor::BufferNode* buffer, const IsSuch& is_such) {
  int loads = 0, such = 0;
  tensor::for_each(expr, [&](const Expr& e) {
    loads += is_load(e, buffer) ? 1 : 0;
    such += is_such(e) ? 1 : 0;
    return true;
  });
  return loads == such;
}

// Where only sums are made by blocks: every other reader of the maximum and the sum must compute exp(score - maximum) / sum. A row
// of -inf then still gives NaN, although the maximum of its blocks is the lowest number.
bool are_read_as_softmax(const StateData& data, const StageState& maximum, const StageState& sum) {
  if (data.is_output(maximum) || data.is_output(sum)) return false;
  const tensor::BufferNode *greatest = maximum.stage.output.get(), *total = sum.stage.output.get();
  const auto is_softmax = [&](const StageState* reader) {
    const Expr& body = reader->stage.body;
    return loads_any(body, {total}) &&
           is_only_in(body, total,
                      [&](const Expr& e) {
                        const auto* binary = tensor::as<tensor::Binary>(e);
                        return binary && binary->op == tensor::BinaryOp::kDiv && is_load(binary->b, total);
                      }) &&
           is_only_in(body, greatest, [&](const Expr& e) {
             const Expr* exponent = exponent_of(e);
             const auto* apart = exponent ? tensor::as<tensor::Binary>(*exponent) : nullptr;
             return apart && apart->op == tensor::BinaryOp::kSub && is_load(apart->b, greatest);
           });
  };
  return std::ranges::all_of(data.readers(total), is_softmax) &&
         std::ranges::all_of(data.readers(greatest),
                             [&](const StageState* reader) { return reader == &sum || is_softmax(reader); });
}

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const Rescale& step) {
  for (const std::string& name : {step.result, step.maximum, step.sum})
    if (const std::optional<Illegal> reason = check_untouched(data, data.find_stage(name))) return reason;
  StageState &maximum = *data.find_stage(step.maximum), &sum = *data.find_stage(step.sum),
             &result = *data.find_stage(step.result);
  tensor::Stage whole = result.stage;
  if (&result == &sum) whole.axes.push_back({tensor::var("column"), tensor::imm(0)});
  if (!(&result == &sum ? are_read_as_softmax(data, maximum, sum)
                        : are_read_by_result(data, maximum, sum, result)))
    return Illegal::kNotSoftmax;
  std::optional<Rows> rows = &maximum == &sum ? std::nullopt : rows_of(maximum.stage, sum.stage, whole);
  if (!rows) return Illegal::kNotSoftmax;
  const std::optional<SymInt> block = data.value_of(step.block);
  if (!block) return Illegal::kOpenSize;
  if (!data.require(tensor::less_equal(1, *block)) ||
      !data.require(tensor::less_equal(*block, greatest_part(data, maximum.stage))))
    return Illegal::kBadFactor;
  BlockMaker maker(data, step, whole, *std::move(rows), *block);
  std::vector<StageState> blocks = maker.blocks();
  maker.combine(maximum, sum, result);

  // The blocks read what the result did, so the maximum and what follows from it come after them.
  std::vector<StageState> before, after, later;
  const auto follows = [&](const StageState& stage) {
    return stage.name == step.maximum || std::ranges::any_of(after, [&](const StageState& other) {
             return loads_any(stage.stage.body, {other.stage.output.get()});
           });
  };
  bool is_later = false;
  for (StageState& stage : data.stages) {
    is_later = is_later || stage.name == step.result;
    (is_later ? later : follows(stage) ? after : before).push_back(std::move(stage));
  }
  data.stages = std::move(before);
  for (std::vector<StageState>* more : {&blocks, &after, &later})
    std::ranges::move(*more, std::back_inserter(data.stages));
  return std::nullopt;
}

}  // namespace tf::schedule
