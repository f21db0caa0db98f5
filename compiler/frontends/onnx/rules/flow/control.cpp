// Branches and loops.
#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Result = absl::StatusOr<NodeId>;
using Nodes = std::vector<NodeId>;

std::optional<int64_t> known_value(const Graph& graph, NodeId id) {
  const auto* constant = as<Constant>(graph.node(id));
  if (!constant) return std::nullopt;
  const std::vector<int64_t> values = read_integers(graph.type(id).element, constant->data->bytes());
  return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
}

// The region with an input for each of `all`, of which it captures some.
Region with_inputs(const ImportedRegion& region, const Nodes& all, const Graph& around) {
  Rewriter rewriter(region.graph);
  const Nodes inputs = region.graph.inputs();
  Nodes given;
  for (NodeId id : all) given.push_back(rewriter.to().add_input(around.type(id), around.node(id).name));
  for (size_t i = 0; i < inputs.size(); ++i)
    rewriter.map(inputs[i], given[std::ranges::find(all, region.captured[i]) - all.begin()]);
  for (size_t i = 0; i < region.graph.nodes.size(); ++i)
    if (!as<Input>(region.graph.nodes[i])) rewriter.map(NodeId(i), rewriter.copy(NodeId(i)));
  return std::make_shared<const Graph>(std::move(rewriter).finish());
}

// Gives the node's outputs the results from `first` on; the first output's.
Result give_outputs(NodeReader& node, NodeId results, int first) {
  NodeId given{};
  for (int i = 0; i < node.output_count(); ++i) {
    TF_ASSIGN_OR_RETURN(const NodeId result, node.result(results, first + i));
    if (i == 0) given = result;
    node.set_output(i, result);
  }
  return given;
}

Result if_rule(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId condition, node.input(0));
  if (const auto known = known_value(node.graph(), condition)) {
    TF_ASSIGN_OR_RETURN(const Nodes outputs, node.inlined(*known != 0 ? "then_branch" : "else_branch", {}));
    if (static_cast<int>(outputs.size()) != node.output_count())
      return node.invalid(absl::StrCat("its branch has ", outputs.size(), " results"));
    for (size_t i = 0; i < outputs.size(); ++i) node.set_output(static_cast<int>(i), outputs[i]);
    return outputs[0];
  }
  TF_ASSIGN_OR_RETURN(const ImportedRegion then_branch, node.region("then_branch", {}));
  TF_ASSIGN_OR_RETURN(const ImportedRegion else_branch, node.region("else_branch", {}));
  Nodes captured = then_branch.captured;
  for (NodeId id : else_branch.captured)
    if (std::ranges::find(captured, id) == captured.end()) captured.push_back(id);
  Nodes operands = {condition};
  operands.insert(operands.end(), captured.begin(), captured.end());
  TF_ASSIGN_OR_RETURN(const NodeId results, node.emit(If{with_inputs(then_branch, captured, node.graph()),
                                                         with_inputs(else_branch, captured, node.graph())},
                                                      std::move(operands)));
  return give_outputs(node, results, 0);
}

BlobRef single(tensor::Element element, int64_t value) {
  return std::make_shared<const Blob>(write_integers(element, {value}));
}

// The body without its condition, where that is known to hold.
ImportedRegion without_condition(ImportedRegion body) {
  body.graph.outputs.erase(body.graph.outputs.begin());
  body.graph = remove_dead_code(body.graph);
  return body;
}

NodeId whole(NodeReader& node, int64_t value) {
  return node.graph().add_constant({tensor::Element::kInt64, {}}, single(tensor::Element::kInt64, value),
                                   node.name());
}
NodeId truth(NodeReader& node, bool value) {
  return node.graph().add_constant({tensor::Element::kBool, {}}, single(tensor::Element::kBool, value),
                                   node.name());
}

// What a Loop is given.
struct LoopOperands {
  NodeId trips{}, condition{};
  Nodes carried;
};

absl::StatusOr<LoopOperands> loop_operands(NodeReader& node) {
  LoopOperands all;
  all.trips = whole(node, std::numeric_limits<int64_t>::max());
  if (node.has(0)) {
    TF_ASSIGN_OR_RETURN(all.trips, node.input(0));
  }
  all.condition = truth(node, true);
  if (node.has(1)) {
    TF_ASSIGN_OR_RETURN(all.condition, node.input(1));
  }
  if (known_value(node.graph(), all.condition) == 0) all.trips = whole(node, 0);
  for (int i = 2; i < node.input_count(); ++i) {
    TF_ASSIGN_OR_RETURN(const NodeId id, node.input(i));
    all.carried.push_back(id);
  }
  return all;
}

