// Operators that accumulate step by step: sums and products along an axis, determinants.
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using tensor::Element;

template <bool kProduct>
absl::StatusOr<NodeId> cumulative(NodeReader& node) {
  CumulativeSum op{.product = kProduct};
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const std::vector<int64_t> axis, node.constant_ints(1, "axis"));
  if (axis.size() != 1) return node.invalid(absl::StrCat("it has ", axis.size(), " axes, not one"));
  TF_ASSIGN_OR_RETURN(op.axis, node.axis(axis[0], node.rank(x)));
  const Element element = node.type(x).element;
  if (element == Element::kBool || element == Element::kInt8 || element == Element::kUInt8)
    return node.invalid("it takes no " + to_string(node.type(x)));
  TF_ASSIGN_OR_RETURN(const int64_t exclusive, node.int_attribute("exclusive", 0));
  TF_ASSIGN_OR_RETURN(const int64_t reverse, node.int_attribute("reverse", 0));
  op.exclusive = exclusive != 0;
  op.reverse = reverse != 0;
  return node.emit(op, {x});
}

absl::StatusOr<NodeId> determinant(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  return node.emit(Determinant{}, {x});
}

constexpr std::array kAccumulationRules = {NamedRule{"CumProd", cumulative<true>},
                                           NamedRule{"CumSum", cumulative<false>},
                                           NamedRule{"Det", determinant}};

}  // namespace

std::span<const NamedRule> accumulation_rules() {
  return kAccumulationRules;
}

}  // namespace tf::onnx
