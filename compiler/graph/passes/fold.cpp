#include "compiler/graph/passes/fold.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/found.h"
#include "compiler/graph/passes/fold_host.h"
#include "compiler/graph/passes/fold_kernel.h"
#include "compiler/graph/passes/fold_move.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/ops/operations.h"
#include "compiler/tensor/arithmetic.h"
#include "compiler/tensor/saturate.h"

namespace tf::graph {
namespace {

using Shape = std::vector<int64_t>;
using tensor::Element;

int64_t negative(int64_t x) {
  return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
}

double apply(UnaryKind kind, double x) {
  if (const auto function = ops::intrinsic_of(kind)) return tensor::value_of(*function, x);
  switch (kind) {
    case UnaryKind::kRelu:
      return std::isnan(x) ? x : std::max(x, 0.0);
    case UnaryKind::kNeg:
      return -x;
    case UnaryKind::kAbs:
      return std::fabs(x);
    case UnaryKind::kReciprocal:
      return 1 / x;
    case UnaryKind::kNot:
      return x == 0;
    default:
      return x;  // kIdentity
  }
}

// Negation wraps, as it does in a kernel. The others are of floats only.
int64_t apply(UnaryKind kind, int64_t x) {
  switch (kind) {
    case UnaryKind::kIdentity:
      return x;
    case UnaryKind::kNot:
      return x == 0;
    case UnaryKind::kRelu:
      return std::max<int64_t>(x, 0);
    case UnaryKind::kNeg:
      return negative(x);
    case UnaryKind::kAbs:
      return x < 0 ? negative(x) : x;
    default:
      TF_UNREACHABLE() << "of floats only";
  }
}

// Integers divide towards zero; a zero divisor, which has no answer, counts as one.
double divide(double a, double b) {
  return a / b;
}
int64_t divide(int64_t a, int64_t b) {
  if (b == 0) return a;
  return b == -1 ? negative(a) : a / b;  // the lowest by -1 wraps
}

double value_of(BinaryKind kind, double a, double b) {
  return kind == BinaryKind::kFmod ? std::fmod(a, b) : std::pow(a, b);
}
int64_t value_of(BinaryKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case BinaryKind::kBitAnd:
      return a & b;
    case BinaryKind::kBitOr:
      return a | b;
    case BinaryKind::kBitXor:
      return a ^ b;
    default:
      return tensor::whole_power(a, b);
  }
}

template <typename T>
T apply(BinaryKind kind, T a, T b) {
  if (const auto operation = ops::operation_of(kind)) return tensor::value_of(*operation, a, b);
  return kind == BinaryKind::kDiv ? divide(a, b) : value_of(kind, a, b);
}

// Arithmetic in double or in int64, by what the operands are.
template <typename T>
class Arithmetic {
 public:
  Arithmetic(const Graph& graph, std::span<const NodeId> inputs, const TensorType& result)
      : graph_(graph), inputs_(inputs), shape_(graph.shape(result)), result_(result.element) {
    count_ = 1;
    for (int64_t extent : shape_) count_ *= extent;
  }

  BlobRef operator()(const Unary& op) const {
    return map([&](T x) { return apply(op.kind, x); });
  }
  BlobRef operator()(const Clip& op) const {
    if constexpr (std::is_integral_v<T>) {
      const T low = tensor::saturate<T>(op.low), high = tensor::saturate<T>(op.high);
      return map([&](T x) { return std::min(std::max(x, low), high); });
    } else {
      return map([&](T x) { return apply(BinaryKind::kMin, apply(BinaryKind::kMax, x, op.low), op.high); });
    }
  }
  BlobRef operator()(const LeakyRelu& op) const {
    return map([&](T x) { return x < 0 ? static_cast<T>(op.alpha * static_cast<double>(x)) : x; });
  }
  BlobRef operator()(const Cast&) const {
    return map([](T x) { return x; });
  }
  BlobRef operator()(const Binary& op) const {
    const std::vector<T> a = values(0), b = values(1);
    const auto sa = strides(0), sb = strides(1);
    std::vector<T> out(count_);
    for_each_element(
        shape_, [&](int64_t i, const Shape& at) { out[i] = apply(op.kind, a[dot(at, sa)], b[dot(at, sb)]); });
    return store(out);
  }
  BlobRef operator()(const Where&) const {
    const auto condition = read_integers(Element::kBool, bytes(0));
    const std::vector<T> a = values(1), b = values(2);
    const auto sc = strides(0), sa = strides(1), sb = strides(2);
    std::vector<T> out(count_);
    for_each_element(shape_, [&](int64_t i, const Shape& at) {
      out[i] = condition[dot(at, sc)] ? a[dot(at, sa)] : b[dot(at, sb)];
    });
    return store(out);
  }
  BlobRef operator()(const Reduce& op) const {
    const std::vector<T> x = values(0);
    const Shape from = graph_.shape(inputs_[0]);
    // The result as if its axes were kept, so that both shapes have one rank.
    Shape kept = from;
    for (int64_t axis : op.axes) kept[axis] = 1;
    const auto to = broadcast_strides(kept, from);
    if (x.empty() && count_ > 0) return nullptr;  // of nothing: the kernel knows what that is
    std::vector<T> out(count_);
    std::vector<bool> started(count_);
    for_each_element(from, [&](int64_t i, const Shape& at) {
      const int64_t j = dot(at, to);
      out[j] = started[j] ? combine(op.kind, out[j], x[i]) : x[i];
      started[j] = true;
    });
    if (op.kind == ReduceKind::kMean) {
      for (T& v : out) v = divide(v, static_cast<T>(static_cast<int64_t>(x.size()) / count_));
    }
    return store(out);
  }
  template <typename O>
  BlobRef operator()(const O&) const {
    return nullptr;
  }