// As a loop at run time.
Result rolled(NodeReader& node, const LoopOperands& given) {
  TF_ASSIGN_OR_RETURN(const int iteration_rank, node.region_input_rank("body", 0));
  // Some exporters declare one element where others declare a scalar; here both are a scalar.
  if (iteration_rank > 1) return node.invalid("its body's iteration is not one element");
  std::vector<RegionInput> inputs = {{{tensor::Element::kInt64, {}}, nullptr},
                                     {{tensor::Element::kBool, {}}, single(tensor::Element::kBool, 1)}};
  for (NodeId id : given.carried) inputs.push_back({node.type(id), nullptr});
  const size_t carried = given.carried.size();
  TF_ASSIGN_OR_RETURN(ImportedRegion body, node.region("body", inputs));
  if (body.graph.outputs.size() < 1 + carried) return node.invalid("its body has too few outputs");
  const auto begins = known_value(node.graph(), given.condition);
  const bool always = begins && known_value(body.graph, body.graph.outputs[0].node).value_or(0) != 0;
  if (always) {
    if (!node.has(0) && *begins != 0) return node.invalid("it never ends");
    body = without_condition(std::move(body));
  }
  const size_t joined = body.graph.outputs.size() - carried - (always ? 0 : 1);
  if (joined > 0 && (!always || !known_value(node.graph(), given.trips)))
    return node.unsupported("it joins results of a number of iterations that is not known before it runs");
  Loop loop{.body = nullptr,
            .carried = static_cast<int64_t>(carried),
            .scanned = 0,
            .conditional = !always,
            .backward = std::vector<int64_t>(joined, 0)};
  loop.body = std::make_shared<const Graph>(std::move(body.graph));
  Nodes operands = {given.trips};
  if (!always) operands.push_back(given.condition);
  operands.insert(operands.end(), given.carried.begin(), given.carried.end());
  operands.insert(operands.end(), body.captured.begin(), body.captured.end());
  TF_ASSIGN_OR_RETURN(const NodeId results, node.emit(std::move(loop), std::move(operands)));
  return give_outputs(node, results, 0);
}

// A new first axis of extent 1.
Result with_first_axis(NodeReader& node, NodeId x) {
  std::vector<tensor::Expr> extents = node.type(x).extents;
  extents.insert(extents.begin(), tensor::imm(1));
  return node.emit(Reshape{std::move(extents)}, {x});
}

// One iteration after another, where their number is known: each may have other shapes.
Result unrolled(NodeReader& node, const LoopOperands& given, int64_t trips) {
  Nodes carried = given.carried;
  std::vector<Nodes> joined;
  for (int64_t trip = 0; trip < trips; ++trip) {
    Nodes inputs = {whole(node, trip), truth(node, true)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    TF_ASSIGN_OR_RETURN(const Nodes outputs, node.inlined("body", inputs));
    if (outputs.size() < 1 + carried.size()) return node.invalid("its body has too few outputs");
    const auto goes_on = known_value(node.graph(), outputs[0]);
    if (!goes_on)
      return node.unsupported("its condition is not known before it runs, nor are shapes in its body");
    carried.assign(outputs.begin() + 1, outputs.begin() + 1 + std::ssize(carried));
    joined.resize(outputs.size() - 1 - carried.size());
    for (size_t i = 0; i < joined.size(); ++i) {
      TF_ASSIGN_OR_RETURN(const NodeId slice, with_first_axis(node, outputs[1 + carried.size() + i]));
      joined[i].push_back(slice);
    }
    if (*goes_on == 0) break;
  }
  for (const Nodes& slices : joined) {
    TF_ASSIGN_OR_RETURN(const NodeId all, node.emit(Concat{0}, slices));
    carried.push_back(all);
  }
  if (static_cast<int>(carried.size()) < node.output_count())
    return node.invalid("its body has too few outputs");
  for (int i = 0; i < node.output_count(); ++i) node.set_output(i, carried[static_cast<size_t>(i)]);
  return carried.empty() ? node.invalid("it has no output") : Result(carried[0]);
}

Result loop_rule(NodeReader& node) {
  constexpr int64_t kMostUnrolled = 256;
  TF_ASSIGN_OR_RETURN(const LoopOperands given, loop_operands(node));
  Result once = rolled(node, given);
  if (once.ok()) return once;
  // A body whose shapes depend on the iteration is none that is compiled once.
  const auto trips = known_value(node.graph(), given.trips);
  if (!trips || *trips < 1 || *trips > kMostUnrolled || !known_value(node.graph(), given.condition))
    return once;
  return unrolled(node, given, *trips);
}

// x with that axis first, or with the first axis there.
Result move_axis(NodeReader& node, NodeId x, int64_t from, int64_t to) {
  if (from == to) return x;
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < node.rank(x); ++i)
    if (i != from) perm.push_back(i);
  perm.insert(perm.begin() + to, from);
  return node.emit(Transpose{std::move(perm)}, {x});
}

