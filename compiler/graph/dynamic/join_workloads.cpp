#include "compiler/graph/dynamic/join_workloads.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/dynamic/polynomial.h"
#include "compiler/tensor/text.h"

namespace tf::graph {
namespace {

using tensor::as;
using tensor::Buffer;
using tensor::Expr;
using tensor::Workload;

absl::Status other_computation(std::string_view what) {
  return absl::NotFoundError(absl::StrCat("the computation is another one at another size: ",
                                          absl::string_view(what.data(), what.size())));
}

template <typename T, typename F>
bool all_equal(std::span<const T> all, F&& of) {
  return std::ranges::all_of(all, [&](const T& each) { return of(each) == of(all[0]); });
}

// What a node is apart from its operands, numbers and the buffers that it reads.
int64_t sort_of(const Expr& expr) {
  int64_t detail = 0;
  if (const auto* unary = as<tensor::Unary>(expr)) detail = static_cast<int64_t>(unary->op);
  if (const auto* binary = as<tensor::Binary>(expr)) detail = static_cast<int64_t>(binary->op);
  if (const auto* call = as<tensor::Call>(expr)) detail = static_cast<int64_t>(call->function);
  return (static_cast<int64_t>(expr->kind()) << 32) + (detail << 16) +
         (static_cast<int64_t>(expr->type().element) << 8) +
         static_cast<int64_t>(tensor::operands(expr).size());
}

class WorkloadJoiner {
 public:
  WorkloadJoiner(Fitter& fitter, std::span<const Workload> at_points,
                 const std::map<size_t, InputBlock>& blocks, Numbers* numbers)
      : fitter_(fitter), all_(at_points), blocks_(blocks), numbers_(numbers) {
    vars_.resize(all_.size());
    buffers_.resize(all_.size());
  }

  absl::StatusOr<JoinedWorkload> run() {
    const Workload& base = all_[0];
    if (!all_equal(all_, [](const Workload& w) { return w.inputs.size(); }) ||
        !all_equal(all_, [](const Workload& w) { return w.stages.size(); }) ||
        !all_equal(all_, [](const Workload& w) { return w.outputs.size(); }))
      return other_computation("it has other operands or steps");
    JoinedWorkload joined;
    Workload out;
    out.label = base.label;
    for (size_t i = 0; i < base.inputs.size(); ++i) {
      tensor::Input input = base.inputs[i];
      if (!all_equal(all_, [&](const Workload& w) { return w.inputs[i].constant; }))
        return other_computation("an operand is a constant");
      const auto at = [&](size_t p) { return all_[p].inputs[i].buffer; };
      note_extents(at);
      if (const auto block = blocks_.find(i); block != blocks_.end()) {
        TF_ASSIGN_OR_RETURN(input.buffer, table(at, block->second, joined.blocks[i]));
      } else {
        TF_ASSIGN_OR_RETURN(input.buffer, buffer(at));
      }
      out.inputs.push_back(std::move(input));
    }
    for (size_t i = 0; i < base.stages.size(); ++i) {
      TF_ASSIGN_OR_RETURN(tensor::Stage stage, stage_of(i));
      out.stages.push_back(std::move(stage));
    }
    for (size_t i = 0; i < base.outputs.size(); ++i) {
      const Buffer& output = buffers_[0].at(base.outputs[i].get());
      for (size_t p = 0; p < all_.size(); ++p)
        if (!buffers_[p].at(all_[p].outputs[i].get()).same_as(output))
          return other_computation("another step is its result");
      out.outputs.push_back(output);
    }
    for (const tensor::Dimension& dim : fitter_.samples().dims) {
      if (!used_.contains(dim.var.get())) continue;
      out.dims.push_back(dim);
      joined.dims.push_back(dim.var);
    }
    for (const auto& [text, quotient] : quotients_) {
      out.dims.push_back(quotient.dim);
      joined.dims.push_back(quotient.value);
    }
    for (auto& [input, begin] : joined.blocks)
      for (Expr& each : begin) each = in_samples(each);
    TF_RETURN_IF_ERROR(tensor::verify(out));
    joined.workload = std::move(out);
    return joined;
  }

