#pragma once
// Owns: the words in which rules write compositions of graph operators: terms, and operators and functions of them.
// Does not know: ONNX's operators.
//
//   Formula f(node);
//   const Term x = f.input(0);
//   return f.result(x * tanh(log1p(exp(x))));
//
// The first mistake is remembered, so that calls can be nested: what made it and all that follows is a placeholder of
// rank 0, and result() returns the error. Who asks for shapes, or indexes them, asks ok() before.

#include <span>
#include <string_view>
#include <vector>

#include "compiler/frontends/onnx/node_reader.h"

namespace tf::onnx {

class Formula;

class Term {
 public:
  Term(Formula& formula, NodeId id) : formula_(&formula), id_(id) {}
  Formula& formula() const { return *formula_; }
  NodeId id() const { return id_; }
  const graph::TensorType& type() const;
  tensor::Element element() const { return type().element; }
  bool is_float() const { return tensor::is_float(element()); }
  int rank() const { return type().rank(); }
  std::vector<tensor::Expr> extents() const { return type().extents; }
  std::vector<int64_t> shape() const;

 private:
  Formula* formula_;
  NodeId id_;
};

class Formula {
 public:
  explicit Formula(NodeReader& node) : node_(node) {}
  NodeReader& node() const { return node_; }

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Remembers the status if it is the first that is an error; returns a placeholder.
  Term fail(absl::Status status);
  Term invalid(std::string_view message) { return fail(node_.invalid(message)); }
  Term unsupported(std::string_view message) { return fail(node_.unsupported(message)); }
  absl::StatusOr<NodeId> result(const Term& y) const;
  // The node's output i, if it is named.
  void set_output(int i, const Term& y);

  Term input(int i);
  bool has(int i) const { return node_.has(i); }
  double attribute(std::string_view name, double otherwise);
  int64_t attribute(std::string_view name, int64_t otherwise);
  std::string attribute(std::string_view name, const char* otherwise);
  // An axis that may be negative; 0 after a mistake.
  int64_t axis(int64_t axis, int rank);
  // The values of operand i, which must be known; nothing after a mistake.
  std::vector<int64_t> known_ints(int i, std::string_view what);
  // The same of one number; 0 after a mistake.
  int64_t known_int(int i, std::string_view what);
  double known_float(int i, std::string_view what);

  Term emit(graph::Op op, std::span<const Term> operands);
  Term term(NodeId id) { return {*this, id}; }
  Term term(const absl::StatusOr<NodeId>& id) { return id.ok() ? Term(*this, *id) : fail(id.status()); }
  Term scalar(double value, tensor::Element element);
  // Constants whose bytes are counted.
  Term floats(const std::vector<int64_t>& shape, const std::vector<double>& values, tensor::Element element);
  Term integers(const std::vector<int64_t>& shape, const std::vector<int64_t>& values,
                tensor::Element element);
  // 0, 1, … along one axis of a tensor of that rank.
  Term iota(int64_t extent, int64_t axis, int rank, tensor::Element element);

 private:
  template <typename T>
  T value_of(absl::StatusOr<T> value, T otherwise) {
    if (value.ok()) return *std::move(value);
    fail(value.status());
    return otherwise;
  }
  NodeReader& node_;
  absl::Status status_;
};

Term unary(graph::UnaryKind kind, const Term& x);
Term binary(graph::BinaryKind kind, const Term& a, const Term& b);
// A number has the element of the term beside it.
Term binary(graph::BinaryKind kind, const Term& a, double b);
Term binary(graph::BinaryKind kind, double a, const Term& b);

#define TF_BINARY(name, kind)                      \
  inline Term name(const Term& a, const Term& b) { \
    return binary(graph::BinaryKind::kind, a, b);  \
  }                                                \
  inline Term name(const Term& a, double b) {      \
    return binary(graph::BinaryKind::kind, a, b);  \
  }                                                \
  inline Term name(double a, const Term& b) {      \
    return binary(graph::BinaryKind::kind, a, b);  \
  }
TF_BINARY(operator+, kAdd)
TF_BINARY(operator-, kSub)
TF_BINARY(operator*, kMul)
TF_BINARY(operator/, kDiv)  // of integers: towards zero
TF_BINARY(pow, kPow)
TF_BINARY(min, kMin)
TF_BINARY(max, kMax)
TF_BINARY(equal, kEqual)
TF_BINARY(operator<, kLess)
TF_BINARY(operator<=, kLessEqual)
TF_BINARY(both, kAnd)
TF_BINARY(either, kOr)
#undef TF_BINARY

#define TF_UNARY(name, kind)                 \
  inline Term name(const Term& x) {          \
    return unary(graph::UnaryKind::kind, x); \
  }
TF_UNARY(operator-, kNeg)
TF_UNARY(operator!, kNot)
TF_UNARY(identity, kIdentity)
TF_UNARY(abs, kAbs)
TF_UNARY(relu, kRelu)
TF_UNARY(sigmoid, kSigmoid)
TF_UNARY(tanh, kTanh)
TF_UNARY(erf, kErf)
TF_UNARY(exp, kExp)
TF_UNARY(expm1, kExpm1)
TF_UNARY(log, kLog)
TF_UNARY(log1p, kLog1p)
TF_UNARY(sqrt, kSqrt)
TF_UNARY(reciprocal, kReciprocal)
TF_UNARY(floor, kFloor)
TF_UNARY(round, kRound)  // ties to even
TF_UNARY(sin, kSin)
TF_UNARY(cos, kCos)
TF_UNARY(atan, kAtan)
#undef TF_UNARY

Term where(const Term& condition, const Term& a, const Term& b);
Term where(const Term& condition, double a, const Term& b);
Term where(const Term& condition, const Term& a, double b);
// A NaN alone is unequal to itself.
inline Term is_nan(const Term& x) {
  return !equal(x, x);
}

Term cast(const Term& x, tensor::Element element);
// A half as f32, in which halves are computed; others as they are.
Term widened(const Term& x);
// x itself over no axes.
Term reduce(graph::ReduceKind kind, const Term& x, std::vector<int64_t> axes, bool keep_dims = true);
Term softmax(const Term& x, int64_t axis, bool log = false);
Term matmul(const Term& a, const Term& b, const graph::MatMul& op = {});
Term reshape(const Term& x, std::vector<tensor::Expr> extents);
Term reshape(const Term& x, const std::vector<int64_t>& shape);
Term expand(const Term& x, std::vector<tensor::Expr> extents);
Term transpose(const Term& x, std::vector<int64_t> perm);
Term concat(std::vector<Term> parts, int64_t axis);
// `size` elements from `start` on, by `step`; x itself if that is all of the axis.
Term slice(const Term& x, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
Term pad(const Term& x, int64_t axis, int64_t begin, int64_t end, double value = 0);
Term gather(const Term& data, const Term& indices, int64_t axis);
// x of rank 1 along `axis` of a tensor of that rank.
Term along_axis(const Term& x, int64_t axis, int rank);

// Operands 0 and 1. Before operator set 7 an attribute may say at which axis of the first the second, smaller one begins.
std::pair<Term, Term> binary_operands(Formula& f);

// The axes from `first` up to `last`, without it.
std::vector<int64_t> axes_between(int64_t first, int64_t last);

}  // namespace tf::onnx
