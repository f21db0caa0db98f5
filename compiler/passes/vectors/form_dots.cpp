#include <optional>

#include "compiler/analysis/access.h"
#include "compiler/analysis/simplify.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Expr;
using ir::Stmt;

// The narrow element that a factor widens, perhaps moved by half of a byte's range, so that it has the other
// sign.
struct Factor {
  const ir::Load* load = nullptr;
  int64_t offset = 0;
};
Factor widened(const Expr& factor, tensor::Element wide) {
  if (const auto* sum = as<ir::Binary>(factor); sum && sum->op == ir::BinaryOp::kAdd) {
    const int64_t offset = tensor::as_int(sum->b).value_or(0);
    const Factor moved = widened(sum->a, wide);
    if (moved.load == nullptr || moved.offset != 0) return {};
    const tensor::Element element = moved.load->buffer->element;
    const bool fits = (element == tensor::Element::kInt8 && offset == 128) ||
                      (element == tensor::Element::kUInt8 && offset == -128);
    return fits ? Factor{moved.load, offset} : Factor{};
  }
  const auto* cast = as<ir::Cast>(factor);
  if (!cast || cast->type().element != wide) return {};
  const auto* load = as<ir::Load>(cast->a);
  return load && !load->predicate && load->indices.size() == 1 ? Factor{load} : Factor{};
}

Expr moved(const Expr& bytes, int64_t offset) {
  if (offset == 0) return bytes;
  const tensor::Type other{offset > 0 ? tensor::Element::kUInt8 : tensor::Element::kInt8,
                           bytes->type().lanes};
  return tensor::cast(other, bytes) + tensor::imm(other, static_cast<double>(offset));
}

class DotFormer final : public ir::Rewriter {
 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    const auto* loop = as<ir::For>(stmt);
    if (!loop) return recurse(stmt);
    if (const auto low = tensor::as_int(loop->min), extent = tensor::as_int(loop->extent); low && extent)
      ranges_[loop->var.get()] = analysis::Interval::from_extent(*low, *extent);
    if (std::optional<Stmt> dot = dot_of(*loop)) return *dot;
    return recurse(stmt);
  }

 private:
  std::optional<Stmt> dot_of(const ir::For& terms) {
    const auto group = tensor::as_int(terms.extent);
    const bool in_turn = terms.for_kind == ir::ForKind::kSerial || terms.for_kind == ir::ForKind::kUnrolled;
    if (!group || (*group != 2 && *group != 4) || !in_turn) return std::nullopt;
    const auto* lanes_loop = as<ir::For>(terms.body);
    if (!lanes_loop || lanes_loop->for_kind != ir::ForKind::kVectorized) return std::nullopt;
    const auto first_lane = tensor::as_int(lanes_loop->min), lanes = tensor::as_int(lanes_loop->extent);
    const auto* store = as<ir::Store>(lanes_loop->body);
    if (!first_lane || !lanes || *lanes < 2 || !store || store->predicate || store->indices.size() != 1)
      return std::nullopt;
    ranges_[lanes_loop->var.get()] = analysis::Interval::from_extent(*first_lane, *lanes);

    const auto* sum = as<ir::Binary>(store->value);
    if (!sum || sum->op != ir::BinaryOp::kAdd) return std::nullopt;
    const bool target_first = is_target(sum->a, *store);
    if (!target_first && !is_target(sum->b, *store)) return std::nullopt;
    const auto* product = as<ir::Binary>(target_first ? sum->b : sum->a);
    if (!product || product->op != ir::BinaryOp::kMul) return std::nullopt;
    Factor a = widened(product->a, sum->type().element), b = widened(product->b, sum->type().element);
    if (!a.load || !b.load || !moves(store->indices[0], terms, 0, *lanes_loop, 1)) return std::nullopt;
    if (!moves(b.load->indices[0], terms, 1, *lanes_loop, *group)) std::swap(a, b);
    if (!moves(b.load->indices[0], terms, 1, *lanes_loop, *group) ||
        !moves(a.load->indices[0], terms, 1, *lanes_loop, 0))
      return std::nullopt;

    const tensor::Substitution first = {{terms.var.get(), terms.min},
                                        {lanes_loop->var.get(), lanes_loop->min}};
    auto run = [&](const Expr& index, int64_t count) {
      return tensor::ramp(tensor::substitute(index, first), tensor::imm(1), static_cast<int>(count));
    };
    const Expr at = run(store->indices[0], *lanes);
    auto operand = [&](const Factor& f, int64_t count) {
      return moved(tensor::load(f.load->buffer, {run(f.load->indices[0], count)}), f.offset);
    };
    const std::vector<Expr> operands = {tensor::load(store->buffer, {at}), operand(a, *group),
                                        operand(b, *group * *lanes)};
    if (!tensor::are_dot_operands(operands)) return std::nullopt;
    return ir::store(store->buffer, {at}, tensor::dot(operands[0], operands[1], operands[2]));
  }

  static bool is_target(const Expr& expr, const ir::Store& store) {
    const auto* load = as<ir::Load>(expr);
    return load && !load->predicate && load->buffer.same_as(store.buffer) && load->indices.size() == 1 &&
           tensor::structurally_equal(load->indices[0], store.indices[0]);
  }

  bool moves(const Expr& index, const ir::For& terms, int64_t by_term, const ir::For& lanes,
             int64_t by_lane) {
    return analysis::stride(index, terms.var.get(), ranges_) == by_term &&
           analysis::stride(index, lanes.var.get(), ranges_) == by_lane;
  }

  analysis::RangeMap ranges_;
};

}  // namespace

ir::Function form_dots(const ir::Function& function) {
  ir::Function out = function;
  out.body = DotFormer()(function.body);
  return out;
}

}  // namespace tf::passes