 private:
  absl::StatusOr<Expr> number(const std::vector<int64_t>& values) {
    if (numbers_) return own_number(values);
    const std::optional<Expr> fitted = fitter_.fit(values);
    if (!fitted)
      return absl::OutOfRangeError(
          absl::StrCat("a number is ", values[0], ", then ", values[1], ", then ", values[2]));
    const Expr number = tensor::rewrite(*fitted, [&](const Expr& e) {
      const auto* binary = as<tensor::Binary>(e);
      return binary && binary->op == tensor::BinaryOp::kFloorDiv ? Expr(quotient(e)) : e;
    });
    tensor::for_each(number, [&](const Expr& e) {
      if (const auto* var = as<tensor::VarNode>(e)) used_.insert(var);
      return true;
    });
    return number;
  }

  // A line in one of the workload's dimensions, or a new dimension that stands for the number.
  absl::StatusOr<Expr> own_number(const std::vector<int64_t>& values) {
    Expr& known = own_numbers_[values];
    if (known) return known;
    for (const auto& [at, dim] : own_dims_) {
      const Variable own{dim, at};
      if (const auto found = polynomial({&own, 1}, values, 1)) return known = found->expr({&own, 1});
    }
    if (!numbers_->known(values)) note_sum(values);
    std::vector<Expr> nearby;
    for (const auto& [text, own] : quotients_) nearby.push_back(own.value);
    const std::optional<Expr> fitted = numbers_->find(values, nearby);
    if (!fitted)
      return absl::OutOfRangeError(
          absl::StrCat("a number is ", values[0], ", then ", values[1], ", then ", values[2]));
    if (tensor::as_int(*fitted)) return known = *fitted;
    const tensor::Var dim = quotient(*fitted);
    own_dims_.emplace_back(values, dim);
    return known = dim;
  }

  void note_extents(const std::function<Buffer(size_t)>& at) {
    for (int d = 0; numbers_ && d < at(0)->rank(); ++d) {
      std::vector<int64_t> values;
      for (size_t p = 0; p < all_.size(); ++p)
        if (d < at(p)->rank())
          values.push_back(tensor::as_int(at(p)->extents[static_cast<size_t>(d)]).value_or(0));
      const bool differs = std::ranges::count(values, values[0]) < std::ssize(values);
      if (values.size() == all_.size() && differs && numbers_->known(values))
        input_extents_.push_back(values);
    }
  }

  // Of a concatenation: where an operand lies is the sum of extents of neighbours.
  void note_sum(const std::vector<int64_t>& values) {
    for (size_t begin = 0; begin < input_extents_.size(); ++begin) {
      std::vector<int64_t> sum(values.size(), 0);
      for (size_t end = begin; end < input_extents_.size() && sum[0] < values[0]; ++end) {
        for (size_t p = 0; p < sum.size(); ++p) sum[p] += input_extents_[end][p];
        if (sum != values) continue;
        Expr all = tensor::imm(0);
        for (size_t i = begin; i <= end; ++i) all = all + *numbers_->known(input_extents_[i]);
        numbers_->add(all);
        return;
      }
    }
  }

  // The dimension that stands for it.
  tensor::Var quotient(const Expr& value) {
    Quotient& known = quotients_[tensor::to_string(value)];
    if (known.value) return known.dim.var;
    const auto at = [&](const auto& of_dim) {
      tensor::Substitution sizes;
      for (const tensor::Dimension& dim : fitter_.samples().dims)
        sizes[dim.var.get()] = tensor::imm(of_dim(dim));
      return *tensor::as_int(tensor::substitute(value, sizes));
    };
    known.value = value;
    known.dim = {tensor::var(tensor::to_string(value)),
                 std::max<int64_t>(at([](const auto& dim) { return dim.low; }), 0),
                 at([](const auto& dim) { return dim.high; })};
    return known.dim.var;
  }

  // The table of which a point has a block.
  absl::StatusOr<Buffer> table(const std::function<Buffer(size_t)>& at, const InputBlock& block,
                               std::vector<Expr>& begin) {
    std::vector<Expr> extents;
    for (const int64_t extent : block.extents) extents.push_back(tensor::imm(extent));
    const Buffer joined = tensor::buffer(at(0)->name, at(0)->element, std::move(extents));
    for (size_t p = 0; p < all_.size(); ++p) buffers_[p][at(p).get()] = joined;
    for (size_t d = 0; d < block.extents.size(); ++d) {
      std::vector<int64_t> values;
      for (const std::vector<int64_t>& each : block.begin) values.push_back(each[d]);
      if (all_equal(std::span<const int64_t>(values), std::identity())) {
        begin.push_back(tensor::imm(values[0]));
        continue;
      }
      if (numbers_) return other_computation("a part of a table lies elsewhere");
      TF_ASSIGN_OR_RETURN(Expr first, number(values));
      begin.push_back(std::move(first));
    }
    begins_[joined.get()] = begin;
    return joined;
  }

