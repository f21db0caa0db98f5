#include "compiler/graph/infer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/graph/infer_checks.h"
#include "compiler/graph/infer_control.h"
#include "compiler/graph/infer_host.h"
#include "compiler/graph/infer_window.h"

namespace tf::graph {
namespace {

using tensor::Element;
using tensor::Expr;
using Extents = std::vector<Expr>;

// Of a concatenation, whose kernel has an argument for each.
constexpr size_t kMostJoined = 1024;

absl::Status check_axes(std::span<const int64_t> axes, int rank) {
  std::vector<bool> seen(rank);
  for (int64_t axis : axes) {
    TF_RETURN_IF_ERROR(check_axis(axis, rank));
    if (seen[axis]) return refusal("axis ", axis, " is named twice");
    seen[axis] = true;
  }
  return absl::OkStatus();
}

// Infers one operator: an overload per struct. The operands' count is checked before.
class Inference {
 public:
  Inference(const Graph& graph, std::span<const NodeId> inputs) : graph_(graph), inputs_(inputs) {}

  absl::StatusOr<TensorType> operator()(const Input&) const {
    return refusal("an input's type is given, not inferred");
  }
  absl::StatusOr<TensorType> operator()(const Constant&) const {
    return refusal("a constant's type is given");
  }
  absl::StatusOr<TensorType> operator()(const Conv& op) const {
    TF_ASSIGN_OR_RETURN(const Element element, product_element());
    if (count() > 2 && type(2).element != element) return refusal("the bias is ", to_string(type(2)));
    TF_ASSIGN_OR_RETURN(TensorType result,
                        infer_conv(graph_, op, type(0), type(1), count() > 2 ? &type(2) : nullptr));
    result.element = element;
    return result;
  }
  absl::StatusOr<TensorType> operator()(const Pool& op) const { return infer_pool(graph_, op, type(0)); }

  absl::StatusOr<TensorType> operator()(const MatMul& op) const {
    TF_ASSIGN_OR_RETURN(const Element element, product_element());
    const TensorType &a = type(0), &b = type(1);
    if (a.rank() < 2 || b.rank() < 2)
      return refusal("operands have ranks ", a.rank(), " and ", b.rank(), "; at least 2");
    Expr rows = a.extents[a.rank() - 2], ka = a.extents[a.rank() - 1];
    Expr kb = b.extents[b.rank() - 2], columns = b.extents[b.rank() - 1];
    if (op.transpose_a) std::swap(rows, ka);
    if (op.transpose_b) std::swap(kb, columns);
    if (graph_.value(ka) != graph_.value(kb))
      return refusal("inner sizes ", graph_.value(ka), " and ", graph_.value(kb), " differ: ", to_string(a),
                     " times ", to_string(b));
    const std::vector<Extents> batches = {Extents(a.extents.begin(), a.extents.end() - 2),
                                          Extents(b.extents.begin(), b.extents.end() - 2)};
    TF_ASSIGN_OR_RETURN(Extents extents, broadcast_extents(graph_, batches));
    extents.push_back(rows);
    extents.push_back(columns);
    return TensorType{element, std::move(extents)};
  }

  absl::StatusOr<TensorType> operator()(const Reduce& op) const {
    const TensorType& x = type(0);
    TF_RETURN_IF_ERROR(check_axes(op.axes, x.rank()));
    const bool orders = op.kind == ReduceKind::kMin || op.kind == ReduceKind::kMax;
    if (x.element == Element::kBool && !orders) return refusal("needs numbers, not ", to_string(x));
    TensorType result{x.element, {}};
    for (int i = 0; i < x.rank(); ++i) {
      const bool folded = std::find(op.axes.begin(), op.axes.end(), i) != op.axes.end();
      if (!folded) result.extents.push_back(x.extents[i]);
      if (folded && op.keep_dims) result.extents.push_back(tensor::imm(1));
    }
    return result;
  }

  absl::StatusOr<TensorType> operator()(const Lrn& op) const {
    if (type(0).rank() < 2 || op.size < 1) return refusal("needs rank 2 or more and a size of at least 1");
    return floating(type(0));
  }
  absl::StatusOr<TensorType> operator()(const Softmax& op) const {
    TF_RETURN_IF_ERROR(check_axis(op.axis, type(0).rank()));
    return floating(type(0));
  }

