// Weights of few bits in blocks with scales, of domain com.microsoft.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"
#include "compiler/frontends/onnx/quantization.h"
#include "compiler/frontends/onnx/rules/microsoft/products.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;
using Result = absl::StatusOr<NodeId>;

constexpr int64_t kMostWeights = int64_t{1} << 24;  // along one axis

// Weights of `bits` bits in blocks along K, each with a scale and a zero point.
struct Blocks {
  int64_t k, n, bits, size, count;  // count: of blocks along K
};

// Zero points, one for each column and block: packed in bytes, or as numbers like the scales, or left out.
absl::StatusOr<Doubles> zero_points(NodeReader& node, const Blocks& blocks) {
  const auto all = static_cast<size_t>(blocks.n * blocks.count);
  if (!node.has(3)) return Doubles(all, static_cast<double>(int64_t{1} << (blocks.bits - 1)));
  TF_ASSIGN_OR_RETURN(Doubles given, node.constant_floats(3, "zero points"));
  TF_ASSIGN_OR_RETURN(const NodeId operand, node.input(3));
  const int64_t row = ceil_div(blocks.count * blocks.bits, int64_t{8});
  if (tensor::is_float(node.type(operand).element) || blocks.bits == 8) {
    if (given.size() != all)
      return node.invalid(absl::StrCat("it has ", given.size(), " zero points, not ", all));
    return given;
  }
  if (static_cast<int64_t>(given.size()) != blocks.n * row)
    return node.invalid(absl::StrCat("its zero points are ", given.size(), " bytes, not ", blocks.n * row));
  Doubles values;
  for (int64_t n = 0; n < blocks.n; ++n) {
    for (int64_t block = 0; block < blocks.count; ++block) {
      const auto byte = static_cast<int64_t>(given[static_cast<size_t>(n * row + block / 2)]);
      values.push_back(static_cast<double>(block % 2 == 0 ? byte & 15 : byte >> 4));
    }
  }
  return values;
}

// The weights as [K, N].
absl::StatusOr<Doubles> unpacked(NodeReader& node, const Blocks& blocks) {
  TF_ASSIGN_OR_RETURN(const Ints packed, node.constant_ints(1, "weights"));
  TF_ASSIGN_OR_RETURN(const Doubles scales, node.constant_floats(2, "scales"));
  TF_ASSIGN_OR_RETURN(const Doubles zeros, zero_points(node, blocks));
  Ints groups;
  if (node.has(4)) {
    TF_ASSIGN_OR_RETURN(groups, node.constant_ints(4, "groups"));
  }
  const int64_t bytes = blocks.size * blocks.bits / 8;
  if (static_cast<int64_t>(packed.size()) != blocks.n * blocks.count * bytes ||
      scales.size() != zeros.size() || (!groups.empty() && static_cast<int64_t>(groups.size()) != blocks.k))
    return node.invalid("its weights or scales do not fit K, N and block_size");
  if (std::ranges::any_of(groups, [&](int64_t group) { return group < 0 || group >= blocks.count; }))
    return node.invalid(absl::StrCat("its g_idx names a block outside of 0 to ", blocks.count - 1));
  Doubles values(static_cast<size_t>(blocks.k * blocks.n));
  for (int64_t n = 0; n < blocks.n; ++n) {
    for (int64_t k = 0; k < blocks.k; ++k) {
      const int64_t block = k / blocks.size, inside = k % blocks.size;
      const int64_t byte =
          packed[static_cast<size_t>((n * blocks.count + block) * bytes + inside * blocks.bits / 8)];
      const int64_t q = blocks.bits == 8 ? byte : inside % 2 == 0 ? byte & 15 : byte >> 4;
      const int64_t group = groups.empty() ? block : groups[static_cast<size_t>(k)];
      const auto at = static_cast<size_t>(n * blocks.count + group);
      values[static_cast<size_t>(k * blocks.n + n)] = (static_cast<double>(q) - zeros[at]) * scales[at];
    }
  }
  return values;
}

// The weights become f32 while importing.
Result matmul_nbits(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  Blocks blocks{f.attribute("K", int64_t{0}), f.attribute("N", int64_t{0}), f.attribute("bits", int64_t{4}),
                f.attribute("block_size", int64_t{0}), 0};
  if (!f.ok()) return f.status();
  if (blocks.k < 1 || blocks.k > kMostWeights || blocks.n < 1 || blocks.n > kMostWeights ||
      blocks.size < 16 || blocks.size > kMostWeights || blocks.size % 2 != 0)
    return node.invalid(
        absl::StrCat("K is ", blocks.k, ", N is ", blocks.n, ", block_size is ", blocks.size));
  if (blocks.bits != 4 && blocks.bits != 8)
    return node.unsupported(absl::StrCat("weights of ", blocks.bits, " bits are not supported; 4 and 8 are"));
  blocks.count = ceil_div(blocks.k, blocks.size);
  TF_RETURN_IF_ERROR(node.count_made(blocks.k * blocks.n * 4));
  TF_ASSIGN_OR_RETURN(const Doubles values, unpacked(node, blocks));
  Term y = product_of(widened(given), f.floats({blocks.k, blocks.n}, values, Element::kFloat32), {});
  if (f.has(5)) y = y + widened(f.input(5));
  return f.result(cast(y, given.element()));
}

