// Attention and rotary position embeddings of domain com.microsoft.
#include "compiler/frontends/onnx/rules/microsoft/attention.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/onnx/rules/attention.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using tensor::Expr;
using Ints = std::vector<int64_t>;
using Extents = std::vector<Expr>;
using Result = absl::StatusOr<NodeId>;

// What is added to scores [batch, heads, queries, keys]: the filter's value where a mask of 0 and 1 [batch, keys] or
// [batch, queries, keys], or keys' lengths [batch] (or ends and starts [2 * batch]), hide a key.
Term padding_bias(Formula& f, const Term& mask, int64_t batch, int64_t keys) {
  const double filter = f.attribute("mask_filter_value", -10000.0);
  if (!f.ok()) return mask;
  const Ints shape = mask.shape();
  const Term nothing = f.scalar(0, Element::kFloat32);
  const auto hidden_unless = [&](const Term& seen) { return where(seen, nothing, filter); };
  if (shape.size() == 2 && shape[1] == keys)
    return hidden_unless(0.0 < reshape(mask, {shape[0], 1, 1, keys}));
  if (shape.size() == 3 && shape[2] == keys)
    return hidden_unless(0.0 < reshape(mask, {shape[0], 1, shape[1], keys}));
  const Term key = f.iota(keys, 3, 4, mask.element());
  if (shape.size() == 1 && shape[0] == batch) return hidden_unless(key < reshape(mask, {batch, 1, 1, 1}));
  if (shape.size() == 1 && shape[0] == 2 * batch) {
    const auto half = [&](int64_t start) { return reshape(slice(mask, 0, start, batch), {batch, 1, 1, 1}); };
    return hidden_unless(both(key < half(0), half(batch) <= key));
  }
  return f.unsupported("a mask of " + to_string(mask.type()) + " is not supported");
}

// Both added up, where they are there.
std::optional<Term> with_bias(const std::optional<Term>& a, const std::optional<Term>& b) {
  if (!a || !b) return a ? a : b;
  return *a + cast(*b, a->element());
}

double scale_of(Formula& f, const Term& q) {
  const double given = f.attribute("scale", 0.0);
  return given != 0 || !f.ok() ? given : 1 / std::sqrt(static_cast<double>(q.shape()[3]));
}

Term columns_of(const Term& x, int64_t start, int64_t size) {
  return slice(x, 2, start, size);
}

// x [batch, heads, rows, size] behind the past.
Term behind(const std::optional<Term>& past, const Term& x) {
  return past ? concat(std::vector<Term>{*past, x}, 2) : x;
}

// Half i of [2, …].
Term half_of(const Term& both_halves, int64_t i) {
  Extents extents = both_halves.extents();
  extents.erase(extents.begin());
  return reshape(slice(both_halves, 0, i, 1), std::move(extents));
}

Term with_leading_axis(const Term& x) {
  Extents extents = x.extents();
  extents.insert(extents.begin(), tensor::imm(1));
  return reshape(x, std::move(extents));
}

}  // namespace

