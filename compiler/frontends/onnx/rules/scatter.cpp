// Operators that put updates where indices say.
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

absl::StatusOr<ScatterKind> reduction(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const std::string name, node.string_attribute("reduction", "none"));
  constexpr std::array<std::string_view, 5> kNames = {"none", "add", "mul", "min", "max"};
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i] && (i < 3 || node.opset() >= 18)) return static_cast<ScatterKind>(i);
  return node.invalid(absl::StrCat("operator set ", node.opset(), " has no reduction '", name, "'"));
}

absl::StatusOr<std::vector<NodeId>> three_operands(NodeReader& node) {
  std::vector<NodeId> all(3);
  for (int i = 0; i < 3; ++i) {
    TF_ASSIGN_OR_RETURN(all[static_cast<size_t>(i)], node.input(i));
  }
  return all;
}

absl::StatusOr<NodeId> scatter_elements(NodeReader& node) {
  ScatterElements op;
  TF_ASSIGN_OR_RETURN(std::vector<NodeId> all, three_operands(node));
  TF_ASSIGN_OR_RETURN(const int64_t axis, node.int_attribute("axis", 0));
  TF_ASSIGN_OR_RETURN(op.axis, node.axis(axis, node.rank(all[0])));
  TF_ASSIGN_OR_RETURN(op.kind, reduction(node));
  return node.emit(op, std::move(all));
}

absl::StatusOr<NodeId> scatter_nd(NodeReader& node) {
  ScatterSlices op;
  TF_ASSIGN_OR_RETURN(std::vector<NodeId> all, three_operands(node));
  TF_ASSIGN_OR_RETURN(op.kind, reduction(node));
  return node.emit(op, std::move(all));
}

constexpr std::array kScatterRules = {NamedRule{"Scatter", scatter_elements},
                                      NamedRule{"ScatterElements", scatter_elements},
                                      NamedRule{"ScatterND", scatter_nd}};

}  // namespace

std::span<const NamedRule> scatter_rules() {
  return kScatterRules;
}

}  // namespace tf::onnx
