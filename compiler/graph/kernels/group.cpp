#include "compiler/graph/kernels/group.h"

#include <algorithm>
#include <set>

namespace tf::graph {
namespace {

// More stages than this in one kernel cost registers and compile time and save nothing.
constexpr size_t kMostNodes = 24;

bool is_anchor(const Node& node) {
  return as<Conv>(node) || as<MatMul>(node) || as<Pool>(node) || as<Reduce>(node) || as<Softmax>(node) ||
         as<Resample>(node) || as<DepthToSpace>(node) || as<Sample>(node);
}

enum class Kind : uint8_t { kAnchor, kElementwise, kOther };
Kind kind_of(const Node& node) {
  if (is_anchor(node)) return Kind::kAnchor;
  return is_elementwise(node.op) ? Kind::kElementwise : Kind::kOther;
}

class Grouper {
 public:
  explicit Grouper(const Graph& graph)
      : graph_(graph), users_(users(graph)), outputs_(is_output(graph)), taken_(graph.nodes.size()) {}

  std::vector<Group> run() {
    // Anchors first, so that an element-wise node goes to the kernel that saves most by it; and element-wise nodes before
    // what they can take with them.
    for (const Kind kind : {Kind::kAnchor, Kind::kElementwise, Kind::kOther}) {
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        const Node& node = graph_.nodes[i];
        if (taken_[i] || !needs_kernel(node) || kind_of(node) != kind) continue;
        groups_.push_back(kind == Kind::kOther ? Group{{NodeId(i)}} : grow(NodeId(i)));
        if (kind == Kind::kElementwise) take_operands(groups_.back().nodes);
        for (NodeId id : groups_.back().nodes) taken_[index(id)] = true;
      }
    }
    // All operands of a group are made before its last node, and nothing reads it before that.
    std::sort(groups_.begin(), groups_.end(),
              [](const Group& a, const Group& b) { return a.result() < b.result(); });
    return std::move(groups_);
  }