Term packed_attention(Formula& f, const PackedAttention& packed) {
  const int64_t heads = f.attribute("num_heads", int64_t{0});
  for (const char* name : {"do_rotary", "past_present_share_buffer"})
    if (f.attribute(name, int64_t{0}) != 0)
      return f.unsupported(absl::StrCat("attribute '", name, "' is not supported"));
  if (!f.ok()) return packed.projected;
  const Ints shape = packed.projected.shape();
  if (shape.size() != 3 || heads < 1)
    return f.invalid(absl::StrCat(heads, " heads of ", to_string(packed.projected.type())));
  const absl::StatusOr<Ints> sizes =
      f.node().ints_attribute("qkv_hidden_sizes", {shape[2] / 3, shape[2] / 3, shape[2] / 3});
  if (!sizes.ok()) return f.fail(sizes.status());
  if (sizes->size() != 3 || (*sizes)[0] != (*sizes)[1] || (*sizes)[0] < 1 || (*sizes)[2] < 1 ||
      (*sizes)[0] + (*sizes)[1] + (*sizes)[2] != shape[2])
    return f.invalid("its projection does not fit the sizes of queries, keys and values");
  const int64_t q = (*sizes)[0], k = (*sizes)[1], v = (*sizes)[2];
  AttentionOperands o{split_heads(columns_of(packed.projected, 0, q), heads),
                      split_heads(columns_of(packed.projected, q, k), heads),
                      split_heads(columns_of(packed.projected, q + k, v), heads)};
  if (!f.ok()) return packed.projected;
  if (packed.past) {
    if (packed.past->rank() != 5) return f.invalid("its past is " + to_string(packed.past->type()));
    o.mask.past = packed.past->shape()[3];
    o.k = behind(half_of(*packed.past, 0), o.k);
    o.v = behind(half_of(*packed.past, 1), o.v);
  }
  o.scale = scale_of(f, o.q);
  o.mask.causal = f.attribute("unidirectional", int64_t{0}) != 0;
  if (!f.ok()) return packed.projected;
  if (packed.mask) o.mask.given = padding_bias(f, *packed.mask, shape[0], o.k.shape()[2]);
  o.mask.given = with_bias(o.mask.given, packed.bias);
  if (f.node().has_output(1))
    f.set_output(1, concat(std::vector<Term>{with_leading_axis(o.k), with_leading_axis(o.v)}, 0));
  return merged_heads(attention(o).result);
}

