#include "compiler/frontends/onnx/formula.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {

using Ints = std::vector<int64_t>;
using tensor::Element;

const graph::TensorType& Term::type() const {
  return formula_->node().type(id_);
}

Ints Term::shape() const {
  return formula_->node().graph().shape(id_);
}

Term Formula::fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return {*this, node_.scalar(0, Element::kFloat32)};
}

absl::StatusOr<NodeId> Formula::result(const Term& y) const {
  if (!ok()) return status_;
  return y.id();
}

void Formula::set_output(int i, const Term& y) {
  if (ok()) node_.set_output(i, y.id());
}

Term Formula::input(int i) {
  return term(node_.input(i));
}

double Formula::attribute(std::string_view name, double otherwise) {
  return value_of(node_.float_attribute(name, otherwise), otherwise);
}

int64_t Formula::attribute(std::string_view name, int64_t otherwise) {
  return value_of(node_.int_attribute(name, otherwise), otherwise);
}

std::string Formula::attribute(std::string_view name, const char* otherwise) {
  return value_of(node_.string_attribute(name, otherwise), std::string(otherwise));
}

int64_t Formula::axis(int64_t axis, int rank) {
  return value_of(node_.axis(axis, rank), int64_t{0});
}

Ints Formula::known_ints(int i, std::string_view what) {
  return value_of(node_.constant_ints(i, what), Ints{});
}

int64_t Formula::known_int(int i, std::string_view what) {
  const Ints values = known_ints(i, what);
  if (ok() && values.size() != 1) invalid(absl::StrCat("its ", std::string(what), " is not a single number"));
  return ok() ? values[0] : 0;
}

double Formula::known_float(int i, std::string_view what) {
  const std::vector<double> values = value_of(node_.constant_floats(i, what), std::vector<double>{});
  if (ok() && values.size() != 1) invalid(absl::StrCat("its ", std::string(what), " is not a single number"));
  return ok() ? values[0] : 0;
}

Term Formula::emit(graph::Op op, std::span<const Term> operands) {
  if (!ok()) return fail(status_);
  std::vector<NodeId> ids;
  for (const Term& operand : operands) ids.push_back(operand.id());
  return term(node_.emit(std::move(op), std::move(ids)));
}

Term Formula::scalar(double value, Element element) {
  return {*this, node_.scalar(value, element)};
}

Term Formula::floats(const Ints& shape, const std::vector<double>& values, Element element) {
  if (!ok()) return fail(status_);
  absl::Status status =
      node_.count_made(static_cast<int64_t>(values.size()) * tensor::element_bytes(element));
  if (!status.ok()) return fail(std::move(status));
  auto data = std::make_shared<const graph::Blob>(graph::write_floats(element, values));
  return {*this,
          node_.graph().add_constant(graph::tensor_type(element, shape), std::move(data), node_.name())};
}

Term Formula::integers(const Ints& shape, const Ints& values, Element element) {
  if (!ok()) return fail(status_);
  absl::Status status =
      node_.count_made(static_cast<int64_t>(values.size()) * tensor::element_bytes(element));
  if (!status.ok()) return fail(std::move(status));
  auto data = std::make_shared<const graph::Blob>(graph::write_integers(element, values));
  return {*this,
          node_.graph().add_constant(graph::tensor_type(element, shape), std::move(data), node_.name())};
}

Term Formula::iota(int64_t extent, int64_t axis, int rank, Element element) {
  Ints values(static_cast<size_t>(extent)), shape(static_cast<size_t>(rank), 1);
  std::iota(values.begin(), values.end(), 0);
  shape[static_cast<size_t>(axis)] = extent;
  return integers(shape, values, element);
}

namespace {

Term emit(graph::Op op, std::initializer_list<Term> operands) {
  return operands.begin()->formula().emit(std::move(op), std::span(operands.begin(), operands.size()));
}

Term number(double value, const Term& like) {
  return like.formula().scalar(value, like.element());
}

}  // namespace

Term unary(graph::UnaryKind kind, const Term& x) {
  return emit(graph::Unary{kind}, {x});
}

Term binary(graph::BinaryKind kind, const Term& a, const Term& b) {
  return emit(graph::Binary{kind}, {a, b});
}
Term binary(graph::BinaryKind kind, const Term& a, double b) {
  return binary(kind, a, number(b, a));
}
Term binary(graph::BinaryKind kind, double a, const Term& b) {
  return binary(kind, number(a, b), b);
}

