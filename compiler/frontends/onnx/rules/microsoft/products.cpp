// Products with what follows them, and with weights of few bits, of domain com.microsoft.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"
#include "compiler/frontends/onnx/formula.h"
#include "compiler/frontends/onnx/window.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;
using Result = absl::StatusOr<NodeId>;

// By the name that attribute `activation` gives, with up to two parameters.
Term activated(Formula& f, const Term& x, const Doubles& given) {
  const std::string name = f.attribute("activation", "");
  const auto parameter = [&](size_t i, double otherwise) { return i < given.size() ? given[i] : otherwise; };
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "LeakyRelu") return where(x < 0.0, x * parameter(0, 0.01), x);
  if (name == "HardSigmoid") return min(max(x * parameter(0, 0.2) + parameter(1, 0.5), 0.0), 1.0);
  if (name == "Clip" && given.size() == 2) return min(max(x, given[0]), given[1]);
  return f.unsupported(absl::StrCat("activation '", name, "' is not supported"));
}

// With vectors as rows and columns, as numpy.matmul takes them.
Term product_of(Term a, Term b, graph::MatMul op) {
  Formula& f = a.formula();
  if (!f.ok()) return a;
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) op.transpose_a = false;
  if (column) op.transpose_b = false;
  if (row) a = reshape(a, std::vector<tensor::Expr>{tensor::imm(1), a.extents()[0]});
  if (column) b = reshape(b, std::vector<tensor::Expr>{b.extents()[0], tensor::imm(1)});
  const Term y = matmul(a, b, op);
  if (!f.ok() || (!row && !column)) return y;
  std::vector<tensor::Expr> extents = y.extents();
  if (row) extents.erase(extents.end() - 2);
  if (column) extents.pop_back();
  return reshape(y, std::move(extents));
}

Result fused_matmul(NodeReader& node) {
  Formula f(node);
  const Term a = f.input(0), b = f.input(1);
  const double alpha = f.attribute("alpha", 1.0);
  for (const char* name : {"transBatchA", "transBatchB"})
    if (f.attribute(name, int64_t{0}) != 0) return node.unsupported("transposed batches are not supported");
  const graph::MatMul op{f.attribute("transA", int64_t{0}) != 0, f.attribute("transB", int64_t{0}) != 0};
  if (alpha == 1) return f.result(product_of(a, b, op));
  return f.result(cast(product_of(widened(a), widened(b), op) * alpha, a.element()));
}

Result fused_gemm(NodeReader& node) {
  Formula f(node);
  const Term a = f.input(0);
  const graph::MatMul op{f.attribute("transA", int64_t{0}) != 0, f.attribute("transB", int64_t{0}) != 0};
  const double alpha = f.attribute("alpha", 1.0), beta = f.attribute("beta", 1.0);
  Doubles parameters;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (node.has_attribute(name)) parameters.push_back(f.attribute(name, 0.0));
  if (f.ok() && (a.rank() != 2 || f.input(1).rank() != 2)) return node.invalid("needs two matrices");
  Term y = matmul(widened(a), widened(f.input(1)), op);
  if (alpha != 1) y = y * alpha;
  if (f.has(2)) y = y + (beta == 1 ? widened(f.input(2)) : widened(f.input(2)) * beta);
  return f.result(cast(activated(f, y, parameters), a.element()));
}

// conv(x, w) [+ bias] [+ z], activated.
Result fused_conv(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0), w = f.input(1);
  if (!f.ok()) return f.status();
  if (w.rank() < 3) return node.invalid("weights " + to_string(w.type()));
  const Ints shape = w.shape();
  TF_ASSIGN_OR_RETURN(const Window window, read_window(node, x.id(), Ints(shape.begin() + 2, shape.end())));
  const graph::Conv op{window.strides, window.dilations, window.pads_begin, window.pads_end,
                       f.attribute("group", int64_t{1})};
  std::vector<Term> operands = {x, w};
  if (f.has(2)) operands.push_back(f.input(2));
  Term y = f.emit(op, operands);
  if (f.has(3)) y = y + f.input(3);
  Doubles parameters;
  if (node.has_attribute("activation_params")) {
    TF_ASSIGN_OR_RETURN(parameters, node.floats_attribute("activation_params"));
  }
  return f.result(activated(f, y, parameters));
}

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
    return node.invalid("a group is no block");
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
  constexpr int64_t kMost = int64_t{1} << 24;
  if (blocks.k < 1 || blocks.k > kMost || blocks.n < 1 || blocks.n > kMost || blocks.size < 16 ||
      blocks.size > kMost || blocks.size % 2 != 0)
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

constexpr std::array kMicrosoftProductRules = {NamedRule{"com.microsoft.FusedConv", fused_conv},
                                               NamedRule{"com.microsoft.FusedGemm", fused_gemm},
                                               NamedRule{"com.microsoft.FusedMatMul", fused_matmul},
                                               NamedRule{"com.microsoft.MatMulNBits", matmul_nbits}};

}  // namespace

std::span<const NamedRule> microsoft_product_rules() {
  return kMicrosoftProductRules;
}

}  // namespace tf::onnx