namespace {

// input, weights, bias, mask_index, past, attention_bias.
Result microsoft_attention_rule(NodeReader& node) {
  Formula f(node);
  Term projected = matmul(f.input(0), f.input(1));
  if (f.has(2)) projected = projected + f.input(2);
  PackedAttention packed{.projected = projected};
  if (f.has(3)) packed.mask = f.input(3);
  if (f.has(4)) packed.past = f.input(4);
  if (f.has(5)) packed.bias = f.input(5);
  return f.result(packed_attention(f, packed));
}

// Part i of x [batch, rows, heads, parts, size] as [batch, heads, rows, size].
Term packed_part(const Term& x, int64_t i) {
  if (!x.formula().ok()) return x;
  const Extents e = x.extents();
  return transpose(reshape(slice(x, 3, i, 1), Extents{e[0], e[1], e[2], e[4]}), {0, 2, 1, 3});
}

// Queries, keys and values by heads: apart, the latter two or all three packed, or the latter two by heads already. The
// bias is that of all three in a row.
AttentionOperands operands_by_heads(Formula& f, int64_t heads) {
  const Term q = f.input(0);
  const int rank_of_key = f.has(1) ? f.input(1).rank() : 0;
  const bool biases = f.has(3);
  if (f.ok() && biases && (q.rank() != 3 || rank_of_key != 3))
    f.unsupported("a bias of packed operands is not supported");
  if (q.rank() == 5) return {packed_part(q, 0), packed_part(q, 1), packed_part(q, 2)};
  if (rank_of_key == 5)
    return {split_heads(q, heads), packed_part(f.input(1), 0), packed_part(f.input(1), 1)};
  if (rank_of_key == 4) return {split_heads(q, heads), f.input(1), f.input(2)};
  int64_t start = 0;
  const auto part = [&](int i) {
    Term x = f.input(i);
    if (!biases || !f.ok() || x.rank() != 3) return split_heads(x, heads);
    const int64_t size = x.shape()[2];
    x = x + slice(f.input(3), 0, start, size);
    start += size;
    return split_heads(x, heads);
  };
  const Term first = part(0), second = part(1), third = part(2);
  return {first, second, third};
}

Result multi_head_attention(NodeReader& node) {
  Formula f(node);
  const int64_t heads = f.attribute("num_heads", int64_t{0});
  AttentionOperands o = operands_by_heads(f, heads);
  if (!f.ok()) return f.status();
  if (node.has_output(3)) return node.unsupported("its output of scores is not supported");
  if (f.has(6) != f.has(7)) return node.invalid("past keys and past values are given together");
  if (f.has(6)) {
    o.mask.past = f.input(6).rank() == 4 ? f.input(6).shape()[2] : 0;
    o.k = behind(f.input(6), o.k);
    o.v = behind(f.input(7), o.v);
  }
  o.scale = scale_of(f, o.q);
  o.mask.causal = f.attribute("unidirectional", int64_t{0}) != 0;
  if (!f.ok()) return f.status();
  // Which keys a row sees is said of rows that have a key each.
  if (o.mask.causal && o.k.shape()[2] != o.mask.past + o.q.shape()[2])
    return node.unsupported(
        "attribute 'unidirectional' is not supported with other keys than those of the rows");
  if (f.has(4)) o.mask.given = padding_bias(f, f.input(4), o.q.shape()[0], o.k.shape()[2]);
  if (f.has(5)) o.mask.given = with_bias(o.mask.given, f.input(5));
  if (node.has_output(1)) f.set_output(1, identity(o.k));
  if (node.has_output(2)) f.set_output(2, identity(o.v));
  return f.result(merged_heads(attention(o).result));
}

// Positions are one number, that of the first row, or one for each row.
Result microsoft_rotary_embedding(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), positions = f.input(1);
  const int64_t turned = f.attribute("rotary_embedding_dim", int64_t{0});
  int64_t heads = f.attribute("num_heads", int64_t{0});
  if (f.attribute("scale", 1.0) != 1) return node.unsupported("attribute 'scale' is not supported");
  if (f.attribute("is_packed_batching", int64_t{0}) != 0)
    return node.unsupported("packed batches are not supported");
  const bool interleaved = f.attribute("interleaved", int64_t{0}) != 0;
  if (!f.ok()) return f.status();
  if (f.input(2).rank() != 2) return node.invalid("cosines are " + to_string(f.input(2).type()));
  const int64_t columns = 2 * f.input(2).shape()[1];
  if (turned != 0 && turned != columns)
    return node.invalid(absl::StrCat("angles for ", columns, " columns, not ", turned));
  const bool flat = given.rank() == 3;
  if (flat && heads == 0) heads = given.shape()[2] / columns;
  const Term x = flat ? split_heads(given, heads) : given;
  if (!f.ok()) return f.status();
  if (x.rank() != 4) return node.invalid("it needs rank 3 or 4, not " + to_string(given.type()));
  const int64_t rows = x.shape()[2];
  const Term places = positions.rank() == 1
                          ? f.iota(rows, 1, 2, positions.element()) + reshape(positions, Ints{1, 1})
                          : positions;
  const auto angles = [&](int i) {
    const Term taken = gather(f.input(i), places, 0);
    const Extents e = taken.extents();
    return f.ok() ? reshape(taken, Extents{e[0], tensor::imm(1), e[1], e[2]}) : taken;
  };
  const Term y =
      cast(rotated(widened(x), widened(angles(2)), widened(angles(3)), interleaved), given.element());
  return f.result(flat ? merged_heads(y) : y);
}

// Queries and the keys and values that they share, apart or side by side, by heads.
AttentionOperands shared_operands(Formula& f, int64_t heads, int64_t kept) {
  const Term q = f.input(0);
  if (!f.ok() || f.has(1))
    return {split_heads(q, heads), split_heads(f.input(1), kept), split_heads(f.input(2), kept)};
  const int64_t columns = q.shape().back();
  if (q.rank() != 3 || columns % (heads + 2 * kept) != 0) f.invalid("its operand is " + to_string(q.type()));
  if (!f.ok()) return {q, q, q};
  const int64_t size = columns / (heads + 2 * kept);
  return {split_heads(columns_of(q, 0, heads * size), heads),
          split_heads(columns_of(q, heads * size, kept * size), kept),
          split_heads(columns_of(q, (heads + kept) * size, kept * size), kept)};
}