  absl::StatusOr<TensorType> operator()(const BatchNorm&) const {
    TF_RETURN_IF_ERROR(same_element());
    const TensorType& x = type(0);
    if (x.rank() < 2) return refusal("needs rank 2 or more, not ", to_string(x));
    for (size_t i = 1; i < 5; ++i) {
      if (type(i).rank() != 1 || graph_.value(type(i).extents[0]) != graph_.value(x.extents[1]))
        return refusal("operand ", i, " is ", to_string(type(i)), "; one value for each of ",
                       graph_.value(x.extents[1]), " channels is needed");
    }
    return floating(x);
  }

  absl::StatusOr<TensorType> operator()(const Unary& op) const {
    if (op.kind == UnaryKind::kNot) return of_element(type(0), Element::kBool);
    const bool any = op.kind == UnaryKind::kIdentity || op.kind == UnaryKind::kNeg ||
                     op.kind == UnaryKind::kAbs || op.kind == UnaryKind::kRelu;
    return any ? absl::StatusOr<TensorType>(type(0)) : floating(type(0));
  }
  absl::StatusOr<TensorType> operator()(const LeakyRelu&) const { return floating(type(0)); }
  absl::StatusOr<TensorType> operator()(const Clip&) const { return type(0); }
  absl::StatusOr<TensorType> operator()(const Cast& op) const {
    return TensorType{op.element, type(0).extents};
  }

  absl::StatusOr<TensorType> operator()(const Binary& op) const {
    TF_RETURN_IF_ERROR(same_element());
    TF_ASSIGN_OR_RETURN(Extents extents, broadcast_operands(0));
    const bool logical = op.kind == BinaryKind::kAnd || op.kind == BinaryKind::kOr;
    const bool is_bool = type(0).element == Element::kBool;
    if (logical && !is_bool) return refusal("needs bool operands");
    if (is_bool && !logical && op.kind != BinaryKind::kEqual)
      return refusal("needs numbers, not ", to_string(type(0)));
    const bool of_bits =
        op.kind == BinaryKind::kBitAnd || op.kind == BinaryKind::kBitOr || op.kind == BinaryKind::kBitXor;
    if (of_bits && tensor::is_float(type(0).element))
      return refusal("needs integers, not ", to_string(type(0)));
    if (op.kind == BinaryKind::kFmod) TF_RETURN_IF_ERROR(floating(type(0)).status());
    const bool boolean = logical || op.kind == BinaryKind::kEqual || op.kind == BinaryKind::kLess ||
                         op.kind == BinaryKind::kLessEqual;
    return TensorType{boolean ? Element::kBool : type(0).element, std::move(extents)};
  }

  absl::StatusOr<TensorType> operator()(const Where&) const {
    if (type(0).element != Element::kBool)
      return refusal("the condition is ", to_string(type(0)), ", not bool");
    if (type(1).element != type(2).element) return refusal("the two choices have different element types");
    TF_ASSIGN_OR_RETURN(Extents extents, broadcast_operands(0));
    return TensorType{type(1).element, std::move(extents)};
  }

  absl::StatusOr<TensorType> operator()(const Concat& op) const {
    TF_RETURN_IF_ERROR(same_element());
    TensorType result = type(0);
    TF_RETURN_IF_ERROR(check_axis(op.axis, result.rank()));
    if (count() > kMostJoined)
      return refusal("joins ", count(), " tensors; at most ", kMostJoined, " are supported");
    for (size_t i = 1; i < count(); ++i) {
      if (type(i).rank() != result.rank())
        return refusal("operands of ranks ", result.rank(), " and ", type(i).rank());
      for (int d = 0; d < result.rank(); ++d) {
        if (d == op.axis) {
          result.extents[d] = result.extents[d] + type(i).extents[d];
        } else if (graph_.value(result.extents[d]) != graph_.value(type(i).extents[d])) {
          return refusal(to_string(type(0)), " and ", to_string(type(i)), " differ in an axis other than ",
                         op.axis);
        }
      }
    }
    return result;
  }

  absl::StatusOr<TensorType> operator()(const Reshape& op) const {
    TensorType result{type(0).element, op.extents};
    TF_ASSIGN_OR_RETURN(int64_t from, element_count(graph_.shape(type(0))));
    TF_ASSIGN_OR_RETURN(int64_t to, element_count(graph_.shape(result)));
    if (from != to)
      return refusal(to_string(type(0)), " has ", from, " elements, ", to_string(result), " has ", to);
    return result;
  }
  absl::StatusOr<TensorType> operator()(const Expand& op) const {
    const std::vector<Extents> both = {type(0).extents, op.extents};
    TF_ASSIGN_OR_RETURN(Extents extents, broadcast_extents(graph_, both));
    return TensorType{type(0).element, std::move(extents)};
  }

