// Random numbers. A model gives the same ones in each run: a function of the seed, or of the node's name where it has
// none, and of the place.
#include <onnx/onnx_pb.h>

#include <array>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Result = absl::StatusOr<NodeId>;
using tensor::Element;

// By the method of Fowler, Noll and Vo (FNV-1a), so that it is the same everywhere.
int64_t digest(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return static_cast<int64_t>(hash);
}

absl::StatusOr<int64_t> seed(NodeReader& node) {
  if (!node.has_attribute("seed")) return digest(node.name());
  TF_ASSIGN_OR_RETURN(const double given, node.float_attribute("seed", 0));
  return std::bit_cast<int64_t>(given);
}

absl::StatusOr<Element> result_element(NodeReader& node, Element otherwise) {
  if (!node.has_attribute("dtype")) return otherwise;
  TF_ASSIGN_OR_RETURN(const int64_t dtype, node.int_attribute("dtype", 0));
  const absl::StatusOr<Element> element = element_from_onnx(static_cast<int32_t>(dtype));
  if (!element.ok()) return node.unsupported(std::string(element.status().message()));
  return *element;
}

// The number of the run. An iteration of a loop would need another one.
Result run_number(NodeReader& node) {
  if (node.in_region()) return node.unsupported("random numbers within a branch or loop are not supported");
  return node.ints({0});
}

Result random(NodeReader& node, RandomKind kind, Element otherwise, std::vector<tensor::Expr> extents) {
  Random op{.kind = kind, .extents = std::move(extents)};
  const bool uniform = kind == RandomKind::kUniform;
  TF_ASSIGN_OR_RETURN(op.first, node.float_attribute(uniform ? "low" : "mean", 0));
  TF_ASSIGN_OR_RETURN(op.second, node.float_attribute(uniform ? "high" : "scale", 1));
  TF_ASSIGN_OR_RETURN(op.seed, seed(node));
  TF_ASSIGN_OR_RETURN(op.element, result_element(node, otherwise));
  TF_ASSIGN_OR_RETURN(const NodeId number, run_number(node));
  return node.emit(std::move(op), {number});
}

template <RandomKind kKind>
Result random_of_shape(NodeReader& node) {
  if (!node.has_attribute("shape")) return node.invalid("attribute 'shape' is missing");
  TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.ints_attribute("shape", {}));
  std::vector<tensor::Expr> extents;
  for (const int64_t extent : shape) {
    if (extent < 0) return node.invalid(absl::StrCat("its shape has the extent ", extent));
    extents.push_back(tensor::imm(extent));
  }
  return random(node, kKind, Element::kFloat32, std::move(extents));
}

template <RandomKind kKind>
Result random_like(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  if (!node.has_attribute("dtype") && !tensor::is_float(node.type(x).element))
    return node.invalid("it has neither a dtype nor an operand of floating point, but " +
                        to_string(node.type(x)));
  return random(node, kKind, node.type(x).element, node.type(x).extents);
}

Result bernoulli(NodeReader& node) {
  Bernoulli op;
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(op.seed, seed(node));
  TF_ASSIGN_OR_RETURN(op.element, result_element(node, node.type(x).element));
  TF_ASSIGN_OR_RETURN(const NodeId number, run_number(node));
  return node.emit(op, {x, number});
}

// Its operand holds logarithms of probabilities that need not add up to 1.
Result multinomial(NodeReader& node) {
  Multinomial op;
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  if (node.rank(x) != 2) return node.invalid("needs rank 2, not " + to_string(node.type(x)));
  TF_ASSIGN_OR_RETURN(op.samples, node.int_attribute("sample_size", 1));
  TF_ASSIGN_OR_RETURN(op.seed, seed(node));
  TF_ASSIGN_OR_RETURN(op.element, result_element(node, Element::kInt32));
  TF_ASSIGN_OR_RETURN(const NodeId wide, node.widened(x));
  TF_ASSIGN_OR_RETURN(const NodeId weights, node.emit(Softmax{.axis = 1}, {wide}));
  TF_ASSIGN_OR_RETURN(const NodeId number, run_number(node));
  return node.emit(op, {weights, number});
}

constexpr std::array kRandomRules = {NamedRule{"Bernoulli", bernoulli},
                                     NamedRule{"Multinomial", multinomial},
                                     NamedRule{"RandomNormal", random_of_shape<RandomKind::kNormal>},
                                     NamedRule{"RandomNormalLike", random_like<RandomKind::kNormal>},
                                     NamedRule{"RandomUniform", random_of_shape<RandomKind::kUniform>},
                                     NamedRule{"RandomUniformLike", random_like<RandomKind::kUniform>}};

}  // namespace

std::span<const NamedRule> random_rules() {
  return kRandomRules;
}

}  // namespace tf::onnx
