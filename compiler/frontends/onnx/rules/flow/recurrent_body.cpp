#include "compiler/frontends/onnx/rules/flow/recurrent_body.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {

using graph::BinaryKind;
using graph::Blob;
using graph::NodeId;
using graph::UnaryKind;

RecurrentBody::RecurrentBody(const graph::Graph& around, std::string name)
    : around_(around), name_(std::move(name)) {
  region.name = name_;
  region.dims = around.dims;
  region.binding = around.binding;
}

NodeId RecurrentBody::add(graph::Op op, std::vector<NodeId> inputs) {
  if (!status.ok()) return {};
  const absl::StatusOr<NodeId> id = region.add(std::move(op), std::move(inputs), name_);
  if (id.ok()) return *id;
  status = id.status();
  return {};
}

NodeId RecurrentBody::capture(NodeId id) {
  const graph::Node& node = around_.node(id);
  if (const auto* constant = graph::as<graph::Constant>(node))
    return region.add_constant(node.type, constant->data, node.name);
  captured.push_back(id);
  return input(node.type);
}

NodeId RecurrentBody::whole(int64_t value) {
  const auto element = tensor::Element::kInt64;
  return region.add_constant({element, {}},
                             std::make_shared<const Blob>(graph::write_integers(element, {value})), name_);
}

NodeId RecurrentBody::number(NodeId like, double value) {
  const tensor::Element element = region.type(like).element;
  return region.add_constant({element, {}},
                             std::make_shared<const Blob>(graph::write_floats(element, {value})), name_);
}

NodeId RecurrentBody::gate(NodeId x, int64_t i, int64_t units, int64_t count) {
  return add(graph::Slice{{region.type(x).rank() - 1}, {i * units}, {count * units}, {1}}, {x});
}

NodeId RecurrentBody::apply(const Activation& f, NodeId x) {
  const std::string& name = f.name;
  if (name == "sigmoid") return unary(UnaryKind::kSigmoid, x);
  if (name == "tanh") return unary(UnaryKind::kTanh, x);
  if (name == "relu") return unary(UnaryKind::kRelu, x);
  if (name == "affine") return shifted(scaled(x, f.alpha.value_or(1)), f.beta.value_or(0));
  if (name == "leakyrelu") return add(graph::LeakyRelu{f.alpha.value_or(0.01)}, {x});
  if (name == "thresholdedrelu") {
    const NodeId is_large = binary(BinaryKind::kLess, number(x, f.alpha.value_or(1)), x);
    return add(graph::Where{}, {is_large, x, number(x, 0)});
  }
  if (name == "scaledtanh")
    return scaled(unary(UnaryKind::kTanh, scaled(x, f.beta.value_or(1))), f.alpha.value_or(1));
  if (name == "hardsigmoid")
    return add(graph::Clip{0, 1}, {shifted(scaled(x, f.alpha.value_or(0.2)), f.beta.value_or(0.5))});
  if (name == "elu") {
    const NodeId below = scaled(unary(UnaryKind::kExpm1, x), f.alpha.value_or(1));
    return add(graph::Where{}, {binary(BinaryKind::kLess, x, number(x, 0)), below, x});
  }
  if (name == "softsign") return binary(BinaryKind::kDiv, x, shifted(unary(UnaryKind::kAbs, x), 1));
  if (name == "softplus") {
    // log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|))
    const NodeId minus = unary(UnaryKind::kNeg, unary(UnaryKind::kAbs, x));
    return plus(unary(UnaryKind::kRelu, x), unary(UnaryKind::kLog1p, unary(UnaryKind::kExp, minus)));
  }
  status = absl::UnimplementedError(absl::StrCat("activation '", name, "' is not supported"));
  return {};
}

}  // namespace tf::onnx
