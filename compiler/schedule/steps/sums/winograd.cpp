#include <functional>

#include "base/check.h"
#include "base/whole_division.h"
#include "compiler/schedule/cook_toom.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using tensor::as;
using tensor::Axis;
using tensor::Expr;
using tensor::imm;
using tensor::Load;
using tensor::Stage;
using tensor::Var;

// The two factors of a convolution's body.
struct Factors {
  const Load* data = nullptr;
  const Load* weights = nullptr;
  int input = -1;  // the weights' number
  int64_t taps = 0;
};

bool is_window(const Expr& index, const Axis& axis, const Axis& reduce) {
  return tensor::structurally_equal(index, axis.var + reduce.var) ||
         tensor::structurally_equal(index, reduce.var + axis.var);
}

bool reads_weights(const Stage& s, const Load& load) {
  const Expr wanted[] = {s.axes[1].var, s.reduce_axes[0].var, s.reduce_axes[1].var, s.reduce_axes[2].var};
  if (load.indices.size() != 4) return false;
  for (size_t d = 0; d < 4; ++d)
    if (!load.indices[d].same_as(wanted[d])) return false;
  return true;
}

bool reads_window(const Stage& s, const Load& load) {
  return load.indices.size() == 4 && load.indices[0].same_as(s.axes[0].var) &&
         is_window(load.indices[2], s.axes[2], s.reduce_axes[1]) &&
         is_window(load.indices[3], s.axes[3], s.reduce_axes[2]);
}