 private:
  static T combine(ReduceKind kind, T a, T b) {
    switch (kind) {
      case ReduceKind::kSum:
      case ReduceKind::kMean:
        return apply(BinaryKind::kAdd, a, b);
      case ReduceKind::kMax:
        return apply(BinaryKind::kMax, a, b);
      case ReduceKind::kMin:
        return apply(BinaryKind::kMin, a, b);
      case ReduceKind::kProd:
        return apply(BinaryKind::kMul, a, b);
    }
    __builtin_unreachable();
  }
  std::string_view bytes(size_t i) const { return as<Constant>(graph_.node(inputs_[i]))->data->bytes(); }
  std::vector<T> values(size_t i) const {
    const Element element = graph_.type(inputs_[i]).element;
    if constexpr (std::is_integral_v<T>) {
      return read_integers(element, bytes(i));
    } else {
      return read_floats(element, bytes(i));
    }
  }
  Shape strides(size_t i) const { return broadcast_strides(graph_.shape(inputs_[i]), shape_); }
  static int64_t dot(const Shape& at, const Shape& strides) {
    int64_t sum = 0;
    for (size_t d = 0; d < at.size(); ++d) sum += at[d] * strides[d];
    return sum;
  }
  BlobRef store(const std::vector<T>& out) const {
    if constexpr (std::is_integral_v<T>) {
      return std::make_shared<const Blob>(write_integers(result_, out));
    } else {
      return std::make_shared<const Blob>(write_floats(result_, out));
    }
  }
  template <typename F>
  BlobRef map(F&& f) const {
    std::vector<T> x = values(0);
    std::transform(x.begin(), x.end(), x.begin(), f);
    return store(x);
  }

  const Graph& graph_;
  std::span<const NodeId> inputs_;
  const Shape shape_;
  const Element result_;
  int64_t count_ = 1;
};

}  // namespace

BlobRef fold(const Graph& graph, const Op& op, std::span<const NodeId> inputs, const TensorType& result) {
  if (inputs.empty()) return nullptr;
  for (NodeId input : inputs) {
    if (!as<Constant>(graph.node(input))) return nullptr;
  }
  if (BlobRef moved = fold_move(graph, op, inputs, result)) return moved;
  if (is_host_function(op)) return fold_host(graph, op, inputs, result);
  // The order of u64 is not that of int64.
  if (std::ranges::any_of(inputs, [&](NodeId id) { return graph.type(id).element == Element::kUInt64; }))
    return fold_kernel(graph, op, inputs, result);
  const bool real = tensor::is_float(graph.type(inputs.back()).element);
  BlobRef computed = real ? std::visit(Arithmetic<double>(graph, inputs, result), op)
                          : std::visit(Arithmetic<int64_t>(graph, inputs, result), op);
  return computed ? computed : fold_kernel(graph, op, inputs, result);
}

namespace {

// A few bytes of constant must not become gigabytes by being broadcast or padded.
bool is_worth_folding(const Graph& graph, const std::vector<NodeId>& inputs, const TensorType& result) {
  constexpr int64_t kSmall = 1 << 22;
  auto count = [&](const TensorType& type) { return element_count(graph.shape(type)).value_or(0); };
  int64_t operands = 0;
  for (NodeId input : inputs) operands += count(graph.type(input));
  return count(result) <= std::max(kSmall, 2 * operands);
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  Rewriter rewriter(graph);
  // A constant cannot have as many elements as a run finds.
  const bool expands_are_sized = !found_dims(graph).empty();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::vector<NodeId> inputs = rewriter.mapped(node.inputs);
    const bool is_sized = expands_are_sized && as<Expand>(node);
    BlobRef folded = !is_sized && is_worth_folding(rewriter.to(), inputs, node.type)
                         ? fold(rewriter.to(), node.op, inputs, node.type)
                         : nullptr;
    rewriter.map(NodeId(i), folded ? rewriter.to().add_constant(node.type, std::move(folded), node.name)
                                   : rewriter.copy(NodeId(i)));
  }
  return std::move(rewriter).finish();
}

}  // namespace tf::graph