 private:
  // Whether some node outside the set reads this one.
  bool is_open(NodeId id, const std::set<NodeId>& set) const {
    if (outputs_[index(id)]) return true;
    const auto& readers = users_[index(id)];
    return readers.empty() ||
           std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !set.contains(r); });
  }

  // Whether the node can be computed where the first one is: element by element, or, behind a reduction that
  // keeps its axes, row by row: over whole rows again, or one more reduction of them.
  bool keeps_to_rows(NodeId first, NodeId next) const {
    const Node& node = graph_.node(next);
    const std::vector<int64_t> shape = graph_.shape(next);
    const auto* rows = as<Reduce>(graph_.node(first));
    if (is_elementwise(node.op) && shape == graph_.shape(first)) return true;
    if (!rows || !rows->keep_dims) return false;
    const std::vector<int64_t> whole = graph_.shape(graph_.node(first).inputs[0]);
    if (is_elementwise(node.op)) return shape == whole;
    const auto* reduce = as<Reduce>(node);
    return reduce && reduce->keep_dims && reduce->axes == rows->axes && graph_.shape(node.inputs[0]) == whole;
  }

  // Scores of queries and keys, neither of them weights that would be packed, as matrices in a batch.
  bool are_scores(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto* product = as<MatMul>(node);
    return product && !product->transpose_a && !product->transpose_b &&
           !as<Constant>(graph_.node(node.inputs[1]));
  }

  // Whether the node is the softmax of the rows of scores, of which nothing but a product with values is
  // made, or that product.
  bool continues_attention(NodeId first, NodeId next) const {
    if (!are_scores(first)) return false;
    const Node& node = graph_.node(next);
    const std::vector<int64_t> scores = graph_.shape(first);
    if (const auto* softmax = as<Softmax>(node)) {
      const auto& readers = users_[index(next)];
      return !softmax->log && softmax->axis + 1 == node.type.rank() && graph_.shape(next) == scores &&
             !outputs_[index(next)] && readers.size() == 1 && continues_attention(first, readers[0]);
    }
    if (!are_scores(next) || !as<Softmax>(graph_.node(node.inputs[0])) || node.inputs[0] == node.inputs[1])
      return false;
    const std::vector<int64_t> weights = graph_.shape(node.inputs[0]), values = graph_.shape(node.inputs[1]);
    return weights == scores && values.size() == scores.size() &&
           std::equal(values.begin(), values.end() - 2, scores.begin());
  }

  // Adds readers in order; what counts is the last moment at which only the last node was open.
  Group grow(NodeId first) const {
    std::set<NodeId> set = {first};
    std::vector<NodeId> nodes = {first};
    size_t closed = 1;
    while (nodes.size() < kMostNodes) {
      // An output must be stored, so nothing can be fused behind it.
      if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return outputs_[index(id)]; })) break;
      NodeId next = NodeId(graph_.nodes.size());
      for (NodeId id : nodes) {
        for (NodeId reader : users_[index(id)])
          if (!set.contains(reader)) next = std::min(next, reader);
      }
      if (index(next) == static_cast<int>(graph_.nodes.size()) || taken_[index(next)]) break;
      if (!keeps_to_rows(first, next) && !continues_attention(first, next)) break;
      set.insert(next);
      nodes.push_back(next);
      const bool single =
          std::none_of(nodes.begin(), nodes.end() - 1, [&](NodeId id) { return is_open(id, set); });
      if (single) closed = nodes.size();
      if (as<MatMul>(graph_.node(next))) break;  // the second product ends attention
    }
    nodes.resize(closed);
    if (as<Reduce>(graph_.node(first))) take_reduced(nodes);
    if (nodes.size() > 1 && as<MatMul>(graph_.node(nodes.back()))) take_transposes(nodes);
    return {std::move(nodes)};
  }

  // Adds what only the element-wise group reads and can be computed with it, element by element: the other branches of a
  // gate, and parts of a larger tensor. With these inside, more of the readers may follow.
  void take_operands(std::vector<NodeId>& nodes) const {
    const std::vector<int64_t> shape = graph_.shape(nodes.back());
    std::set<NodeId> set(nodes.begin(), nodes.end());
    std::vector<NodeId> open = nodes;
    while (!open.empty()) {
      const NodeId reader = open.back();
      open.pop_back();
      for (NodeId operand : graph_.node(reader).inputs) {
        const Node& node = graph_.node(operand);
        const bool fits = is_elementwise(node.op) || as<Slice>(node) != nullptr;
        if (!fits || set.size() >= kMostNodes || set.contains(operand) || taken_[index(operand)] ||
            graph_.shape(operand) != shape || is_open(operand, set))
          continue;
        set.insert(operand);
        open.push_back(operand);
      }
    }
    nodes.assign(set.begin(), set.end());
  }

  // Adds the element-wise nodes before a reduction that only the group reads: squares before their sum.
  void take_reduced(std::vector<NodeId>& nodes) const {
    const std::vector<int64_t> shape = graph_.shape(graph_.node(nodes.front()).inputs[0]);
    std::set<NodeId> set(nodes.begin(), nodes.end());
    std::vector<NodeId> open = {nodes.front()};
    while (!open.empty()) {
      const NodeId reader = open.back();
      open.pop_back();
      for (NodeId operand : graph_.node(reader).inputs) {
        if (!is_elementwise(graph_.node(operand).op) || set.size() >= kMostNodes || set.contains(operand) ||
            taken_[index(operand)] || graph_.shape(operand) != shape || is_open(operand, set))
          continue;
        set.insert(operand);
        open.push_back(operand);
      }
    }
    nodes.assign(set.begin(), set.end());
  }

  // Whether the node only puts rows in another order, for one reader.
  bool moves_rows(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto* transpose = as<Transpose>(node);
    return transpose && transpose->perm.back() + 1 == node.type.rank() && !taken_[index(id)];
  }

  // Queries and values are read, and the result is written, where the transposes around attention would put
  // them.
  void take_transposes(std::vector<NodeId>& nodes) const {
    const NodeId last = nodes.back();
    for (const NodeId operand : {graph_.node(nodes.front()).inputs[0], graph_.node(last).inputs[1]})
      if (moves_rows(operand) && !outputs_[index(operand)] && users_[index(operand)].size() == 1)
        nodes.insert(nodes.begin(), operand);
    const auto& readers = users_[index(last)];
    if (!outputs_[index(last)] && readers.size() == 1 && moves_rows(readers[0])) nodes.push_back(readers[0]);
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> users_;
  const std::vector<bool> outputs_;
  std::vector<bool> taken_;
  std::vector<Group> groups_;
};

}  // namespace

bool needs_kernel(const Node& node) {
  return !as<Input>(node) && !as<Constant>(node) && !as<Result>(node) && !is_view(node) &&
         !is_runtime_call(node);
}

bool is_runtime_call(const Node& node) {
  return is_host_function(node.op) || !regions(node.op).empty();
}

bool is_view(const Node& node) {
  return as<Reshape>(node) != nullptr;
}

std::vector<Group> make_groups(const Graph& graph) {
  return Grouper(graph).run();
}

}  // namespace tf::graph
