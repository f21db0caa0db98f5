#include "compiler/graph/graph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/graph/infer.h"
#include "compiler/tensor/text.h"

namespace tf::graph {
namespace {

// Extents are sums, products, quotients, minima and maxima of whole numbers and named dimensions.
int64_t evaluate(const tensor::Expr& e, const tensor::Binding& binding) {
  if (auto* imm = tensor::as<tensor::IntImm>(e)) return imm->value;
  if (auto* var = tensor::as<tensor::VarNode>(e)) {
    auto bound = binding.find(var->name);
    TF_CHECK(bound != binding.end()) << "dimension " << var->name << " has no value";
    return bound->second;
  }
  auto* binary = tensor::as<tensor::Binary>(e);
  TF_CHECK(binary != nullptr) << "not an extent: " << tensor::to_string(e);
  const int64_t a = evaluate(binary->a, binding), b = evaluate(binary->b, binding);
  switch (binary->op) {
    case tensor::BinaryOp::kAdd:
      return a + b;
    case tensor::BinaryOp::kSub:
      return a - b;
    case tensor::BinaryOp::kMul:
      return a * b;
    case tensor::BinaryOp::kFloorDiv:
      return a / b - (a % b != 0 && (a < 0) != (b < 0));
    case tensor::BinaryOp::kFloorMod:
      return a - b * (a / b - (a % b != 0 && (a < 0) != (b < 0)));
    case tensor::BinaryOp::kMin:
      return std::min(a, b);
    case tensor::BinaryOp::kMax:
      return std::max(a, b);
    default:
      TF_UNREACHABLE() << "not an extent: " << tensor::to_string(e);
  }
}

}  // namespace

std::vector<NodeId> Graph::inputs() const {
  std::vector<NodeId> found;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (as<Input>(nodes[i])) found.push_back(NodeId(i));
  return found;
}

int64_t Graph::value(const tensor::Expr& extent) const {
  return evaluate(extent, binding);
}

std::vector<int64_t> Graph::shape(const TensorType& type) const {
  std::vector<int64_t> values;
  for (const tensor::Expr& extent : type.extents) values.push_back(value(extent));
  return values;
}

absl::StatusOr<NodeId> Graph::add(Op op, std::vector<NodeId> inputs, std::string node_name) {
  absl::StatusOr<std::vector<TensorType>> types = infer_types(*this, op, inputs);
  if (!types.ok()) {
    return absl::Status(types.status().code(), absl::StrCat("node '", node_name, "' (", op_name(op),
                                                            "): ", types.status().message()));
  }
  nodes.push_back({std::move(node_name),
                   std::move(op),
                   std::move(inputs),
                   std::move(types->front()),
                   {types->begin() + 1, types->end()}});
  return NodeId(nodes.size() - 1);
}

NodeId Graph::add_input(TensorType type, std::string node_name) {
  nodes.push_back({std::move(node_name), Input{}, {}, std::move(type), {}});
  return NodeId(nodes.size() - 1);
}

NodeId Graph::add_constant(TensorType type, BlobRef data, std::string node_name) {
  nodes.push_back({std::move(node_name), Constant{std::move(data)}, {}, std::move(type), {}});
  return NodeId(nodes.size() - 1);
}

std::vector<std::vector<NodeId>> users(const Graph& graph) {
  std::vector<std::vector<NodeId>> found(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (NodeId input : graph.nodes[i].inputs) {
      std::vector<NodeId>& list = found[index(input)];
      if (list.empty() || list.back() != NodeId(i)) list.push_back(NodeId(i));
    }
  }
  return found;
}

std::vector<bool> is_output(const Graph& graph) {
  std::vector<bool> found(graph.nodes.size());
  for (const Output& output : graph.outputs) found[index(output.node)] = true;
  return found;
}

TensorType tensor_type(tensor::Element element, std::span<const int64_t> shape) {
  TensorType type{element, {}};
  for (int64_t extent : shape) type.extents.push_back(tensor::imm(extent));
  return type;
}

absl::StatusOr<int64_t> element_count(std::span<const int64_t> shape) {
  constexpr int64_t kLimit = int64_t{1} << 43;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > kLimit)
      return absl::InvalidArgumentError("a tensor of more than 2^43 elements or of negative size");
  }
  return count;
}

std::string to_string(const TensorType& type) {
  std::string text = absl::StrCat(std::string(tensor::element_name(type.element)), "[");
  for (int i = 0; i < type.rank(); ++i)
    absl::StrAppend(&text, i ? ", " : "", tensor::to_string(type.extents[i]));
  return text + "]";
}

}  // namespace tf::graph