Term where(const Term& condition, const Term& a, const Term& b) {
  return emit(graph::Where{}, {condition, a, b});
}
Term where(const Term& condition, double a, const Term& b) {
  return where(condition, number(a, b), b);
}
Term where(const Term& condition, const Term& a, double b) {
  return where(condition, a, number(b, a));
}

Term cast(const Term& x, Element element) {
  return x.element() == element ? x : emit(graph::Cast{element}, {x});
}

Term widened(const Term& x) {
  const bool half = x.element() == Element::kFloat16 || x.element() == Element::kBFloat16;
  return half ? cast(x, Element::kFloat32) : x;
}

Term reduce(graph::ReduceKind kind, const Term& x, Ints axes, bool keep_dims) {
  return axes.empty() ? x : emit(graph::Reduce{kind, std::move(axes), keep_dims}, {x});
}

Term softmax(const Term& x, int64_t axis, bool log) {
  return emit(graph::Softmax{axis, log}, {x});
}

Term matmul(const Term& a, const Term& b, const graph::MatMul& op) {
  return emit(op, {a, b});
}

Term reshape(const Term& x, std::vector<tensor::Expr> extents) {
  return emit(graph::Reshape{std::move(extents)}, {x});
}

Term reshape(const Term& x, const Ints& shape) {
  return reshape(x, graph::tensor_type(x.element(), shape).extents);
}

Term expand(const Term& x, std::vector<tensor::Expr> extents) {
  return emit(graph::Expand{std::move(extents)}, {x});
}

Term transpose(const Term& x, Ints perm) {
  bool moves = false;
  for (size_t i = 0; i < perm.size(); ++i) moves = moves || perm[i] != static_cast<int64_t>(i);
  return moves ? emit(graph::Transpose{std::move(perm)}, {x}) : x;
}

Term concat(std::vector<Term> parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : parts[0].formula().emit(graph::Concat{axis}, parts);
}

Term slice(const Term& x, int64_t axis, int64_t start, int64_t size, int64_t step) {
  if (!x.formula().ok()) return x;
  if (start == 0 && step == 1 && x.shape()[static_cast<size_t>(axis)] == size) return x;
  return emit(graph::Slice{{axis}, {start}, {size}, {step}}, {x});
}

Term pad(const Term& x, int64_t axis, int64_t begin, int64_t end, double value) {
  if (begin == 0 && end == 0) return x;
  const auto rank = static_cast<size_t>(x.rank());
  graph::Pad op{Ints(rank), Ints(rank), value};
  if (x.formula().ok()) {
    op.begin[static_cast<size_t>(axis)] = begin;
    op.end[static_cast<size_t>(axis)] = end;
  }
  return emit(std::move(op), {x});
}

Term gather(const Term& data, const Term& indices, int64_t axis) {
  return emit(graph::Gather{axis}, {data, indices});
}

Term along_axis(const Term& x, int64_t axis, int rank) {
  if (!x.formula().ok()) return x;
  if (x.rank() != 1)
    return x.formula().invalid(absl::StrCat("an operand is ", to_string(x.type()), ", not of rank 1"));
  std::vector<tensor::Expr> extents(static_cast<size_t>(rank), tensor::imm(1));
  extents[static_cast<size_t>(axis)] = x.extents()[0];
  return reshape(x, std::move(extents));
}

std::pair<Term, Term> binary_operands(Formula& f) {
  const Term a = f.input(0), b = f.input(1);
  if (!f.node().has_attribute("axis")) return {a, b};
  const int64_t axis = f.axis(f.attribute("axis", int64_t{0}), a.rank());
  if (!f.ok()) return {a, b};
  if (axis + b.rank() > a.rank())
    return {a, f.invalid(absl::StrCat(to_string(b.type()), " at axis ", axis, " of ", to_string(a.type())))};
  std::vector<tensor::Expr> extents = b.extents();
  extents.resize(static_cast<size_t>(a.rank() - axis), tensor::imm(1));
  return {a, reshape(b, std::move(extents))};
}

Ints axes_between(int64_t first, int64_t last) {
  Ints axes(static_cast<size_t>(std::max<int64_t>(0, last - first)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

}  // namespace tf::onnx
