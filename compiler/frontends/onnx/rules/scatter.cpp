// Operators that put updates where indices say.
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"

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

// Updates behind each other along the axis, from the place on that operand 2 gives for each batch; `circular` goes on at
// the axis's start.
absl::StatusOr<NodeId> tensor_scatter(NodeReader& node) {
  Formula f(node);
  const Term cache = f.input(0), update = f.input(1);
  const int64_t axis = f.axis(f.attribute("axis", int64_t{-2}), cache.rank());
  const std::string mode = f.attribute("mode", "linear");
  if (!f.ok()) return f.status();
  if (mode != "linear" && mode != "circular") return node.invalid("its mode is '" + mode + "'");
  if (axis == 0 || update.rank() != cache.rank())
    return node.invalid(absl::StrCat("it puts ", to_string(update.type()), " into ", to_string(cache.type()),
                                     " along axis ", axis));
  std::vector<int64_t> want = cache.shape(), column(want.size(), 1);
  const auto extent = static_cast<double>(want[static_cast<size_t>(axis)]);
  column[0] = want[0];
  want[static_cast<size_t>(axis)] = update.shape()[static_cast<size_t>(axis)];
  if (update.shape() != want)
    return node.invalid("its update is " + to_string(update.type()) + ", its cache " +
                        to_string(cache.type()));
  Term places = f.iota(want[static_cast<size_t>(axis)], axis, cache.rank(), tensor::Element::kInt64);
  if (f.has(2)) places = places + reshape(cast(f.input(2), tensor::Element::kInt64), column);
  if (mode == "circular") places = places - (places / extent) * extent;
  const std::array operands = {cache, expand(places, update.extents()), update};
  return f.result(f.emit(ScatterElements{ScatterKind::kPut, axis}, operands));
}

constexpr std::array kScatterRules = {
    NamedRule{"Scatter", scatter_elements}, NamedRule{"ScatterElements", scatter_elements},
    NamedRule{"ScatterND", scatter_nd}, NamedRule{"TensorScatter", tensor_scatter}};

}  // namespace

std::span<const NamedRule> scatter_rules() {
  return kScatterRules;
}

}  // namespace tf::onnx
