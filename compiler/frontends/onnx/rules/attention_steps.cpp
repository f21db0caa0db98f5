#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/onnx/rules/attention.h"

namespace tf::onnx {

using tensor::Element;
using tensor::Expr;
using Extents = std::vector<Expr>;

Term split_heads(const Term& x, int64_t heads) {
  Formula& f = x.formula();
  if (!f.ok()) return x;
  const std::vector<int64_t> shape = x.shape();
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0)
    return f.invalid(absl::StrCat(heads, " heads of ", to_string(x.type())));
  const Extents e = x.extents();
  const Extents split = {e[0], e[1], tensor::imm(heads), tensor::imm(shape[2] / heads)};
  return transpose(reshape(x, split), {0, 2, 1, 3});
}

Term merged_heads(const Term& x) {
  if (!x.formula().ok()) return x;
  const Extents e = x.extents();
  return reshape(transpose(x, {0, 2, 1, 3}), Extents{e[0], e[2], e[1] * e[3]});
}

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// What masks of positions hide, as a condition for seeing [batch or 1, 1, queries or 1, keys]; nothing if all is seen.
std::optional<Term> seen_places(Formula& f, const Mask& mask, int64_t queries, int64_t keys) {
  std::optional<Term> seen;
  const auto also = [&](const Term& condition) { seen = seen ? both(*seen, condition) : condition; };
  const Term key = f.iota(keys, 3, 4, Element::kInt64);
  if (mask.causal) {
    Term last = f.iota(queries, 2, 4, Element::kInt64);
    if (mask.past != 0) last = last + static_cast<double>(mask.past);
    if (mask.pasts) last = last + *mask.pasts;
    also(key <= last);
    if (mask.window > 0) also(last < key + static_cast<double>(mask.window));
  }
  if (mask.lengths) also(key < *mask.lengths);
  return seen;
}

Term masked_scores(const Term& scores, const Mask& mask, int64_t queries, int64_t keys) {
  Formula& f = scores.formula();
  Term y = scores;
  if (mask.given) {
    const bool of_bool = mask.given->element() == Element::kBool;
    y = of_bool ? where(*mask.given, y, kHidden) : y + cast(*mask.given, y.element());
  }
  if (const std::optional<Term> seen = seen_places(f, mask, queries, keys)) y = where(*seen, y, kHidden);
  return y;
}

// Whether a query sees any key, [batch or 1, …, queries or 1, 1]; nothing if each does.
std::optional<Term> sees_any(Formula& f, const Mask& mask, int64_t queries, int64_t keys) {
  if (!mask.given && !mask.lengths) return std::nullopt;
  std::optional<Term> seen = seen_places(f, mask, queries, keys);
  if (mask.given) {
    const bool of_bool = mask.given->element() == Element::kBool;
    const Term given = of_bool ? *mask.given : !equal(*mask.given, kHidden);
    seen = seen ? both(*seen, given) : given;
  }
  const Term count = cast(*seen, Element::kInt32);
  if (!f.ok() || count.rank() == 0) return std::nullopt;
  return 0.0 < reduce(graph::ReduceKind::kMax, count, {count.rank() - 1}, true);
}

}  // namespace

AttentionSteps attention(const AttentionOperands& o) {
  Formula& f = o.q.formula();
  if (!f.ok()) return {o.q, o.q, o.q, o.q, o.q};
  const Extents q = o.q.extents(), k = o.k.extents(), v = o.v.extents();
  const auto fail = [&](std::string_view message) {
    const Term failed = f.invalid(message);
    return AttentionSteps{failed, failed, failed, failed, failed};
  };
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return fail("queries, keys and values are not of rank 4");
  const int64_t heads = o.q.shape()[1], kept = o.k.shape()[1], queries = o.q.shape()[2],
                keys = o.k.shape()[2];
  if (kept < 1 || heads % kept != 0 || o.v.shape()[1] != kept)
    return fail(absl::StrCat(heads, " heads of queries do not share ", kept, " of keys and values"));
  // Heads of queries that share keys are an axis of their own, along which keys are broadcast.
  const bool shares = heads != kept;
  const Expr group = tensor::imm(heads / kept), one = tensor::imm(1);
  const auto grouped = [&](const Term& x, const Extents& e, const Expr& each) {
    return shares ? reshape(x, Extents{e[0], tensor::imm(kept), each, e[2], e[3]}) : x;
  };
  const auto flat = [&](const Term& x, const Expr& columns) {
    return shares ? reshape(x, Extents{q[0], tensor::imm(heads), q[2], columns}) : x;
  };
  // Halves are scaled first: their products might overflow.
  const bool half = tensor::element_bytes(o.q.element()) == 2;
  const Term queries_of = half && o.scale != 1 ? o.q * o.scale : o.q;
  Term scores = flat(matmul(grouped(queries_of, q, group),
                            grouped(transpose(o.k, {0, 1, 3, 2}), {k[0], k[1], k[3], k[2]}, one)),
                     k[2]);
  if (!half && o.scale != 1) scores = scores * o.scale;
  const Term capped = o.softcap > 0 ? tanh(scores / o.softcap) * o.softcap : scores;
  const Term masked = masked_scores(capped, o.mask, queries, keys);
  const bool widens = o.softmax_element &&
                      tensor::element_bytes(*o.softmax_element) > tensor::element_bytes(masked.element());
  const Term weights = cast(softmax(widens ? cast(masked, *o.softmax_element) : masked, 3), masked.element());
  Term result = flat(matmul(grouped(weights, {q[0], q[1], q[2], k[2]}, group), grouped(o.v, v, one)), v[3]);
  // The weights of a query that sees nothing are no numbers, but its result is zero.
  if (const std::optional<Term> any = sees_any(f, o.mask, queries, keys)) result = where(*any, result, 0.0);
  return {scores, capped, masked, weights, result};
}

Term rotated(const Term& x, const Term& cos, const Term& sin, bool interleaved) {
  Formula& f = x.formula();
  if (!f.ok()) return x;
  const int64_t size = x.shape()[3], half = cos.shape().back();
  if (2 * half > size || sin.shape().back() != half)
    return f.invalid(absl::StrCat("angles for ", 2 * half, " columns, of ", size));
  const Term turned = slice(x, 3, 0, 2 * half);
  const Term a = interleaved ? slice(turned, 3, 0, half, 2) : slice(turned, 3, 0, half);
  const Term b = interleaved ? slice(turned, 3, 1, half, 2) : slice(turned, 3, half, half);
  const Term real = a * cos - b * sin, imaginary = a * sin + b * cos;
  Term y = turned;
  if (interleaved) {
    const auto column = [&](const Term& part) {
      Extents e = part.extents();
      e.push_back(tensor::imm(1));
      return reshape(part, std::move(e));
    };
    if (!f.ok()) return x;
    y = reshape(concat(std::vector<Term>{column(real), column(imaginary)}, 4), turned.extents());
  } else {
    y = concat(std::vector<Term>{real, imaginary}, 3);
  }
  return 2 * half == size ? y : concat(std::vector<Term>{y, slice(x, 3, 2 * half, size - 2 * half)}, 3);
}

}  // namespace tf::onnx
