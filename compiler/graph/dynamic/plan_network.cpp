#include "compiler/graph/dynamic/plan_network.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "compiler/graph/dynamic/join_programs.h"

namespace tf::graph {
namespace {

constexpr size_t kMostVariants = 32;

// Gives equal constants of graphs that were imported apart one place in memory.
class ConstantPool {
 public:
  void share(Program& program) {
    for_each_program(program, [&](Program& each) {
      for (Node& node : each.graph.nodes)
        if (auto* constant = std::get_if<Constant>(&node.op)) constant->data = known(constant->data);
    });
  }

 private:
  BlobRef known(const BlobRef& blob) {
    const std::string_view bytes = blob->bytes();
    BlobRef& one = blobs_[{bytes.size(), std::hash<std::string_view>()(bytes)}];
    if (one == nullptr) one = blob;
    return one->bytes() == bytes ? one : blob;
  }

  std::map<std::pair<size_t, size_t>, BlobRef> blobs_;  // by size and hash
};

class NetworkPlanner {
 public:
  NetworkPlanner(const Network& network, const LayoutOptions& options)
      : network_(network), options_(options) {
    options_.trace = &trace_;
  }

  absl::StatusOr<Program> run() {
    TF_ASSIGN_OR_RETURN(Program program, join());
    for (const tensor::Binding& anchor : network_.anchors) TF_RETURN_IF_ERROR(add_variant(anchor, program));
    for (const tensor::Binding& sizes : telling_sizes(program)) TF_RETURN_IF_ERROR(confirm(sizes, program));
    return program;
  }

 private:
  // Every size has the layouts of the first.
  absl::StatusOr<Program> plan(const tensor::Binding& sizes) {
    TF_ASSIGN_OR_RETURN(Graph graph, network_.at(sizes));
    trace_.next = 0;
    TF_ASSIGN_OR_RETURN(Program program, plan_program(std::move(graph), options_));
    constants_.share(program);
    trace_.is_known = true;
    return program;
  }

  absl::StatusOr<Program> join() {
    samples_ = sample(network_.dims);
    std::vector<Program> at_points;
    for (size_t p = 0; p < samples_.points.size(); ++p) {
      TF_ASSIGN_OR_RETURN(at_points.emplace_back(), plan(samples_.binding(p)));
    }
    tensor::Binding high;
    for (const tensor::Dimension& dim : network_.dims) high[dim.var->name] = dim.high;
    absl::StatusOr<Program> greatest = plan(high);
    if (absl::IsNotFound(greatest.status())) greatest = Program();  // it has other kernels
    TF_RETURN_IF_ERROR(greatest.status());
    absl::StatusOr<Program> joined = join_programs(samples_, at_points, *greatest);
    if (absl::IsNotFound(joined.status())) return absl::UnimplementedError(joined.status().message());
    return joined;
  }

  std::vector<int64_t> values_of(const tensor::Binding& sizes) const {
    std::vector<int64_t> values;
    for (const tensor::Dimension& dim : network_.dims) values.push_back(sizes.at(dim.var->name));
    return values;
  }

  bool is_variant(const tensor::Binding& sizes, const Program& program) const {
    return std::ranges::any_of(program.variants,
                               [&](const Variant& variant) { return variant.values == values_of(sizes); });
  }

  absl::Status add_variant(const tensor::Binding& sizes, Program& program) {
    if (is_variant(sizes, program)) return absl::OkStatus();
    if (program.variants.size() >= kMostVariants)
      return absl::UnimplementedError(
          absl::StrCat("the network is another one at each of more than ", kMostVariants, " sizes"));
    TF_ASSIGN_OR_RETURN(Graph graph, network_.at(sizes));
    LayoutOptions own = options_;
    own.trace = nullptr;
    TF_ASSIGN_OR_RETURN(Program variant, plan_program(std::move(graph), own));
    constants_.share(variant);
    for_each_program(variant, [](Program& each) { fix_sizes(each.graph); });
    take_tasks(variant, program);
    program.variants.push_back({values_of(sizes), std::move(variant)});
    return absl::OkStatus();
  }

  // Extents become numbers: names of dimensions are the whole program's.
  static void fix_sizes(Graph& graph) {
    for (Node& node : graph.nodes) {
      node.type = tensor_type(node.type.element, graph.shape(node.type));
      for (TensorType& type : node.more_types) type = tensor_type(type.element, graph.shape(type));
    }
    graph.dims.clear();
    graph.binding.clear();
  }

