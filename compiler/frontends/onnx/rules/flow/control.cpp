// Branches and loops. Whose condition or number of iterations is known while importing becomes nodes of the graph
// around, and may take and give sequences and optionals.
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
using Values = std::vector<Value>;

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

// Gives the node's outputs the results from the first on.
absl::Status give_outputs(NodeReader& node, NodeId results) {
  for (int i = 0; i < node.output_count(); ++i) {
    TF_ASSIGN_OR_RETURN(const NodeId result, node.result(results, i));
    node.set_output(i, result);
  }
  return absl::OkStatus();
}

absl::Status if_rule(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId condition, node.input(0));
  if (const auto known = known_value(node.graph(), condition)) {
    TF_ASSIGN_OR_RETURN(const Values outputs, node.inlined(*known != 0 ? "then_branch" : "else_branch", {}));
    if (static_cast<int>(outputs.size()) != node.output_count())
      return node.invalid(absl::StrCat("its branch has ", outputs.size(), " results"));
    for (size_t i = 0; i < outputs.size(); ++i) node.set_output(static_cast<int>(i), outputs[i]);
    return absl::OkStatus();
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
  return give_outputs(node, results);
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
  Values carried;
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
    TF_ASSIGN_OR_RETURN(const Value value, node.value(i));
    all.carried.push_back(value);
  }
  return all;
}

// As a loop at run time.
absl::Status rolled(NodeReader& node, const LoopOperands& given) {
  Nodes tensors;
  for (const Value& value : given.carried) {
    const auto* id = std::get_if<NodeId>(&value);
    if (!id)
      return node.unsupported(
          "it carries a sequence or an optional for a number of iterations that is not known before it runs");
    tensors.push_back(*id);
  }
  TF_ASSIGN_OR_RETURN(const int iteration_rank, node.region_input_rank("body", 0));
  // Some exporters declare one element where others declare a scalar; here both are a scalar.
  if (iteration_rank > 1) return node.invalid("its body's iteration is not one element");
  std::vector<RegionInput> inputs = {{{tensor::Element::kInt64, {}}, nullptr},
                                     {{tensor::Element::kBool, {}}, single(tensor::Element::kBool, 1)}};
  for (NodeId id : tensors) inputs.push_back({node.type(id), nullptr});
  const size_t carried = tensors.size();
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
  operands.insert(operands.end(), tensors.begin(), tensors.end());
  operands.insert(operands.end(), body.captured.begin(), body.captured.end());
  TF_ASSIGN_OR_RETURN(const NodeId results, node.emit(std::move(loop), std::move(operands)));
  return give_outputs(node, results);
}

// A new first axis of extent 1.
Result with_first_axis(NodeReader& node, NodeId x) {
  std::vector<tensor::Expr> extents = node.type(x).extents;
  extents.insert(extents.begin(), tensor::imm(1));
  return node.emit(Reshape{std::move(extents)}, {x});
}

// One iteration after another, where their number is known: each may have other shapes.
absl::Status unrolled(NodeReader& node, const LoopOperands& given, int64_t trips) {
  Values carried = given.carried;
  std::vector<Nodes> joined;
  for (int64_t trip = 0; trip < trips; ++trip) {
    Values inputs = {whole(node, trip), truth(node, true)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    TF_ASSIGN_OR_RETURN(const Values outputs, node.inlined("body", inputs));
    if (outputs.size() < 1 + carried.size()) return node.invalid("its body has too few outputs");
    const auto* condition = std::get_if<NodeId>(&outputs[0]);
    const auto goes_on = condition ? known_value(node.graph(), *condition) : std::nullopt;
    if (!goes_on)
      return node.unsupported("its condition is not known before it runs, nor are shapes in its body");
    carried.assign(outputs.begin() + 1, outputs.begin() + 1 + std::ssize(carried));
    joined.resize(outputs.size() - 1 - carried.size());
    for (size_t i = 0; i < joined.size(); ++i) {
      const auto* id = std::get_if<NodeId>(&outputs[1 + carried.size() + i]);
      if (!id) return node.invalid("it joins a sequence or an optional of each iteration");
      TF_ASSIGN_OR_RETURN(const NodeId slice, with_first_axis(node, *id));
      joined[i].push_back(slice);
    }
    if (*goes_on == 0) break;
  }
  for (const Nodes& slices : joined) {
    TF_ASSIGN_OR_RETURN(const NodeId all, node.emit(Concat{0}, slices));
    carried.emplace_back(all);
  }
  if (static_cast<int>(carried.size()) < node.output_count())
    return node.invalid("its body has too few outputs");
  for (int i = 0; i < node.output_count(); ++i) node.set_output(i, carried[static_cast<size_t>(i)]);
  return absl::OkStatus();
}

absl::Status loop_rule(NodeReader& node) {
  constexpr int64_t kMostUnrolled = 256;
  TF_ASSIGN_OR_RETURN(const LoopOperands given, loop_operands(node));
  absl::Status once = rolled(node, given);
  if (once.ok()) return once;
  // A body whose shapes depend on the iteration is none that is compiled once.
  const auto trips = known_value(node.graph(), given.trips);
  const bool has_lists = std::ranges::any_of(
      given.carried, [](const Value& value) { return std::holds_alternative<ValueList>(value); });
  if (!trips || *trips < (has_lists ? 0 : 1) || *trips > kMostUnrolled ||
      !known_value(node.graph(), given.condition))
    return once;
  return unrolled(node, given, *trips);
}

constexpr std::array kControlListRules = {NamedListRule{"If", if_rule}, NamedListRule{"Loop", loop_rule}};

}  // namespace

std::span<const NamedListRule> control_list_rules() {
  return kControlListRules;
}

}  // namespace tf::onnx