std::optional<Factors> match(const StateData& data, const StageState& stage) {
  const Stage& s = stage.stage;
  if (s.axes.size() != 4 || s.reduce_axes.size() != 3 || s.combiner != tensor::Combiner::kSum) return {};
  const int64_t taps = constant_extent(s.reduce_axes[1]);
  if ((taps != 3 && taps != 5) || constant_extent(s.reduce_axes[2]) != taps) return {};
  const auto* product = as<tensor::Binary>(s.body);
  if (!product || product->op != tensor::BinaryOp::kMul ||
      s.body->type() != tensor::Type{tensor::Element::kFloat32, 1})
    return {};
  for (const auto& [a, b] : {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
    Factors factors{as<Load>(a), as<Load>(b), -1, taps};
    if (!factors.data || !factors.weights || !reads_weights(s, *factors.weights) ||
        !reads_window(s, *factors.data))
      continue;
    for (size_t i = 0; i < data.workload.inputs.size(); ++i)
      if (data.workload.inputs[i].buffer.same_as(factors.weights->buffer) && data.workload.inputs[i].constant)
        factors.input = static_cast<int>(i);
    if (factors.input >= 0 && data.readers(factors.weights->buffer.get()).size() == 1) return factors;
  }
  return {};
}

// Σ coefficients[j] * value(j).
Expr linear(const std::vector<double>& coefficients, const std::function<Expr(int64_t)>& value) {
  Expr sum;
  // Terms without a factor first: the others then are one fused operation each.
  for (int rank : {0, 1, 2}) {
    for (size_t j = 0; j < coefficients.size(); ++j) {
      const double c = coefficients[j];
      if (c == 0 || (c == 1 ? 0 : c == -1 ? 1 : 2) != rank) continue;
      const Expr term = value(static_cast<int64_t>(j));
      const Expr scaled = c == 1 || c == -1 ? term : term * imm(term->type(), c);
      if (!sum)
        sum = c == -1 ? -scaled : scaled;
      else
        sum = c == -1 ? sum - scaled : sum + scaled;
    }
  }
  return sum;
}

// Entry `which` of the chain, where `which` is an index expression.
Expr choose(const Expr& which, const std::vector<Expr>& entries) {
  Expr chosen = entries.back();
  for (size_t i = entries.size() - 1; i-- > 0;)
    chosen = tensor::select(tensor::equal(which, imm(static_cast<int64_t>(i))), entries[i], chosen);
  return chosen;
}

// Row `which` of B^T times the column that `value` gives; the rows of a pair share their two halves.
Expr input_transform(const CookToom& c, const Expr& which, const std::function<Expr(int64_t)>& value) {
  const int64_t a = c.points;
  auto combined = [&](int64_t row, int64_t other, double sign) {
    std::vector<double> half;
    for (int64_t j = 0; j < a; ++j)
      half.push_back(
          (c.input[static_cast<size_t>(row * a + j)] + sign * c.input[static_cast<size_t>(other * a + j)]) /
          2);
    return linear(half, value);
  };
  std::vector<Expr> rows = {combined(0, 0, 1)};
  for (int64_t i = 1; i + 1 < a; i += 2) {
    const Expr even = combined(i, i + 1, 1), odd = combined(i, i + 1, -1);
    rows.push_back(even + odd);
    rows.push_back(even - odd);
  }
  rows.push_back(combined(a - 1, a - 1, 1));
  return choose(which, rows);
}

// Row `which` of A^T times the column that `value` gives; even rows share the sums of pairs, odd ones their
// differences.
Expr output_transform(const CookToom& c, const Expr& which, const std::function<Expr(int64_t)>& value) {
  const int64_t a = c.points;
  std::vector<Expr> rows;
  for (int64_t k = 0; k < c.outputs; ++k) {
    std::vector<double> coefficients;
    for (int64_t i = 0; i < a; i += i == 0 ? 1 : 2)
      coefficients.push_back(c.output[static_cast<size_t>(k * a + i)]);
    rows.push_back(linear(coefficients, [&](int64_t i) {
      if (i == 0 || 2 * i == a) return value(i == 0 ? 0 : a - 1);
      return k % 2 == 0 ? value(2 * i - 1) + value(2 * i) : value(2 * i - 1) - value(2 * i);
    }));
  }
  return choose(which, rows);
}

// Adds stages in front of the convolution.
class Rewriter {
 public:
  Rewriter(StateData& data, const std::string& stage, const Factors& factors, int64_t tile)
      : data_(data),
        conv_(stage),
        c_(cook_toom(tile, factors.taps)),
        source_(factors.data->buffer),
        channel_(factors.data->indices[1]),
        weights_(factors.weights->buffer),
        input_(factors.input) {}

  void run() {
    const Stage s = data_.find_stage(conv_)->stage;
    tiles_h_ = ceil_div(constant_extent(s.axes[2]), c_.outputs);
    tiles_w_ = ceil_div(constant_extent(s.axes[3]), c_.outputs);
    const tensor::Buffer mapped = map_weights();
    const tensor::Buffer v = add_columns(add_rows());
    finish(add_product(s, v, mapped));
  }

 private:
  tensor::Buffer map_weights() {
    std::vector<Expr> extents = weights_->extents;
    std::vector<AxisMap> maps;
    for (int axis : {2, 3}) {
      extents[static_cast<size_t>(axis)] = imm(c_.points);
      maps.push_back({axis, c_.points, c_.filter});
    }
    const tensor::Buffer mapped = tensor::buffer(weights_->name, weights_->element, extents);
    data_.workload.inputs[static_cast<size_t>(input_)].buffer = mapped;
    data_.maps["p" + std::to_string(input_)] = std::move(maps);
    return mapped;
  }

  // A stage over `extents` whose body is of its axes' variables.
  tensor::Buffer add(const char* suffix, const std::vector<Expr>& extents, std::vector<Axis> reduce,
                     const std::function<Expr(const std::vector<Var>&)>& body) {
    StageState state;
    state.name = fresh_stage_name(data_, conv_ + suffix);
    std::vector<Var> vars;
    for (size_t d = 0; d < extents.size(); ++d) {
      vars.push_back(tensor::var("i" + std::to_string(d)));
      state.stage.axes.push_back({vars.back(), extents[d]});
    }
    if (!reduce.empty()) state.stage.combiner = tensor::Combiner::kSum;
    state.stage.reduce_axes = std::move(reduce);
    state.stage.output = tensor::buffer(state.name, source_->element, extents);
    state.stage.body = body(vars);
    reset_loops(state);
    const tensor::Buffer output = state.stage.output;
    data_.stages.insert(data_.stages.begin() + (data_.find_stage(conv_) - data_.stages.data()),
                        std::move(state));
    return output;
  }

  tensor::Buffer add_rows() {
    const int64_t height = tensor::as_int(source_->extents[2]).value(),
                  width = tensor::as_int(source_->extents[3]).value();
    const int64_t reach_h = tiles_h_ * c_.outputs + c_.taps - 1,
                  reach_w = tiles_w_ * c_.outputs + c_.taps - 1;
    return add(".bd", {source_->extents[0], source_->extents[1], imm(tiles_h_), imm(c_.points), imm(reach_w)},
               {}, [&](const std::vector<Var>& i) {
                 return input_transform(c_, i[3], [&](int64_t row) {
                   const Expr h = i[2] * c_.outputs + row;
                   Expr inside = tensor::imm({tensor::Element::kBool, 1}, 1);
                   if (reach_h > height) inside = tensor::logical_and(inside, h < imm(height));
                   if (reach_w > width) inside = tensor::logical_and(inside, i[4] < imm(width));
                   const Expr value = tensor::load(source_, {i[0], i[1], h, i[4]});
                   return tensor::select(inside, value, imm(value->type(), 0));
                 });
               });
  }

  tensor::Buffer add_columns(const tensor::Buffer& rows) {
    return add(".v",
               {imm(c_.points), imm(c_.points), source_->extents[0], source_->extents[1], imm(tiles_h_),
                imm(tiles_w_)},
               {}, [&](const std::vector<Var>& i) {
                 return input_transform(c_, i[1], [&](int64_t column) {
                   return tensor::load(rows, {i[2], i[3], i[4], i[0], i[5] * c_.outputs + column});
                 });
               });
  }

  tensor::Buffer add_product(const Stage& s, const tensor::Buffer& v, const tensor::Buffer& mapped) {
    const Var c = tensor::var("r0");
    return add(
        ".m",
        {imm(c_.points), imm(c_.points), s.axes[0].extent, s.axes[1].extent, imm(tiles_h_), imm(tiles_w_)},
        {{c, s.reduce_axes[0].extent}}, [&](const std::vector<Var>& i) {
          const Expr channel =
              tensor::substitute(channel_, {{s.axes[1].var.get(), i[3]}, {s.reduce_axes[0].var.get(), c}});
          return tensor::load(v, {i[0], i[1], i[2], channel, i[4], i[5]}) *
                 tensor::load(mapped, {i[3], c, i[0], i[1]});
        });
  }

  void finish(const tensor::Buffer& product) {
    const Stage s = data_.find_stage(conv_)->stage;
    const int64_t m = c_.outputs;
    const tensor::Buffer rows =
        add(".am", {s.axes[0].extent, s.axes[1].extent, s.axes[2].extent, imm(tiles_w_), imm(c_.points)}, {},
            [&](const std::vector<Var>& i) {
              return output_transform(c_, tensor::floor_mod(i[2], m), [&](int64_t u) {
                return tensor::load(product, {imm(u), i[4], i[0], i[1], tensor::floor_div(i[2], m), i[3]});
              });
            });
    StageState& conv = *data_.find_stage(conv_);
    const std::vector<Axis>& i = conv.stage.axes;
    conv.stage.body = output_transform(c_, tensor::floor_mod(i[3].var, m), [&](int64_t v) {
      return tensor::load(rows, {i[0].var, i[1].var, i[2].var, tensor::floor_div(i[3].var, m), imm(v)});
    });
    conv.stage.reduce_axes.clear();
    conv.stage.combiner.reset();
    reset_loops(conv);
  }

  StateData& data_;
  const std::string conv_;
  const CookToom c_;
  const tensor::Buffer source_;
  const Expr channel_;
  const tensor::Buffer weights_;
  const int input_;
  int64_t tiles_h_ = 0, tiles_w_ = 0;
};

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const Winograd& step) {
  const StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (step.tile != 2 && step.tile != 4 && step.tile != 6) return Illegal::kBadFactor;
  if (stage->place != StageState::Place::kRoot) return Illegal::kAlreadyPlaced;
  if (stage->reshaped) return Illegal::kAlreadySplit;
  if (data.deepest_held_loop(*stage) >= 0 || data.reads_placed(*stage)) return Illegal::kHoldsStages;
  const std::optional<Factors> factors = match(data, *stage);
  if (!factors) return Illegal::kNotWinograd;
  if (step.tile + factors->taps > kMaxPoints + 1) return Illegal::kBadFactor;
  const std::string weights = "p" + std::to_string(factors->input);
  if (data.layouts.contains(weights) || data.maps.contains(weights)) return Illegal::kBadLayout;
  Rewriter(data, step.stage, *factors, step.tile).run();
  return std::nullopt;
}

}  // namespace tf::schedule