  // The variant's tasks become the program's.
  static void take_tasks(Program& variant, Program& program) {
    std::map<std::string, int> known;
    for (size_t i = 0; i < program.tasks.size(); ++i) known[task_key(program.tasks[i])] = static_cast<int>(i);
    std::vector<int> numbers;
    for (Task& task : variant.tasks) {
      const auto [found, is_new] = known.try_emplace(task_key(task), static_cast<int>(program.tasks.size()));
      numbers.push_back(found->second);
      if (is_new) program.tasks.push_back(std::move(task));
    }
    for_each_program(variant, [&](Program& each) {
      for (Call& call : each.calls)
        if (auto* kernel = std::get_if<KernelCall>(&call.what))
          kernel->task = numbers[static_cast<size_t>(kernel->task)];
    });
    variant.tasks.clear();
    variant.alternatives.clear();
  }

  // Sizes at which a network may be another one: the ends, and numbers that are extents of it.
  std::vector<tensor::Binding> telling_sizes(const Program& program) const {
    constexpr size_t kMost = 12;  // of a dimension
    std::set<int64_t> numbers;
    for (const Value& value : program.values)
      for (const tensor::Expr& extent : program.graph.type(value.node).extents)
        if (const auto number = tensor::as_int(extent)) numbers.insert(*number);
    std::vector<tensor::Binding> all;
    for (const tensor::Dimension& dim : network_.dims) {
      std::vector<int64_t> sizes = {dim.low, dim.low + 1, dim.high};
      for (const int64_t number : numbers)
        if (dim.low < number && number < dim.high && sizes.size() < kMost) sizes.push_back(number);
      for (const int64_t size : sizes) {
        tensor::Binding binding = samples_.binding(0);
        for (const tensor::Dimension& other : network_.dims)
          binding[other.var->name] = std::clamp(binding[other.var->name], other.low, other.high);
        binding[dim.var->name] = size;
        if (std::ranges::find(all, binding) == all.end()) all.push_back(std::move(binding));
      }
    }
    return all;
  }

  // That the program is right at a size that it was not made of, or else a variant for that size.
  absl::Status confirm(const tensor::Binding& sizes, Program& program) {
    if (is_variant(sizes, program)) return absl::OkStatus();
    const absl::StatusOr<Program> there = plan(sizes);
    if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
    if (there.ok() && is_as_joined(*there, sizes, program)) return absl::OkStatus();
    if (network_.dims.size() == 1) return add_variant(sizes, program);
    return absl::UnimplementedError(
        absl::StrCat("the network is another one where ", tensor::binding_text(sizes)));
  }

  static bool is_as_joined(const Program& there, const tensor::Binding& sizes, const Program& program) {
    if (there.calls.size() != program.calls.size() || there.values.size() != program.values.size())
      return false;
    for (size_t i = 0; i < there.calls.size(); ++i) {
      const int a = there.calls[i].task(), b = program.calls[i].task();
      if ((a < 0) != (b < 0)) return false;
      if (a >= 0 && !is_kernel_at(there.tasks[static_cast<size_t>(a)], program.tasks[static_cast<size_t>(b)],
                                  sizes, program))
        return false;
    }
    return true;
  }

  static bool is_kernel_at(const Task& there, const Task& joined, const tensor::Binding& sizes,
                           const Program& program) {
    tensor::Binding binding = joined.kernel.binding;
    for (size_t d = 0; d < joined.dims.size(); ++d)
      binding[joined.kernel.workload.dims[d].var->name] =
          sizes.at(program.dims[static_cast<size_t>(joined.dims[d])].var->name);
    const auto a = tensor::bind(there.kernel.workload, there.kernel.binding),
               b = tensor::bind(joined.kernel.workload, binding);
    return a.ok() && b.ok() && text_without_constants(*a) == text_without_constants(*b);
  }

  // A constant that grows with a size is a block of the greatest one.
  static std::string text_without_constants(const tensor::Workload& workload) {
    std::string text;
    for (const absl::string_view line : absl::StrSplit(tensor::canonical_text(workload), '\n'))
      if (!absl::StartsWith(line, "constant ")) absl::StrAppend(&text, line, "\n");
    return text;
  }

  const Network& network_;
  LayoutOptions options_;
  LayoutTrace trace_;
  Samples samples_;
  ConstantPool constants_;
};

}  // namespace

Network::Network(Graph graph)
    : at([graph = std::move(graph)](const tensor::Binding&) -> absl::StatusOr<Graph> { return graph; }) {}

absl::StatusOr<Program> plan_network(const Network& network, const LayoutOptions& options) {
  if (!network.dims.empty()) return NetworkPlanner(network, options).run();
  TF_ASSIGN_OR_RETURN(Graph graph, network.at({}));
  return plan_program(std::move(graph), options);
}

}  // namespace tf::graph
