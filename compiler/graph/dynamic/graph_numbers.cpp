#include "compiler/graph/dynamic/graph_numbers.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <type_traits>

#include "compiler/graph/element_values.h"

namespace tf::graph {
namespace {

using tensor::Expr;

// Of a whole number, itself; else bits that are those of no small number.
int64_t number_of(double value) {
  constexpr double kExact = int64_t{1} << 52;
  const auto whole = static_cast<int64_t>(std::clamp(value, -kExact, kExact));
  return static_cast<double>(whole) == value ? whole : std::bit_cast<int64_t>(value);
}

class Collector {
 public:
  Collector(const Graph& graph, std::vector<int64_t>& numbers) : graph_(graph), numbers_(numbers) {}

  template <typename T>
  void operator()(const char*, const T& attribute) {
    add(attribute);
  }

 private:
  void add(int64_t value) { numbers_.push_back(value); }
  void add(bool value) { numbers_.push_back(value ? 1 : 0); }
  void add(double value) { numbers_.push_back(number_of(value)); }
  void add(tensor::Element value) { numbers_.push_back(static_cast<int64_t>(value)); }
  void add(const Expr& value) { numbers_.push_back(value ? graph_.value(value) : 0); }
  void add(const Region& region) {
    for (const GraphNumbers::OfNode& node : numbers_of(*region).nodes) {
      numbers_.insert(numbers_.end(), node.extents.begin(), node.extents.end());
      numbers_.insert(numbers_.end(), node.others.begin(), node.others.end());
    }
  }
  template <typename T>
  void add(const std::vector<T>& list) {
    numbers_.push_back(static_cast<int64_t>(list.size()));
    for (const T& each : list) add(each);
  }

  const Graph& graph_;
  std::vector<int64_t>& numbers_;
};

// Weights are the same at all sizes, and constants that grow are checked where they are joined.
void add_constant(const Node& node, std::vector<int64_t>& numbers) {
  constexpr size_t kMost = 64;
  const auto* constant = as<Constant>(node);
  if (!constant) return;
  const std::string_view bytes = constant->data->bytes();
  if (bytes.size() / static_cast<size_t>(tensor::element_bytes(node.type.element)) > kMost) return;
  if (tensor::is_float(node.type.element)) {
    for (const double value : read_floats(node.type.element, bytes)) numbers.push_back(number_of(value));
  } else {
    const std::vector<int64_t> values = read_integers(node.type.element, bytes);
    numbers.insert(numbers.end(), values.begin(), values.end());
  }
}

bool have_same_operators(const GraphNumbers& a, const GraphNumbers& b) {
  return std::ranges::equal(a.nodes, b.nodes, [](const auto& x, const auto& y) {
    return x.op == y.op && x.inputs == y.inputs && x.extents.size() == y.extents.size();
  });
}

class Check {
 public:
  Check(std::span<const GraphNumbers> at_points, const Samples& samples, const GraphNumbers& there,
        const tensor::Binding& sizes)
      : all_(at_points), there_(there), numbers_(samples) {
    for (const NamedDimension& dim : samples.dims)
      values_[dim.var.get()] = tensor::imm(sizes.at(dim.var->name));
  }

  std::vector<bool> run() {
    std::vector<bool> follows;
    for (size_t i = 0; i < there_.nodes.size(); ++i) {
      const GraphNumbers::OfNode& node = there_.nodes[i];
      bool is_right = has_right_numbers(i);
      for (const NodeId input : node.inputs)
        is_right = is_right && follows[static_cast<size_t>(index(input))];
      follows.push_back(is_right);
    }
    return follows;
  }

 private:
  bool has_right_numbers(size_t i) {
    const GraphNumbers::OfNode& node = there_.nodes[i];
    std::vector<Expr> nearby;
    for (const NodeId input : node.inputs) {
      const std::vector<Expr>& extents = extents_[static_cast<size_t>(index(input))];
      nearby.insert(nearby.end(), extents.begin(), extents.end());
    }
    if (node.op == "concat") note_sums(node);
    bool is_right = true;
    std::vector<Expr>& extents = extents_.emplace_back();
    for (size_t k = 0; k < node.extents.size(); ++k) {
      const auto found = find([&](const GraphNumbers& g) { return g.nodes[i].extents[k]; }, nearby);
      is_right = is_right && found && value_of(*found) == node.extents[k];
      extents.push_back(found ? *found : tensor::imm(node.extents[k]));
    }
    const size_t count = node.others.size();
    const bool is_as_long = std::ranges::all_of(all_, [&](const GraphNumbers& g) {
      return g.nodes[i].others.size() == all_[0].nodes[i].others.size();
    });
    if (!is_as_long) return is_right;  // a constant that grows
    if (count != all_[0].nodes[i].others.size()) return false;
    nearby.insert(nearby.end(), extents.begin(), extents.end());
    for (size_t k = 0; k < count; ++k) {
      const auto found = find([&](const GraphNumbers& g) { return g.nodes[i].others[k]; }, nearby);
      is_right = is_right && found && value_of(*found) == node.others[k];
    }
    return is_right;
  }

  // Along its axis a concatenation has the sum of its operands' extents.
  void note_sums(const GraphNumbers::OfNode& node) {
    for (size_t d = 0; d < node.extents.size(); ++d) {
      Expr sum = tensor::imm(0);
      for (const NodeId input : node.inputs) {
        const std::vector<Expr>& extents = extents_[static_cast<size_t>(index(input))];
        if (d < extents.size()) sum = sum + extents[d];
      }
      numbers_.add(sum);
    }
  }

  template <typename Of>
  std::optional<Expr> find(const Of& of, std::span<const Expr> nearby) {
    std::vector<int64_t> values;
    for (const GraphNumbers& each : all_) values.push_back(of(each));
    return numbers_.find(values, nearby);
  }

  int64_t value_of(const Expr& expr) const { return *tensor::as_int(tensor::substitute(expr, values_)); }

  const std::span<const GraphNumbers> all_;
  const GraphNumbers& there_;
  Numbers numbers_;
  tensor::Substitution values_;
  std::vector<std::vector<Expr>> extents_;  // of each node
};

}  // namespace

GraphNumbers numbers_of(const Graph& graph) {
  GraphNumbers all;
  for (const Node& node : graph.nodes) {
    GraphNumbers::OfNode& of_node = all.nodes.emplace_back();
    of_node.op = op_name(node.op);
    of_node.inputs = node.inputs;
    of_node.extents = graph.shape(node.type);
    for (const TensorType& type : node.more_types)
      for (const int64_t extent : graph.shape(type)) of_node.extents.push_back(extent);
    std::visit([&](const auto& op) { visit_attributes(op, Collector(graph, of_node.others)); }, node.op);
    add_constant(node, of_node.others);
  }
  return all;
}

std::vector<bool> follows_from(std::span<const GraphNumbers> at_points, const Samples& samples,
                               const GraphNumbers& there, const tensor::Binding& sizes) {
  for (const GraphNumbers& each : at_points)
    if (!have_same_operators(each, there)) return {};
  return Check(at_points, samples, there, sizes).run();
}

}  // namespace tf::graph