  // Of a number of the joined workload.
  Expr in_samples(const Expr& number) const {
    tensor::Substitution values;
    for (const auto& [text, quotient] : quotients_) values[quotient.dim.var.get()] = quotient.value;
    return tensor::substitute(number, values);
  }

  // The buffer that `at` gives for each point.
  absl::StatusOr<Buffer> buffer(const std::function<Buffer(size_t)>& at) {
    const Buffer base = at(0);
    std::vector<Expr> extents;
    for (size_t p = 1; p < all_.size(); ++p)
      if (at(p)->rank() != base->rank() || at(p)->element != base->element)
        return other_computation("a tensor has another type");
    for (size_t d = 0; d < base->extents.size(); ++d) {
      TF_ASSIGN_OR_RETURN(Expr extent, join([&](size_t p) { return at(p)->extents[d]; }));
      extents.push_back(std::move(extent));
    }
    const Buffer joined =
        tensor::buffer(base->name, base->element, std::move(extents), base->scope, base->layout);
    for (size_t p = 0; p < all_.size(); ++p) buffers_[p][at(p).get()] = joined;
    return joined;
  }

  absl::StatusOr<std::vector<tensor::Axis>> axes(
      const std::function<const std::vector<tensor::Axis>&(size_t)>& at) {
    std::vector<tensor::Axis> joined;
    for (size_t p = 1; p < all_.size(); ++p)
      if (at(p).size() != at(0).size()) return other_computation("a step has other axes");
    for (size_t i = 0; i < at(0).size(); ++i) {
      const tensor::Var var = at(0)[i].var;
      TF_ASSIGN_OR_RETURN(Expr extent, join([&](size_t p) { return at(p)[i].extent; }));
      for (size_t p = 0; p < all_.size(); ++p) vars_[p][at(p)[i].var.get()] = var;
      joined.push_back({var, std::move(extent)});
    }
    return joined;
  }

  absl::StatusOr<tensor::Stage> stage_of(size_t number) {
    const auto at = [&](size_t p) -> const tensor::Stage& { return all_[p].stages[number]; };
    tensor::Stage stage;
    for (size_t p = 1; p < all_.size(); ++p)
      if (at(p).combiner != at(0).combiner) return other_computation("a step combines in another way");
    stage.combiner = at(0).combiner;
    TF_ASSIGN_OR_RETURN(stage.axes, axes([&](size_t p) -> const auto& { return at(p).axes; }));
    TF_ASSIGN_OR_RETURN(stage.reduce_axes, axes([&](size_t p) -> const auto& { return at(p).reduce_axes; }));
    TF_ASSIGN_OR_RETURN(stage.body, join([&](size_t p) { return at(p).body; }));
    TF_ASSIGN_OR_RETURN(stage.output, buffer([&](size_t p) { return at(p).output; }));
    return stage;
  }

  absl::StatusOr<Expr> join(const std::function<Expr(size_t)>& at) {
    std::vector<Expr> all;
    for (size_t p = 0; p < all_.size(); ++p) all.push_back(at(p));
    return join(all);
  }

  absl::StatusOr<Expr> join(const std::vector<Expr>& all) {
    const Expr& base = all[0];
    const bool is_alike =
        std::ranges::all_of(all, [&](const Expr& each) { return sort_of(each) == sort_of(base); });
    if (!is_alike) return join_sums(all);
    if (as<tensor::IntImm>(base)) return integers(all);
    if (as<tensor::FloatImm>(base)) return floats(all);
    if (as<tensor::VarNode>(base)) {
      for (size_t p = 0; p < all.size(); ++p)
        if (vars_[p].at(as<tensor::VarNode>(all[p])).get() != as<tensor::VarNode>(base))
          return other_computation("a step uses another axis");
      return base;
    }
    std::vector<Expr> operands;
    const size_t count = tensor::operands(base).size();
    for (size_t i = 0; i < count; ++i) {
      TF_ASSIGN_OR_RETURN(Expr operand, join([&](size_t p) { return tensor::operands(all[p])[i]; }));
      operands.push_back(std::move(operand));
    }
    const auto* load = as<tensor::Load>(base);
    if (!load) return tensor::with_operands(base, operands);
    const Buffer& from = buffers_[0].at(load->buffer.get());
    for (size_t p = 0; p < all.size(); ++p)
      if (!buffers_[p].at(as<tensor::Load>(all[p])->buffer.get()).same_as(from))
        return other_computation("a step reads another tensor");
    if (const auto begin = begins_.find(from.get()); begin != begins_.end())
      for (size_t d = 0; d < operands.size(); ++d) operands[d] = operands[d] + begin->second[d];
    return tensor::load(from, std::move(operands));
  }

