#include "compiler/graph/infer_host.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/infer_checks.h"

namespace tf::graph {
namespace {

using tensor::Element;
using Types = absl::StatusOr<std::vector<TensorType>>;

// An overload for each operator. The operands' count is checked before.
class HostInference {
 public:
  HostInference(const Graph& graph, std::span<const NodeId> inputs) : graph_(graph), inputs_(inputs) {}

  Types operator()(const TopK& op) const {
    TensorType values = type(0);
    TF_RETURN_IF_ERROR(check_axis(op.axis, values.rank()));
    const int64_t extent = graph_.value(values.extents[op.axis]);
    if (op.k < 0 || op.k > extent) return refusal("takes ", op.k, " of ", extent, " elements");
    values.extents[op.axis] = tensor::imm(op.k);
    TensorType indices{Element::kInt64, values.extents};
    return std::vector<TensorType>{std::move(values), std::move(indices)};
  }

  Types operator()(const ScatterElements& op) const {
    const TensorType &data = type(0), &indices = type(1), &updates = type(2);
    TF_RETURN_IF_ERROR(check_axis(op.axis, data.rank()));
    TF_RETURN_IF_ERROR(check_updates());
    if (indices.element != Element::kInt64 && indices.element != Element::kInt32)
      return refusal("indices are ", to_string(indices), ", not i32 or i64");
    if (graph_.shape(indices) != graph_.shape(updates))
      return refusal("indices are ", to_string(indices), ", updates ", to_string(updates),
                     "; not one index an update");
    if (indices.rank() != data.rank())
      return refusal("indices have rank ", indices.rank(), ", the data ", data.rank());
    for (int i = 0; i < data.rank(); ++i) {
      if (i != op.axis && graph_.value(indices.extents[i]) > graph_.value(data.extents[i]))
        return refusal("indices are ", to_string(indices), ", longer along axis ", i, " than the data, ",
                       to_string(data));
    }
    return std::vector<TensorType>{data};
  }

  Types operator()(const ScatterSlices&) const {
    const TensorType &data = type(0), &indices = type(1), &updates = type(2);
    TF_RETURN_IF_ERROR(check_updates());
    if (indices.element != Element::kInt64 || indices.rank() < 1)
      return refusal("indices are ", to_string(indices), ", not i64 of rank 1 or more");
    const int64_t depth = graph_.value(indices.extents.back());
    if (depth > data.rank()) return refusal(depth, " indices of an element of rank ", data.rank());
    std::vector<int64_t> want = graph_.shape(indices), slice = graph_.shape(data);
    want.pop_back();
    want.insert(want.end(), slice.begin() + depth, slice.end());
    if (graph_.shape(updates) != want)
      return refusal("updates are ", to_string(updates), ", not ",
                     to_string(tensor_type(data.element, want)));
    return std::vector<TensorType>{data};
  }

  Types operator()(const CumulativeSum& op) const {
    TF_RETURN_IF_ERROR(check_axis(op.axis, type(0).rank()));
    if (type(0).element == Element::kBool) return refusal("needs numbers, not ", to_string(type(0)));
    return std::vector<TensorType>{type(0)};
  }

  Types operator()(const BitCast& op) const {
    const TensorType& x = type(0);
    if (tensor::element_bytes(op.element) != tensor::element_bytes(x.element))
      return refusal("makes ", std::string(tensor::element_name(op.element)), " of ", to_string(x),
                     ", whose elements have another size");
    return std::vector<TensorType>{{op.element, x.extents}};
  }

  Types operator()(const Determinant&) const {
    TF_RETURN_IF_ERROR(check_floating(0));
    const TensorType& x = type(0);
    if (x.rank() < 2 || graph_.value(x.extents[x.rank() - 1]) != graph_.value(x.extents[x.rank() - 2]))
      return refusal("needs square matrices, not ", to_string(x));
    return std::vector<TensorType>{{x.element, {x.extents.begin(), x.extents.end() - 2}}};
  }

  Types operator()(const MaxUnpool& op) const {
    const TensorType &x = type(0), &indices = type(1);
    if (indices.element != Element::kInt64 || graph_.shape(indices) != graph_.shape(x))
      return refusal("indices are ", to_string(indices), "; one i64 for each of ", to_string(x),
                     " is needed");
    return std::vector<TensorType>{{x.element, op.extents}};
  }

  Types operator()(const RoiAlign& op) const {
    const TensorType &x = type(0), &regions = type(1), &batch = type(2);
    TF_RETURN_IF_ERROR(check_floating(0));
    if (x.rank() != 4) return refusal("needs rank 4, not ", to_string(x));
    if (regions.element != x.element || regions.rank() != 2 || graph_.value(regions.extents[1]) != 4)
      return refusal("regions are ", to_string(regions),
                     ", not four corners of the image's element type each");
    if (batch.element != Element::kInt64 || batch.rank() != 1 ||
        graph_.value(batch.extents[0]) != graph_.value(regions.extents[0]))
      return refusal("batch indices are ", to_string(batch), ", not one i64 for each region");
    if (op.height < 1 || op.width < 1 || op.sampling_ratio < 0)
      return refusal("bins ", op.height, " by ", op.width, " with sampling ratio ", op.sampling_ratio);
    if (graph_.value(x.extents[2]) == 0 || graph_.value(x.extents[3]) == 0)
      return refusal("samples ", to_string(x), ", which has no pixel");
    return std::vector<TensorType>{
        {x.element, {regions.extents[0], x.extents[1], tensor::imm(op.height), tensor::imm(op.width)}}};
  }

