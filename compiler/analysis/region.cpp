#include "compiler/analysis/region.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "compiler/analysis/simplifier.h"

namespace tf::analysis {
namespace {

using ir::as;
using ir::Binary;
using ir::BinaryOp;

constexpr int64_t kLargestWidth = int64_t{1} << 40;

// A form lies in [low, low + width]; low holds outer variables only.
struct Reach {
  Linear low;
  int64_t width = 0;
};

class Regions {
 public:
  Regions(const RangeMap& inner, const RangeMap& all) : inner_(inner), simplifier_(all) {}

  std::optional<Reach> reach(const Linear& form) {
    Reach out;
    out.low.constant = form.constant;
    for (const Term& term : form.terms) {
      const std::optional<Reach> part = reach(term);
      if (!part || std::abs(term.coefficient) > kLargestWidth) return std::nullopt;
      out.low.add(part->low, term.coefficient);
      if (term.coefficient < 0) out.low.constant += term.coefficient * part->width;
      out.width += std::abs(term.coefficient) * part->width;
      if (out.width > kLargestWidth) return std::nullopt;
    }
    return out;
  }

  Simplifier& simplifier() { return simplifier_; }

 private:
  std::optional<Reach> reach(const Term& term) {
    if (!varies(term.atom)) return Reach{atom_form(term.atom, term.range), 0};
    if (const auto* node = as<Binary>(term.atom)) {
      const std::optional<int64_t> divisor = as_int(node->b);
      std::optional<Reach> separated;
      if (node->op == BinaryOp::kFloorDiv && divisor && *divisor > 0) separated = quotient(node->a, *divisor);
      if (node->op == BinaryOp::kFloorMod && divisor && *divisor > 0)
        separated = remainder(node->a, *divisor);
      if (node->op == BinaryOp::kMin || node->op == BinaryOp::kMax) separated = minmax(*node);
      if (separated && !better_as_interval(term.range, *separated)) return separated;
    }
    if (!term.range.is_bounded() || term.range.max - term.range.min > kLargestWidth) return std::nullopt;
    return Reach{constant_form(term.range.min), term.range.max - term.range.min};
  }

  // Separation must not make a span wider than what is known anyway.
  static bool better_as_interval(const Interval& range, const Reach& separated) {
    return range.is_bounded() && range.max - range.min < separated.width;
  }

  std::optional<Reach> quotient(const Expr& a, int64_t divisor) {
    const std::optional<Reach> inside = reach(simplifier_.linear(a));
    if (!inside) return std::nullopt;
    Linear high = inside->low;
    high.constant += inside->width;
    Reach out{simplifier_.divide(inside->low, divisor), 0};
    const Linear steps = difference(simplifier_.divide(high, divisor), out.low);
    // Where the start is aligned, the number of blocks is known; otherwise one more may be touched.
    out.width = steps.is_constant() ? steps.constant : (inside->width + divisor - 1) / divisor;
    return out;
  }

  std::optional<Reach> remainder(const Expr& a, int64_t divisor) {
    const std::optional<Reach> inside = reach(simplifier_.linear(a));
    if (!inside) return std::nullopt;
    Linear high = inside->low;
    high.constant += inside->width;
    const Linear steps =
        difference(simplifier_.divide(high, divisor), simplifier_.divide(inside->low, divisor));
    if (!steps.is_constant() || steps.constant != 0) return std::nullopt;  // wraps around
    return Reach{simplifier_.modulo(inside->low, divisor), inside->width};
  }

  std::optional<Reach> minmax(const Binary& node) {
    const std::optional<Reach> a = reach(simplifier_.linear(node.a)), b = reach(simplifier_.linear(node.b));
    if (!a || !b) return std::nullopt;
    const Expr low_a = to_expr(a->low), low_b = to_expr(b->low);
    const Expr low = node.op == BinaryOp::kMin ? tensor::min(low_a, low_b) : tensor::max(low_a, low_b);
    return Reach{simplifier_.linear(low), std::max(a->width, b->width)};
  }

  bool varies(const Expr& atom) const {
    bool found = atom->type().is_vector();
    tensor::for_each(atom, [&](const Expr& node) {
      if (const auto* var = as<VarNode>(node)) found = found || inner_.contains(var);
      return !found;
    });
    return found;
  }

  const RangeMap& inner_;
  Simplifier simplifier_;
};

std::optional<Span> whole(const Expr& extent) {
  const std::optional<int64_t> constant = as_int(extent);
  if (!constant) return std::nullopt;
  return Span{tensor::imm(0), *constant};
}

}  // namespace

std::optional<Region> touched(std::span<const Expr> indices, std::span<const Expr> buffer_extents,
                              const RangeMap& inner, const RangeMap& outer) {
  TF_CHECK(indices.size() == buffer_extents.size()) << "one index a dimension";
  RangeMap all = outer;
  for (const auto& [var, range] : inner) all[var] = range;
  Regions regions(inner, all);
  Region out;
  for (size_t d = 0; d < indices.size(); ++d) {
    std::optional<Span> span;
    if (const auto reach = regions.reach(regions.simplifier().linear(indices[d])))
      span = Span{to_expr(reach->low), reach->width + 1};
    else
      span = whole(buffer_extents[d]);
    if (!span) return std::nullopt;
    out.push_back(*span);
  }
  return out;
}

std::optional<Region> unite(const Region& a, const Region& b, std::span<const Expr> buffer_extents,
                            const RangeMap& ranges) {
  TF_CHECK(a.size() == b.size()) << "regions of one buffer";
  Simplifier simplifier(ranges);
  Region out;
  for (size_t d = 0; d < a.size(); ++d) {
    const Interval gap = interval_of(difference(simplifier.linear(b[d].min), simplifier.linear(a[d].min)));
    std::optional<Span> span;
    if (gap.is_bounded() && gap.max < kLargestWidth && gap.min > -kLargestWidth) {
      const Expr low = simplifier.simplify(tensor::min(a[d].min, b[d].min));
      span = Span{low, std::max(a[d].extent - std::min<int64_t>(gap.min, 0),
                                b[d].extent + std::max<int64_t>(gap.max, 0))};
    } else {
      span = whole(buffer_extents[d]);
    }
    if (!span) return std::nullopt;
    out.push_back(*span);
  }
  return out;
}

Region clamp(const Region& region, std::span<const Expr> buffer_extents, const RangeMap& ranges) {
  TF_CHECK(region.size() == buffer_extents.size()) << "one span a dimension";
  Simplifier simplifier(ranges);
  Region out;
  for (size_t d = 0; d < region.size(); ++d) {
    const std::optional<int64_t> extent = as_int(buffer_extents[d]);
    if (extent && region[d].extent >= *extent)
      out.push_back({tensor::imm(0), *extent});
    else
      out.push_back({simplifier.simplify(tensor::max(region[d].min, tensor::imm(0))), region[d].extent});
  }
  return out;
}

}  // namespace tf::analysis
