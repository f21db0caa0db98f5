#include "compiler/analysis/region.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "compiler/analysis/simplifier.h"

namespace tf::analysis {
namespace {

using ir::as;
using ir::Binary;
using ir::BinaryOp;

constexpr int64_t kLargestWidth = int64_t{1} << 40;

// A form lies in [low, low + width]; low holds outer variables and open sizes only, width open sizes only.
struct Reach {
  Linear low;
  SymInt width = 0;
};

bool too_wide(const SymInt& width) {
  return !width.is_open() && width > kLargestWidth;
}

class Regions {
 public:
  Regions(const RangeMap& inner, const RangeMap& all, const OpenExtents& open)
      : inner_(inner), open_(open), simplifier_(all) {}

  std::optional<Reach> reach(const Linear& form) {
    if (!is_exact(form)) return std::nullopt;
    Reach out;
    out.low.constant = form.constant;
    for (const Term& term : form.terms) {
      const std::optional<Reach> part = reach(term);
      if (!part || std::abs(term.coefficient) > kLargestWidth) return std::nullopt;
      out.low.add(part->low, term.coefficient);
      if (term.coefficient < 0) add(part->width * term.coefficient, &out.low);
      out.width = out.width + part->width * std::abs(term.coefficient);
      if (too_wide(out.width)) return std::nullopt;
    }
    return out;
  }

  // The form's value, if it holds nothing but open sizes.
  std::optional<SymInt> size(const Linear& form) const {
    for (const Term& term : form.terms)
      if (!is_size(term.atom)) return std::nullopt;
    return SymInt(to_expr(form));
  }

  bool is_size(const Expr& expr) const {
    return !any_variable(expr, [&](const VarNode* var) { return !open_.sizes.contains(var); });
  }

  Simplifier& simplifier() { return simplifier_; }

 private:
  std::optional<Reach> reach(const Term& term) {
    if (!varies(term.atom)) return Reach{atom_form(term.atom, term.range, term.is_data), 0};
    if (const auto* var = as<VarNode>(term.atom))
      if (auto found = open_.extents.find(var); found != open_.extents.end())
        return Reach{constant_form(0), found->second - 1};
    if (const auto* node = as<Binary>(term.atom)) {
      const std::optional<int64_t> divisor = as_int(node->b);
      std::optional<Reach> separated;
      if (node->op == BinaryOp::kFloorDiv && divisor && *divisor > 0) separated = quotient(node->a, *divisor);
      if (node->op == BinaryOp::kFloorMod && divisor && *divisor > 0)
        separated = remainder(node->a, *divisor);
      if (node->op == BinaryOp::kMin || node->op == BinaryOp::kMax) separated = minmax(*node);
      if (node->op == BinaryOp::kMul)
        separated = is_size(node->a) ? multiple(node->b, node->a) : multiple(node->a, node->b);
      if (separated && !better_as_interval(term.range, *separated)) return separated;
    }
    if (!term.range.is_bounded() || term.range.max - term.range.min > kLargestWidth) return std::nullopt;
    return Reach{constant_form(term.range.min), term.range.max - term.range.min};
  }

  // Separation must not make a span wider than what is known anyway.
  static bool better_as_interval(const Interval& range, const Reach& separated) {
    return !separated.width.is_open() && range.is_bounded() && range.max - range.min < separated.width;
  }

  // By an open size, which is positive where it is a factor.
  std::optional<Reach> multiple(const Expr& a, const Expr& factor) {
    if (!is_size(factor)) return std::nullopt;
    std::optional<Reach> inside = reach(simplifier_.linear(a));
    if (!inside) return std::nullopt;
    return Reach{simplifier_.linear(to_expr(inside->low) * factor), inside->width * SymInt(factor)};
  }

  std::optional<Reach> quotient(const Expr& a, int64_t divisor) {
    const std::optional<Reach> inside = reach(simplifier_.linear(a));
    if (!inside) return std::nullopt;
    Reach out{simplifier_.divide(inside->low, divisor), 0};
    const std::optional<SymInt> steps = size(difference(simplifier_.divide(high(*inside), divisor), out.low));
    // Where the start is aligned, the number of blocks is known; otherwise one more may be touched.
    out.width = steps ? *steps : ceil_div(inside->width, SymInt(divisor));
    return out;
  }

