// Scans.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;
using Nodes = std::vector<NodeId>;

// x with that axis first, or with the first axis there.
Result move_axis(NodeReader& node, NodeId x, int64_t from, int64_t to) {
  if (from == to) return x;
  Ints perm;
  for (int64_t i = 0; i < node.rank(x); ++i)
    if (i != from) perm.push_back(i);
  perm.insert(perm.begin() + to, from);
  return node.emit(Transpose{std::move(perm)}, {x});
}

// The names of a scan's attributes; those of axes and of outputs came with operator set 9.
struct Scan {
  int64_t carried = 0;
  Ints axes, directions;
};

absl::StatusOr<Scan> scan_of(NodeReader& node, int first_operand) {
  Scan scan;
  TF_ASSIGN_OR_RETURN(const int64_t scanned, node.int_attribute("num_scan_inputs", 0));
  scan.carried = node.input_count() - first_operand - scanned;
  if (scanned < 1 || scan.carried < 0) return node.invalid("num_scan_inputs does not fit its operands");
  const Ints none(static_cast<size_t>(scanned), 0);
  TF_ASSIGN_OR_RETURN(scan.axes, node.ints_attribute("scan_input_axes", none));
  TF_ASSIGN_OR_RETURN(scan.directions,
                      node.ints_attribute(node.opset() < 9 ? "directions" : "scan_input_directions", none));
  if (std::ssize(scan.axes) != scanned || std::ssize(scan.directions) != scanned)
    return node.invalid("it does not have an axis and a direction for each scanned operand");
  return scan;
}

// The results, those that are joined with the iterations along their axes.
absl::StatusOr<Nodes> results_of(NodeReader& node, const Scan& scan, Nodes operands) {
  Loop loop{.body = nullptr,
            .carried = scan.carried,
            .scanned = std::ssize(scan.axes),
            .conditional = false,
            .backward = scan.directions};
  std::vector<RegionInput> inputs;
  std::optional<int64_t> trips;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorType type = node.type(operands[i]);
    if (const int64_t at = static_cast<int64_t>(i) - scan.carried; at >= 0) {
      TF_ASSIGN_OR_RETURN(const int64_t axis, node.axis(scan.axes[static_cast<size_t>(at)], type.rank()));
      TF_ASSIGN_OR_RETURN(operands[i], move_axis(node, operands[i], axis, 0));
      type = node.type(operands[i]);
      const int64_t extent = node.graph().value(type.extents[0]);
      if (trips && *trips != extent) return node.invalid("its scanned operands differ in length");
      trips = extent;
      type.extents.erase(type.extents.begin());
    }
    inputs.push_back({std::move(type), nullptr});
  }
  // The operator's body does not know the iteration.
  TF_ASSIGN_OR_RETURN(ImportedRegion body, node.region("body", inputs));
  const int64_t joined = std::ssize(body.graph.outputs) - scan.carried;
  if (joined < 0) return node.invalid("its body has too few outputs");
  const Ints none(static_cast<size_t>(joined), 0);
  TF_ASSIGN_OR_RETURN(const Ints directions, node.ints_attribute("scan_output_directions", none));
  TF_ASSIGN_OR_RETURN(const Ints output_axes, node.ints_attribute("scan_output_axes", none));
  if (std::ssize(directions) != joined || std::ssize(output_axes) != joined)
    return node.invalid("it does not have an axis and a direction for each joined output");
  loop.backward.insert(loop.backward.end(), directions.begin(), directions.end());
  loop.body = with_iteration(body.graph);
  operands.insert(operands.begin(), node.graph().add_constant({tensor::Element::kInt64, {}},
                                                              make_blob(Ints{*trips}), node.name()));
  operands.insert(operands.end(), body.captured.begin(), body.captured.end());
  TF_ASSIGN_OR_RETURN(const NodeId results, node.emit(std::move(loop), std::move(operands)));
  Nodes all;
  for (int64_t i = 0; i < scan.carried + joined; ++i) {
    TF_ASSIGN_OR_RETURN(NodeId result, node.result(results, static_cast<int>(i)));
    if (i >= scan.carried) {
      const int64_t axis = output_axes[static_cast<size_t>(i - scan.carried)];
      TF_ASSIGN_OR_RETURN(const int64_t known, node.axis(axis, node.rank(result)));
      TF_ASSIGN_OR_RETURN(result, move_axis(node, result, 0, known));
    }
    all.push_back(result);
  }
  return all;
}