// What four bits stand for: floating-point numbers of four bits, or quantiles of a normal distribution.
constexpr float kFloatsOfFourBits[] = {
    0.0F,  0.0052083333F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -0.0052083333F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
constexpr float kQuantilesOfFourBits[] = {
    -1.0F,        -0.69619280F, -0.52507305F, -0.39491749F, -0.28444138F, -0.18477343F, -0.091050036F, 0.0F,
    0.079580300F, 0.16093020F,  0.24611230F,  0.33791524F,  0.44070983F,  0.56261700F,  0.72295684F,   1.0F};

// The weights are [N, K] in a row, two in a byte, the first in its upper half; each block has a scale.
Result matmul_of_four_bits(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const int64_t k = f.attribute("K", int64_t{0}), n = f.attribute("N", int64_t{0});
  const int64_t size = f.attribute("block_size", int64_t{0}), type = f.attribute("quant_type", int64_t{0});
  if (!f.ok()) return f.status();
  if (k < 1 || k > kMostWeights || n < 1 || n > kMostWeights || size < 1 || type < 0 || type > 1)
    return node.invalid(
        absl::StrCat("K is ", k, ", N is ", n, ", block_size is ", size, ", quant_type is ", type));
  TF_RETURN_IF_ERROR(node.count_made(k * n * 4));
  TF_ASSIGN_OR_RETURN(const Ints packed, node.constant_ints(1, "weights"));
  TF_ASSIGN_OR_RETURN(const Doubles scales, node.constant_floats(2, "scales"));
  if (std::ssize(packed) != ceil_div(k * n, int64_t{2}) || std::ssize(scales) != ceil_div(k * n, size))
    return node.invalid("its weights or scales do not fit K, N and block_size");
  Doubles values;
  for (int64_t i = 0; i < k * n; ++i) {
    const int64_t byte = packed[static_cast<size_t>(i / 2)];
    const auto q = static_cast<size_t>(i % 2 == 0 ? byte >> 4 : byte & 15);
    values.push_back(static_cast<double>(type == 0 ? kFloatsOfFourBits[q] : kQuantilesOfFourBits[q]) *
                     scales[static_cast<size_t>(i / size)]);
  }
  const Term weights = f.floats({n, k}, values, Element::kFloat32);
  return f.result(cast(product_of(widened(given), weights, {.transpose_b = true}), given.element()));
}

// Two numbers of four bits in each byte of the last axis, the first in its lower half → `extent` of them.
Term unpacked_bytes(const Term& x, int64_t extent) {
  Formula& f = x.formula();
  if (!f.ok()) return x;
  Ints shape = x.shape();
  const auto last = static_cast<int64_t>(shape.size());
  shape.push_back(1);
  const Term byte = reshape(x, shape), high = byte / 16.0;
  const Term both = concat({byte - high * 16.0, high}, last);
  shape.pop_back();
  shape.back() *= 2;
  return slice(reshape(both, shape), last - 1, 0, extent);
}

// Rows of a table whose elements are bytes, or packed four bits, in blocks along another axis than rows are taken from.
Result gather_of_blocks(NodeReader& node) {
  Formula f(node);
  const Term table = f.input(0), indices = f.input(1), scales = f.input(2);
  const int64_t rank = table.rank(), bits = f.attribute("bits", int64_t{4});
  const int64_t from = f.axis(f.attribute("gather_axis", int64_t{0}), table.rank());
  int64_t along = f.axis(f.attribute("quantize_axis", int64_t{1}), table.rank());
  const int64_t block = f.attribute("block_size", int64_t{128});
  if (!f.ok()) return f.status();
  const bool apart = node.has_four_bits(table.id()), packed = !apart && bits == 4;
  if (!is_byte(table.element()) || (bits != 4 && bits != 8) || block < 1 || from == along ||
      scales.rank() != rank || (packed && (along != rank - 1 || table.element() != Element::kUInt8)))
    return node.unsupported(absl::StrCat("a table ", to_string(table.type()), " of ", bits,
                                         " bits with blocks of ", block, " along axis ", along,
                                         " is not supported"));
  const auto taken = [&](const Term& x) { return gather(x, indices, from); };
  if (along > from) along += indices.rank() - 1;
  Term q = taken(table);
  if (!f.ok()) return f.status();
  if (packed) q = unpacked_bytes(q, 2 * q.shape().back());
  const auto spread = [&](const Term& x) {
    return f.ok() ? f.term(over_blocks(node, x.id(), q.id(), along, block)) : x;
  };
  q = cast(q, Element::kFloat32);
  if (f.has(3)) {
    const Term zeros = taken(f.input(3));
    if (!f.ok()) return f.status();
    q = q - spread(cast(packed ? unpacked_bytes(zeros, scales.shape().back()) : zeros, Element::kFloat32));
  } else if (!apart && table.element() == Element::kUInt8) {
    q = q - static_cast<double>(int64_t{1} << (bits - 1));
  }
  return f.result(cast(q * spread(widened(taken(scales))), scales.element()));
}

constexpr std::array kFewBitsRules = {NamedRule{"com.microsoft.GatherBlockQuantized", gather_of_blocks},
                                      NamedRule{"com.microsoft.MatMulBnb4", matmul_of_four_bits},
                                      NamedRule{"com.microsoft.MatMulNBits", matmul_nbits}};

}  // namespace

std::span<const NamedRule> microsoft_few_bits_rules() {
  return kFewBitsRules;
}

}  // namespace tf::onnx