  absl::StatusOr<TensorType> operator()(const Transpose& op) const {
    const TensorType& x = type(0);
    TF_RETURN_IF_ERROR(check_axes(op.perm, x.rank()));
    if (static_cast<int>(op.perm.size()) != x.rank())
      return refusal("a permutation of ", x.rank(), " axes is needed");
    TensorType result{x.element, {}};
    for (int64_t axis : op.perm) result.extents.push_back(x.extents[axis]);
    return result;
  }

  absl::StatusOr<TensorType> operator()(const Slice& op) const {
    TensorType result = type(0);
    TF_RETURN_IF_ERROR(check_axes(op.axes, result.rank()));
    const size_t n = op.axes.size();
    if (op.starts.size() != n || op.sizes.size() != n || op.steps.size() != n)
      return refusal("needs one entry per axis");
    for (size_t k = 0; k < n; ++k) {
      const int64_t extent = graph_.value(result.extents[op.axes[k]]);
      int64_t span = 0, last = 0;
      const bool overflow = __builtin_mul_overflow(op.sizes[k] - 1, op.steps[k], &span) ||
                            __builtin_add_overflow(op.starts[k], span, &last);
      const bool outside = op.starts[k] < 0 || op.starts[k] >= extent || last < 0 || last >= extent;
      if (op.sizes[k] < 0 || op.steps[k] == 0 || overflow || (op.sizes[k] > 0 && outside))
        return refusal("takes ", op.sizes[k], " elements from ", op.starts[k], " by ", op.steps[k],
                       " of axis ", op.axes[k], ", whose size is ", extent);
      result.extents[op.axes[k]] = tensor::imm(op.sizes[k]);
    }
    return result;
  }

  absl::StatusOr<TensorType> operator()(const Pad& op) const {
    TensorType result = type(0);
    if (static_cast<int>(op.begin.size()) != result.rank() || op.begin.size() != op.end.size())
      return refusal("needs one padding per axis, of ", result.rank());
    for (int i = 0; i < result.rank(); ++i) {
      if (op.begin[i] < 0 || op.end[i] < 0)
        return refusal("negative padding of axis ", i, " is not supported: use slice");
      result.extents[i] = result.extents[i] + (op.begin[i] + op.end[i]);
    }
    return result;
  }

  absl::StatusOr<TensorType> operator()(const Result& op) const {
    const Node& node = graph_.node(inputs_[0]);
    const auto count = static_cast<int64_t>(node.more_types.size()) + 1;
    if (op.index < 1 || op.index >= count)
      return refusal("there is no result ", op.index, " of ", op_name(node.op), ", which has ", count);
    return node.more_types[op.index - 1];
  }

  template <typename O>
  requires is_host_operator<O> absl::StatusOr<std::vector<TensorType>>
  operator()(const O& op) const { return infer_host(graph_, op, inputs_); }

  absl::StatusOr<std::vector<TensorType>> operator()(const If& op) const {
    return infer_if(graph_, op, inputs_);
  }
  absl::StatusOr<std::vector<TensorType>> operator()(const Loop& op) const {
    return infer_loop(graph_, op, inputs_);
  }

  absl::StatusOr<TensorType> operator()(const Gather& op) const {
    const TensorType &data = type(0), &indices = type(1);
    TF_RETURN_IF_ERROR(check_axis(op.axis, data.rank()));
    if (indices.element != Element::kInt64 && indices.element != Element::kInt32)
      return refusal("indices are ", to_string(indices), ", not whole numbers");
    TF_ASSIGN_OR_RETURN(const int64_t taken, element_count(graph_.shape(indices)));
    if (taken > 0 && graph_.value(data.extents[op.axis]) == 0)
      return refusal("takes ", taken, " elements of axis ", op.axis, ", which has none");
    TensorType result{data.element, Extents(data.extents.begin(), data.extents.begin() + op.axis)};
    result.extents.insert(result.extents.end(), indices.extents.begin(), indices.extents.end());
    result.extents.insert(result.extents.end(), data.extents.begin() + op.axis + 1, data.extents.end());
    return result;
  }