// In operator set 8 every operand has a batch axis first, and the scan is done for each of its elements.
absl::StatusOr<Nodes> batched_results_of(NodeReader& node, const Scan& scan, const Nodes& operands) {
  constexpr int64_t kLargestBatch = 64;
  std::optional<int64_t> batch;
  for (NodeId id : operands) {
    const int64_t extent = node.rank(id) > 0 ? node.graph().shape(id)[0] : 0;
    if (extent < 1 || (batch && *batch != extent))
      return node.invalid("its operands do not have one batch axis");
    batch = extent;
  }
  if (*batch > kLargestBatch) return node.unsupported(absl::StrCat("a batch of ", *batch, " scans"));
  const auto reshaped = [&](NodeId x, bool has_axis) {
    std::vector<tensor::Expr> extents = node.type(x).extents;
    if (has_axis)
      extents.erase(extents.begin());
    else
      extents.insert(extents.begin(), tensor::imm(1));
    return node.emit(Reshape{std::move(extents)}, {x});
  };
  std::vector<Nodes> parts;
  for (int64_t b = 0; b < *batch; ++b) {
    Nodes own;
    for (NodeId id : operands) {
      TF_ASSIGN_OR_RETURN(NodeId part, node.emit(Slice{{0}, {b}, {1}, {1}}, {id}));
      TF_ASSIGN_OR_RETURN(part, reshaped(part, true));
      own.push_back(part);
    }
    TF_ASSIGN_OR_RETURN(const Nodes results, results_of(node, scan, own));
    parts.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      TF_ASSIGN_OR_RETURN(const NodeId part, reshaped(results[i], false));
      parts[i].push_back(part);
    }
  }
  Nodes all;
  for (const Nodes& each : parts) {
    TF_ASSIGN_OR_RETURN(const NodeId joined, node.emit(Concat{0}, each));
    all.push_back(joined);
  }
  return all;
}

Result scan_rule(NodeReader& node) {
  const bool has_batch = node.opset() < 9;
  if (has_batch && node.has(0)) return node.unsupported("lengths of sequences (operand 0) are not supported");
  TF_ASSIGN_OR_RETURN(const Scan scan, scan_of(node, has_batch ? 1 : 0));
  Nodes operands;
  for (int i = has_batch ? 1 : 0; i < node.input_count(); ++i) {
    TF_ASSIGN_OR_RETURN(const NodeId id, node.input(i));
    operands.push_back(id);
  }
  TF_ASSIGN_OR_RETURN(const Nodes results, has_batch ? batched_results_of(node, scan, operands)
                                                     : results_of(node, scan, operands));
  if (node.output_count() > std::ssize(results)) return node.invalid("its body has too few outputs");
  for (int i = 0; i < node.output_count(); ++i) node.set_output(i, results[static_cast<size_t>(i)]);
  return results[0];
}

constexpr std::array kScanRules = {NamedRule{"Scan", scan_rule}};

}  // namespace

Region with_iteration(const Graph& body) {
  Rewriter rewriter(body);
  rewriter.to().add_input({tensor::Element::kInt64, {}}, "iteration");
  for (size_t i = 0; i < body.nodes.size(); ++i) rewriter.map(NodeId(i), rewriter.copy(NodeId(i)));
  return std::make_shared<const Graph>(std::move(rewriter).finish());
}

std::span<const NamedRule> scan_rules() {
  return kScanRules;
}

}  // namespace tf::onnx