  Types operator()(const Random& op) const {
    TF_RETURN_IF_ERROR(check_run(0));
    if (!tensor::is_float(op.element))
      return refusal("needs floating point, not ", std::string(tensor::element_name(op.element)));
    return std::vector<TensorType>{{op.element, op.extents}};
  }

  Types operator()(const Bernoulli& op) const {
    TF_RETURN_IF_ERROR(check_floating(0));
    TF_RETURN_IF_ERROR(check_run(1));
    return std::vector<TensorType>{{op.element, type(0).extents}};
  }

  Types operator()(const Multinomial& op) const {
    TF_RETURN_IF_ERROR(check_floating(0));
    TF_RETURN_IF_ERROR(check_run(1));
    if (type(0).rank() != 2) return refusal("needs rank 2, not ", to_string(type(0)));
    if (op.element != Element::kInt32 && op.element != Element::kInt64)
      return refusal("classes are i32 or i64, not ", std::string(tensor::element_name(op.element)));
    if (op.samples < 0 || graph_.value(type(0).extents[1]) == 0)
      return refusal("draws ", op.samples, " of ", graph_.value(type(0).extents[1]), " classes");
    return std::vector<TensorType>{{op.element, {type(0).extents[0], tensor::imm(op.samples)}}};
  }

  Types operator()(const NonZero& op) const {
    TF_ASSIGN_OR_RETURN(const tensor::Expr found, found_size(op.found));
    return std::vector<TensorType>{{Element::kInt64, {tensor::imm(type(0).rank()), found}}, kCount};
  }

  Types operator()(const Unique& op) const {
    TF_ASSIGN_OR_RETURN(const tensor::Expr found, found_size(op.found));
    TensorType values{type(0).element, {found}};
    TF_ASSIGN_OR_RETURN(int64_t numbered, element_count(graph_.shape(type(0))));
    if (op.axis >= 0) {
      TF_RETURN_IF_ERROR(check_axis(op.axis, type(0).rank()));
      values.extents = type(0).extents;
      numbered = graph_.value(values.extents[static_cast<size_t>(op.axis)]);
      values.extents[static_cast<size_t>(op.axis)] = found;
    }
    const TensorType of_found{Element::kInt64, {found}};
    return std::vector<TensorType>{
        std::move(values), of_found, {Element::kInt64, {tensor::imm(numbered)}}, of_found, kCount};
  }

  Types operator()(const NonMaxSuppression& op) const {
    TF_ASSIGN_OR_RETURN(const tensor::Expr found, found_size(op.found));
    TF_RETURN_IF_ERROR(check_non_max_suppression(graph_, inputs_));
    return std::vector<TensorType>{{Element::kInt64, {found, tensor::imm(3)}}, kCount};
  }

  template <typename O>
  Types operator()(const O&) const {
    return refusal("no host function computes this operator");
  }

 private:
  const TensorType& type(size_t i) const { return graph_.type(inputs_[i]); }

  inline static const TensorType kCount{Element::kInt64, {}};

  // The value that the graph assumes for what is found.
  absl::StatusOr<tensor::Expr> found_size(const tensor::Expr& found) const {
    const auto* dim = found ? tensor::as<tensor::VarNode>(found) : nullptr;
    if (!dim) return refusal("needs a named dimension as `found`");
    const auto size = graph_.binding.find(dim->name);
    if (size == graph_.binding.end()) return refusal("finds dimension ", dim->name, ", which has no value");
    return tensor::imm(size->second);
  }

  absl::Status check_updates() const {
    if (type(0).element == type(2).element) return absl::OkStatus();
    return refusal("updates are ", to_string(type(2)), ", the data ", to_string(type(0)));
  }
  absl::Status check_floating(size_t i) const {
    if (tensor::is_float(type(i).element)) return absl::OkStatus();
    return refusal("needs floating point, not ", to_string(type(i)));
  }
  absl::Status check_run(size_t i) const {
    TF_ASSIGN_OR_RETURN(const int64_t count, element_count(graph_.shape(type(i))));
    if (type(i).element == Element::kInt64 && count == 1) return absl::OkStatus();
    return refusal("the run is ", to_string(type(i)), ", not one i64");
  }

  const Graph& graph_;
  std::span<const NodeId> inputs_;
};

}  // namespace

absl::Status check_non_max_suppression(const Graph& graph, std::span<const NodeId> operands) {
  const TensorType &boxes = graph.type(operands[0]), &scores = graph.type(operands[1]);
  const std::vector<int64_t> of_boxes = graph.shape(boxes), of_scores = graph.shape(scores);
  if (boxes.element != Element::kFloat32 || of_boxes.size() != 3 || of_boxes[2] != 4 ||
      scores.element != Element::kFloat32 || of_scores.size() != 3 || of_scores[0] != of_boxes[0] ||
      of_scores[2] != of_boxes[1])
    return refusal("boxes and scores are ", to_string(boxes), " and ", to_string(scores),
                   ", not f32 [batches, boxes, 4] and f32 [batches, classes, boxes]");
  for (const size_t i : {2, 3, 4}) {
    const TensorType& single = graph.type(operands[i]);
    TF_ASSIGN_OR_RETURN(const int64_t count, element_count(graph.shape(single)));
    const Element wanted = i == 2 ? Element::kInt64 : Element::kFloat32;
    if (count != 1 || single.element != wanted)
      return refusal("operand ", i, " is ", to_string(single), ", not one ",
                     std::string(tensor::element_name(wanted)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorType>> infer_host(const Graph& graph, const Op& op,
                                                   std::span<const NodeId> inputs) {
  return std::visit(HostInference(graph, inputs), op);
}

}  // namespace tf::graph