  absl::StatusOr<TensorType> operator()(const Resample& op) const {
    TensorType result = type(0);
    TF_RETURN_IF_ERROR(check_axes(op.axes, result.rank()));
    const size_t each = op.weighted ? 2 : 1;
    if (op.axes.empty() || count() != 1 + each * op.axes.size()) return refusal("needs tables for each axis");
    const Element sum = result.element == Element::kFloat64 ? Element::kFloat64 : Element::kFloat32;
    if (op.weighted && !tensor::is_float(result.element))
      return refusal("weighs floats, not ", to_string(result));
    for (size_t k = 0; k < op.axes.size(); ++k) {
      const TensorType& indices = type(1 + k * each);
      if (indices.element != Element::kInt32 || indices.rank() != 2 || graph_.value(indices.extents[0]) < 1)
        return refusal("the indices are ", to_string(indices), ", not i32[taps, extent]");
      if (op.weighted &&
          (type(2 + k * each).element != sum || graph_.shape(type(2 + k * each)) != graph_.shape(indices)))
        return refusal("the weights are ", to_string(type(2 + k * each)), ", the indices ",
                       to_string(indices));
      if (graph_.value(indices.extents[1]) > 0 && graph_.value(result.extents[op.axes[k]]) == 0)
        return refusal("reads axis ", op.axes[k], ", which has no element");
      result.extents[op.axes[k]] = indices.extents[1];
    }
    return result;
  }

  absl::StatusOr<TensorType> operator()(const DepthToSpace& op) const {
    const TensorType& x = type(0);
    const size_t spatial = op.blocks.size();
    if (x.rank() != static_cast<int>(spatial) + 2 || op.begin.size() != spatial || op.sizes.size() != spatial)
      return refusal("needs one block, begin and size for each spatial axis of ", to_string(x));
    int64_t channels = graph_.value(x.extents[1]), block = 1;
    for (size_t d = 0; d < spatial; ++d) {
      if (op.blocks[d] < 1 || op.blocks[d] > INT32_MAX ||
          __builtin_mul_overflow(block, op.blocks[d], &block) || op.begin[d] < 0 || op.begin[d] > INT32_MAX ||
          op.sizes[d] < 0)
        return refusal("blocks of ", op.blocks[d], " from ", op.begin[d]);
    }
    int64_t all = 0;
    if (op.groups < 1 || __builtin_mul_overflow(op.groups, block, &all) || channels % all != 0)
      return refusal(channels, " channels in ", op.groups, " groups of blocks of ", block);
    TensorType result{x.element, {x.extents[0], tensor::imm(channels / block)}};
    for (int64_t size : op.sizes) result.extents.push_back(tensor::imm(size));
    return result;
  }

  absl::StatusOr<TensorType> operator()(const Sample&) const {
    const TensorType &x = type(0), &batches = type(1), &places = type(2);
    const auto is_index = [](const TensorType& t) {
      return t.element == Element::kInt32 || t.element == Element::kInt64;
    };
    if (x.rank() != 3 || batches.rank() != 1 || places.rank() != 3 || !is_index(batches) ||
        !is_index(places) || graph_.value(places.extents[1]) != graph_.value(batches.extents[0]) ||
        graph_.value(places.extents[0]) < 1)
      return refusal("cannot sample ", to_string(x), " at ", to_string(places), " of ", to_string(batches));
    if (count() > 3) {
      const Element sum = x.element == Element::kFloat64 ? Element::kFloat64 : Element::kFloat32;
      if (!tensor::is_float(x.element) || type(3).element != sum ||
          graph_.shape(type(3)) != graph_.shape(places))
        return refusal("the weights are ", to_string(type(3)), ", the places ", to_string(places));
    }
    TensorType result{x.element, {places.extents[1], x.extents[1], places.extents[2]}};
    TF_ASSIGN_OR_RETURN(const int64_t made, element_count(graph_.shape(result)));
    if (made > 0 && (graph_.value(x.extents[0]) == 0 || graph_.value(x.extents[2]) == 0))
      return refusal("samples ", to_string(x), ", which has no element");
    return result;
  }

 private:
  size_t count() const { return inputs_.size(); }
  const TensorType& type(size_t i) const { return graph_.type(inputs_[i]); }