Result scan_rule(NodeReader& node) {
  if (node.opset() < 9) return node.unsupported("operator set 8's form, with a batch, is not supported");
  TF_ASSIGN_OR_RETURN(const int64_t scanned, node.int_attribute("num_scan_inputs", 0));
  const int64_t carried = node.input_count() - scanned;
  if (scanned < 1 || carried < 0) return node.invalid("num_scan_inputs does not fit its operands");
  Loop loop{.body = nullptr, .carried = carried, .scanned = scanned, .conditional = false, .backward = {}};
  TF_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                      node.ints_attribute("scan_input_axes", std::vector<int64_t>(scanned, 0)));
  TF_ASSIGN_OR_RETURN(loop.backward,
                      node.ints_attribute("scan_input_directions", std::vector<int64_t>(scanned, 0)));
  if (static_cast<int64_t>(axes.size()) != scanned || static_cast<int64_t>(loop.backward.size()) != scanned)
    return node.invalid("it does not have an axis and a direction for each scanned operand");
  std::vector<RegionInput> inputs;
  Nodes operands;
  std::optional<int64_t> trips;
  for (int64_t i = 0; i < node.input_count(); ++i) {
    TF_ASSIGN_OR_RETURN(NodeId id, node.input(static_cast<int>(i)));
    TensorType type = node.type(id);
    if (i >= carried) {
      TF_ASSIGN_OR_RETURN(const int64_t axis, node.axis(axes[static_cast<size_t>(i - carried)], type.rank()));
      TF_ASSIGN_OR_RETURN(id, move_axis(node, id, axis, 0));
      type = node.type(id);
      const int64_t extent = node.graph().value(type.extents[0]);
      if (trips && *trips != extent) return node.invalid("its scanned operands differ in length");
      trips = extent;
      type.extents.erase(type.extents.begin());
    }
    inputs.push_back({std::move(type), nullptr});
    operands.push_back(id);
  }
  // The operator's body does not know the iteration.
  TF_ASSIGN_OR_RETURN(ImportedRegion body, node.region("body", inputs));
  const int64_t joined = static_cast<int64_t>(body.graph.outputs.size()) - carried;
  if (joined < 0) return node.invalid("its body has too few outputs");
  TF_ASSIGN_OR_RETURN(const std::vector<int64_t> directions,
                      node.ints_attribute("scan_output_directions", std::vector<int64_t>(joined, 0)));
  TF_ASSIGN_OR_RETURN(const std::vector<int64_t> output_axes,
                      node.ints_attribute("scan_output_axes", std::vector<int64_t>(joined, 0)));
  if (static_cast<int64_t>(directions.size()) != joined || static_cast<int64_t>(output_axes.size()) != joined)
    return node.invalid("it does not have an axis and a direction for each joined output");
  loop.backward.insert(loop.backward.end(), directions.begin(), directions.end());
  loop.body = with_iteration(body.graph);
  operands.insert(operands.begin(), whole(node, *trips));
  operands.insert(operands.end(), body.captured.begin(), body.captured.end());
  TF_ASSIGN_OR_RETURN(const NodeId results, node.emit(std::move(loop), std::move(operands)));
  NodeId first{};
  for (int i = 0; i < node.output_count(); ++i) {
    TF_ASSIGN_OR_RETURN(NodeId result, node.result(results, i));
    if (i >= carried) {
      TF_ASSIGN_OR_RETURN(const int64_t axis,
                          node.axis(output_axes[static_cast<size_t>(i - carried)], node.rank(result)));
      TF_ASSIGN_OR_RETURN(result, move_axis(node, result, 0, axis));
    }
    if (i == 0) first = result;
    node.set_output(i, result);
  }
  return first;
}

constexpr std::array kControlRules = {NamedRule{"If", if_rule}, NamedRule{"Loop", loop_rule},
                                      NamedRule{"Scan", scan_rule}};

}  // namespace

Region with_iteration(const Graph& body) {
  Rewriter rewriter(body);
  rewriter.to().add_input({tensor::Element::kInt64, {}}, "iteration");
  for (size_t i = 0; i < body.nodes.size(); ++i) rewriter.map(NodeId(i), rewriter.copy(NodeId(i)));
  return std::make_shared<const Graph>(std::move(rewriter).finish());
}

std::span<const NamedRule> control_rules() {
  return kControlRules;
}

}  // namespace tf::onnx