// Rows from `first` on of the caches of cosines and sines.
Term turned_from(Formula& f, const Term& x, int64_t first) {
  const bool interleaved = f.attribute("rotary_interleaved", int64_t{0}) != 0;
  if (!f.ok()) return x;
  const auto angles = [&](int i) {
    const Term cache = f.input(i);
    if (!f.ok()) return cache;
    const int64_t rows = x.shape()[2];
    if (cache.rank() != 2 || cache.shape()[0] < first + rows)
      return f.invalid("cosines or sines are " + to_string(cache.type()));
    return reshape(slice(cache, 0, first, rows), Ints{1, 1, rows, cache.shape()[1]});
  };
  return cast(rotated(widened(x), widened(angles(7)), widened(angles(8)), interleaved), x.element());
}

// Rows of a batch of one, or of a first call without past: there the rows before the new ones are as many for all.
Result group_query_attention(NodeReader& node) {
  Formula f(node);
  const int64_t heads = f.attribute("num_heads", int64_t{0}), kept = f.attribute("kv_num_heads", int64_t{0});
  for (const char* name : {"smooth_softmax", "qk_output"})
    if (node.has_attribute(name) && f.attribute(name, int64_t{0}) > 0)
      return node.unsupported(absl::StrCat("attribute '", name, "' is not supported"));
  for (int i : {9, 11})
    if (f.has(i)) return node.unsupported(absl::StrCat("its operand ", i, " is not supported"));
  if (heads < 1 || kept < 1) return node.invalid(absl::StrCat("it has ", heads, " and ", kept, " heads"));
  AttentionOperands o = shared_operands(f, heads, kept);
  const int64_t total = f.known_int(6, "total length");
  if (!f.ok()) return f.status();
  const int64_t rows = o.q.shape()[2], past = total - rows;
  if (past != 0 && o.q.shape()[0] != 1)
    return node.unsupported("past keys of a batch of more than one are not supported");
  if (f.has(3) != f.has(4) || past < 0 || (past > 0 && !f.has(3)))
    return node.invalid("its past does not fit its length");
  if (f.attribute("do_rotary", int64_t{0}) != 0) {
    o.q = turned_from(f, o.q, past);
    o.k = turned_from(f, o.k, past);
  }
  // What is stored behind the total length stays there.
  const auto with_past = [&](int i, Term& x) {
    if (!f.has(i)) return x;
    const Term before = f.input(i);
    if (!f.ok()) return before;
    if (before.rank() != 4 || before.shape()[2] < past)
      return f.invalid("its past is " + to_string(before.type()));
    const int64_t length = before.shape()[2];
    if (past > 0) x = concat(std::vector<Term>{slice(before, 2, 0, past), x}, 2);
    return length > total ? concat(std::vector<Term>{x, slice(before, 2, total, length - total)}, 2) : x;
  };
  const Term keys = with_past(3, o.k), values = with_past(4, o.v);
  o.scale = scale_of(f, o.q);
  o.softcap = f.attribute("softcap", 0.0);
  o.mask.causal = true;
  o.mask.past = past;
  o.mask.window = f.attribute("local_window_size", int64_t{-1});
  if (f.has(10)) o.mask.given = f.input(10);
  if (node.has_output(1)) f.set_output(1, identity(keys));
  if (node.has_output(2)) f.set_output(2, identity(values));
  return f.result(merged_heads(attention(o).result));
}

constexpr std::array kMicrosoftAttentionRules = {
    NamedRule{"com.microsoft.GroupQueryAttention", group_query_attention},
    NamedRule{"com.microsoft.Attention", microsoft_attention_rule},
    NamedRule{"com.microsoft.MultiHeadAttention", multi_head_attention},
    NamedRule{"com.microsoft.RotaryEmbedding", microsoft_rotary_embedding}};

}  // namespace

std::span<const NamedRule> microsoft_attention_rules() {
  return kMicrosoftAttentionRules;
}

}  // namespace tf::onnx
