// Operators that sort and select.
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

absl::StatusOr<NodeId> top_k(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TopK op;
  TF_ASSIGN_OR_RETURN(const int64_t axis, node.int_attribute("axis", -1));
  TF_ASSIGN_OR_RETURN(op.axis, node.axis(axis, node.rank(x)));
  if (node.opset() < 10) {
    TF_ASSIGN_OR_RETURN(op.k, node.int_attribute("k", -1));
  } else {
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> k, node.constant_ints(1, "k"));
    if (k.size() != 1) return node.invalid(absl::StrCat("k has ", k.size(), " elements, not one"));
    op.k = k[0];
  }
  TF_ASSIGN_OR_RETURN(const int64_t largest, node.int_attribute("largest", 1));
  op.largest = largest != 0;
  TF_ASSIGN_OR_RETURN(const NodeId values, node.emit(op, {x}));
  TF_ASSIGN_OR_RETURN(const NodeId indices, node.result(values, 1));
  node.set_output(1, indices);
  return values;
}

constexpr std::array kSelectionRules = {NamedRule{"TopK", top_k}};

}  // namespace

std::span<const NamedRule> selection_rules() {
  return kSelectionRules;
}

}  // namespace tf::onnx