  absl::Status same_element() const {
    for (size_t i = 1; i < count(); ++i) {
      if (type(i).element != type(0).element)
        return refusal("operands of different element types: ", to_string(type(0)), " and ",
                       to_string(type(i)));
    }
    return absl::OkStatus();
  }
  // Of the sums of products of the first two operands: of bytes, signed or not, i32.
  absl::StatusOr<Element> product_element() const {
    const Element a = type(0).element, b = type(1).element;
    auto is_byte = [](Element e) { return e == Element::kInt8 || e == Element::kUInt8; };
    if (is_byte(a) && is_byte(b)) return Element::kInt32;
    if (a != b)
      return refusal("factors of different element types: ", to_string(type(0)), " and ", to_string(type(1)));
    return a;
  }
  static absl::StatusOr<TensorType> of_element(const TensorType& x, Element element) {
    if (x.element == element) return x;
    return refusal("needs ", std::string(tensor::element_name(element)), ", not ", to_string(x));
  }
  static absl::StatusOr<TensorType> floating(const TensorType& x) {
    if (tensor::is_float(x.element)) return x;
    return refusal("needs floating point, not ", to_string(x));
  }
  absl::StatusOr<Extents> broadcast_operands(size_t first) const {
    std::vector<Extents> all;
    for (size_t i = first; i < count(); ++i) all.push_back(type(i).extents);
    return broadcast_extents(graph_, all);
  }

  const Graph& graph_;
  std::span<const NodeId> inputs_;
};

using Types = absl::StatusOr<std::vector<TensorType>>;
Types as_list(absl::StatusOr<TensorType> one) {
  if (!one.ok()) return one.status();
  return std::vector<TensorType>{*std::move(one)};
}
Types as_list(Types types) {
  return types;
}

// Whether the expression has more than `limit` nodes, counted as a tree; looks at no more than that.
bool is_larger(const Expr& extent, int& limit) {
  if (--limit < 0) return true;
  auto* binary = tensor::as<tensor::Binary>(extent);
  return binary && (is_larger(binary->a, limit) || is_larger(binary->b, limit));
}

// Extents that many layers have been added to are kept as numbers: sums of shared sums would grow without
// bound.
void keep_small(const Graph& graph, TensorType& type) {
  for (Expr& extent : type.extents) {
    int limit = 100;
    if (is_larger(extent, limit)) extent = tensor::imm(graph.value(extent));
  }
}

}  // namespace

absl::StatusOr<std::vector<Expr>> broadcast_extents(const Graph& graph, std::span<const Extents> operands) {
  size_t rank = 0;
  for (const Extents& extents : operands) rank = std::max(rank, extents.size());
  Extents result(rank, tensor::imm(1));
  for (const Extents& extents : operands) {
    for (size_t i = 0; i < extents.size(); ++i) {
      Expr& common = result[rank - extents.size() + i];
      const int64_t have = graph.value(common), want = graph.value(extents[i]);
      if (have == want || want == 1) {
        // Of two extents that agree, the number says more than the name.
        if (have == want && tensor::as_int(extents[i])) common = extents[i];
      } else if (have == 1) {
        common = extents[i];
      } else {
        return refusal("sizes ", have, " and ", want, " do not broadcast");
      }
    }
  }
  return result;
}

absl::StatusOr<std::vector<TensorType>> infer_types(const Graph& graph, const Op& op,
                                                    std::span<const NodeId> inputs) {
  const Arity arity = op_arity(op);
  const int count = static_cast<int>(inputs.size());
  if (count < arity.least || (arity.greatest >= 0 && count > arity.greatest))
    return refusal("has ", count, " operands, needs ", arity.least,
                   arity.greatest == arity.least ? ""
                   : arity.greatest < 0          ? " or more"
                                                 : absl::StrCat(" to ", arity.greatest));
  for (NodeId input : inputs) {
    if (index(input) < 0 || index(input) >= static_cast<int>(graph.nodes.size()))
      return refusal("reads a later node");
  }
  TF_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                      std::visit([&](const auto& o) { return as_list(Inference(graph, inputs)(o)); }, op));
  for (TensorType& type : types) {
    keep_small(graph, type);
    TF_RETURN_IF_ERROR(element_count(graph.shape(type)).status());
    if (type.rank() > 8) return refusal("the result ", to_string(type), " has more than 8 axes");
  }
  return types;
}

}  // namespace tf::graph
