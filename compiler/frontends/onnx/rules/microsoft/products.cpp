// Products with what follows them, of domain com.microsoft.
#include "compiler/frontends/onnx/rules/microsoft/products.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/window.h"

namespace tf::onnx {
namespace {

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

// The distance of each row of a to each row of b.
Result distances(NodeReader& node) {
  Formula f(node);
  const Term a = f.input(0), b = f.input(1);
  const std::string metric = f.attribute("metric", "sqeuclidean");
  if (!f.ok()) return f.status();
  if (metric != "euclidean" && metric != "sqeuclidean")
    return node.unsupported(absl::StrCat("metric '", metric, "' is not supported"));
  if (a.rank() != 2 || b.rank() != 2) return node.invalid("needs two matrices");
  const Term apart = reshape(a, std::vector<tensor::Expr>{a.extents()[0], tensor::imm(1), a.extents()[1]}) -
                     reshape(b, std::vector<tensor::Expr>{tensor::imm(1), b.extents()[0], b.extents()[1]});
  const Term square = reduce(graph::ReduceKind::kSum, apart * apart, {2}, false);
  return f.result(metric == "euclidean" ? sqrt(square) : square);
}

constexpr std::array kMicrosoftProductRules = {
    NamedRule{"com.microsoft.CDist", distances}, NamedRule{"com.microsoft.FusedConv", fused_conv},
    NamedRule{"com.microsoft.FusedGemm", fused_gemm}, NamedRule{"com.microsoft.FusedMatMul", fused_matmul},
    NamedRule{"com.microsoft.TransposeMatMul", fused_matmul}};

}  // namespace

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

std::span<const NamedRule> microsoft_product_rules() {
  return kMicrosoftProductRules;
}

}  // namespace tf::onnx