  // Of sums with a number, which is 0 at some points, where nothing is added.
  absl::StatusOr<Expr> join_sums(const std::vector<Expr>& all) {
    std::vector<Expr> rests, numbers;
    bool any = false;
    for (const Expr& each : all) {
      const auto* sum = as<tensor::Binary>(each);
      const bool is_sum = sum && sum->op == tensor::BinaryOp::kAdd && as<tensor::IntImm>(sum->b);
      any = any || is_sum;
      rests.push_back(is_sum ? sum->a : each);
      numbers.push_back(is_sum ? sum->b : tensor::imm(each->type(), 0));
    }
    if (!any) return other_computation("a step is another expression");
    TF_ASSIGN_OR_RETURN(const Expr rest, join(rests));
    TF_ASSIGN_OR_RETURN(const Expr number, integers(numbers));
    return rest + number;
  }

  absl::StatusOr<Expr> integers(const std::vector<Expr>& all) {
    std::vector<int64_t> values;
    for (const Expr& each : all) values.push_back(as<tensor::IntImm>(each)->value);
    if (all_equal(std::span<const int64_t>(values), std::identity())) return all[0];
    TF_ASSIGN_OR_RETURN(Expr fitted, number(values));
    return tensor::cast(all[0]->type(), fitted);
  }

  // A count of elements as a float, or one divided by it, as means have them.
  absl::StatusOr<Expr> floats(const std::vector<Expr>& all) {
    const tensor::Type type = all[0]->type();
    const auto value = [&](size_t p) { return as<tensor::FloatImm>(all[p])->value; };
    const auto same = [&](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    bool equal = true, whole = true, reciprocal = true;
    std::vector<int64_t> values, divisors;
    for (size_t p = 0; p < all.size(); ++p) {
      const double v = value(p), divisor = std::round(1 / v);
      equal = equal && same(v, value(0)) && std::signbit(v) == std::signbit(value(0));
      whole = whole && std::abs(v) < 1e15 && v == std::trunc(v);
      reciprocal =
          reciprocal && std::abs(divisor) < 1e15 && tensor::round_to_element(type.element, 1 / divisor) == v;
      values.push_back(whole ? static_cast<int64_t>(v) : 0);
      divisors.push_back(reciprocal ? static_cast<int64_t>(divisor) : 0);
    }
    if (equal) return all[0];
    if (!whole && !reciprocal)
      return other_computation(absl::StrCat("a number is ", value(0), ", then ", value(1)));
    TF_ASSIGN_OR_RETURN(const Expr fitted, number(whole ? values : divisors));
    const Expr rounded = tensor::cast(type, fitted);
    return whole ? rounded : tensor::imm(type, 1) / rounded;
  }

  Fitter& fitter_;
  const std::span<const Workload> all_;
  const std::map<size_t, InputBlock>& blocks_;
  std::vector<std::map<const tensor::VarNode*, tensor::Var>> vars_;   // of each point: the joined ones
  std::vector<std::map<const tensor::BufferNode*, Buffer>> buffers_;  // likewise
  std::map<const tensor::BufferNode*, std::vector<Expr>> begins_;     // of tables: where a block begins
  std::set<const tensor::VarNode*> used_;                             // of the dimensions
  struct Quotient {
    Expr value;
    tensor::Dimension dim;
  };
  std::map<std::string, Quotient> quotients_;  // by their text
  Numbers* const numbers_;
  std::map<std::vector<int64_t>, Expr> own_numbers_;
  std::vector<std::pair<std::vector<int64_t>, tensor::Var>> own_dims_;
  std::vector<std::vector<int64_t>> input_extents_;  // those that differ, of one input after the other
};

}  // namespace

absl::StatusOr<JoinedWorkload> join_workloads(Fitter& fitter, std::span<const Workload> at_points,
                                              const std::map<size_t, InputBlock>& blocks, Numbers* numbers) {
  return WorkloadJoiner(fitter, at_points, blocks, numbers).run();
}

}  // namespace tf::graph