  std::optional<Reach> remainder(const Expr& a, int64_t divisor) {
    const std::optional<Reach> inside = reach(simplifier_.linear(a));
    if (!inside) return std::nullopt;
    const Linear steps =
        difference(simplifier_.divide(high(*inside), divisor), simplifier_.divide(inside->low, divisor));
    if (!steps.is_constant() || steps.constant != 0) return std::nullopt;  // wraps around
    return Reach{simplifier_.modulo(inside->low, divisor), inside->width};
  }

  std::optional<Reach> minmax(const Binary& node) {
    const std::optional<Reach> a = reach(simplifier_.linear(node.a)), b = reach(simplifier_.linear(node.b));
    if (!a || !b) return std::nullopt;
    const Expr low_a = to_expr(a->low), low_b = to_expr(b->low);
    const Expr low = node.op == BinaryOp::kMin ? tensor::min(low_a, low_b) : tensor::max(low_a, low_b);
    return Reach{simplifier_.linear(low), max(a->width, b->width)};
  }

  void add(const SymInt& value, Linear* form) {
    if (value.is_open())
      form->add(simplifier_.linear(value.expr()));
    else
      form->constant += value;
  }

  Linear high(const Reach& reach) {
    Linear high = reach.low;
    add(reach.width, &high);
    return high;
  }

  template <typename F>
  static bool any_variable(const Expr& atom, F&& f) {
    bool found = false;
    tensor::for_each(atom, [&](const Expr& node) {
      if (const auto* var = as<VarNode>(node)) found = found || f(var);
      return !found;
    });
    return found;
  }

  bool varies(const Expr& atom) const {
    return atom->type().is_vector() ||
           any_variable(atom, [&](const VarNode* var) { return inner_.contains(var); });
  }

  const RangeMap& inner_;
  const OpenExtents& open_;
  Simplifier simplifier_;
};

std::optional<Span> whole(const Regions& regions, const Expr& extent) {
  if (const auto constant = as_int(extent)) return Span{tensor::imm(0), SymInt(*constant)};
  if (regions.is_size(extent)) return Span{tensor::imm(0), SymInt(extent)};
  return std::nullopt;
}

}  // namespace

std::optional<Region> touched(std::span<const Expr> indices, std::span<const Expr> buffer_extents,
                              const RangeMap& inner, const RangeMap& outer, const OpenExtents& open) {
  TF_CHECK(indices.size() == buffer_extents.size()) << "one index a dimension";
  RangeMap all = outer;
  for (const auto& [var, range] : inner) all[var] = range;
  for (const auto& [var, range] : open.sizes) all[var] = range;
  Regions regions(inner, all, open);
  Region out;
  for (size_t d = 0; d < indices.size(); ++d) {
    std::optional<Span> span;
    if (const auto reach = regions.reach(regions.simplifier().linear(indices[d])))
      span = Span{to_expr(reach->low), reach->width + 1};
    else
      span = whole(regions, buffer_extents[d]);
    if (!span) return std::nullopt;
    out.push_back(*span);
  }
  return out;
}

std::optional<Region> unite(const Region& a, const Region& b, std::span<const Expr> buffer_extents,
                            const RangeMap& ranges, const OpenExtents& open) {
  TF_CHECK(a.size() == b.size()) << "regions of one buffer";
  RangeMap all = ranges;
  for (const auto& [var, range] : open.sizes) all[var] = range;
  const RangeMap nothing_varies;
  Regions regions(nothing_varies, all, open);
  Simplifier& simplifier = regions.simplifier();
  Region out;
  for (size_t d = 0; d < a.size(); ++d) {
    const Linear distance = difference(simplifier.linear(b[d].min), simplifier.linear(a[d].min));
    const std::optional<SymInt> exact = regions.size(distance);
    const Interval gap = interval_of(distance);
    std::optional<Span> span;
    if (exact || (gap.is_bounded() && gap.max < kLargestWidth && gap.min > -kLargestWidth)) {
      const Expr low = simplifier.simplify(tensor::min(a[d].min, b[d].min));
      const SymInt below = min(exact.value_or(SymInt(gap.min)), 0),
                   above = max(exact.value_or(SymInt(gap.max)), 0);
      span = Span{low, max(a[d].extent - below, b[d].extent + above)};
    } else {
      span = whole(regions, buffer_extents[d]);
    }
    if (!span) return std::nullopt;
    out.push_back(*span);
  }
  return out;
}

}  // namespace tf::analysis
