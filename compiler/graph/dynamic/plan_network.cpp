#include "compiler/graph/dynamic/plan_network.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "compiler/graph/dynamic/join_programs.h"
#include "compiler/graph/program/host_calls.h"

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
    for (size_t d = 0; d < network_.dims.size(); ++d)
      for (const int64_t size : telling_sizes(d, program)) TF_RETURN_IF_ERROR(confirm(d, size, program));
    for (size_t d = 0; d < network_.dims.size(); ++d) TF_RETURN_IF_ERROR(confirm_elsewhere(d, program));
    return program;
  }

 private:
  absl::StatusOr<Graph> graph_at(const tensor::Binding& sizes) const {
    absl::StatusOr<Graph> graph = network_.at(sizes);
    if (graph.ok()) return graph;
    return absl::Status(graph.status().code(),
                        absl::StrCat("with ", tensor::binding_text(sizes), ": ", graph.status().message()));
  }

  // Every size has the layouts of the first.
  absl::StatusOr<Program> plan(const tensor::Binding& sizes) {
    TF_ASSIGN_OR_RETURN(Graph graph, graph_at(sizes));
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
    TF_RETURN_IF_ERROR(joined.status());
    for (Task& task : joined->tasks) TF_RETURN_IF_ERROR(add_anchors(task));
    return joined;
  }

  // The kernel at the anchors, the greatest first, before that at the first point: what is tuned is tuned for these.
  absl::Status add_anchors(Task& task) const {
    if (task.dims.empty()) return absl::OkStatus();
    std::vector<tensor::KernelSpec> at_sizes;
    for (const tensor::Binding& anchor : network_.anchors) {
      tensor::KernelSpec kernel = task.at_sizes[0];
      TF_ASSIGN_OR_RETURN(const tensor::Workload bound,
                          tensor::bind(task.kernel.workload, binding_of(task, anchor)));
      TF_ASSIGN_OR_RETURN(kernel.workload, tensor::parse_workload(tensor::canonical_text(bound)));
      kernel.workload.label = task.kernel.workload.label;
      kernel.binding.clear();
      at_sizes.push_back(std::move(kernel));
    }
    std::ranges::reverse(at_sizes);
    task.at_sizes.insert(task.at_sizes.begin(), at_sizes.begin(), at_sizes.end());
    return absl::OkStatus();
  }

  // Of a joined task's workload, at these sizes of the network.
  tensor::Binding binding_of(const Task& task, const tensor::Binding& sizes) const {
    tensor::Binding binding;
    for (size_t d = 0; d < task.dims.size(); ++d)
      binding[task.kernel.workload.dims[d].var->name] =
          sizes.at(network_.dims[static_cast<size_t>(task.dims[d])].var->name);
    return binding;
  }

  std::vector<int64_t> values_of(const tensor::Binding& sizes) const {
    std::vector<int64_t> values;
    for (const tensor::Dimension& dim : network_.dims) values.push_back(sizes.at(dim.var->name));
    return values;
  }

  static bool has_variant(const std::vector<int64_t>& values, const Program& program) {
    return std::ranges::any_of(program.variants,
                               [&](const Variant& variant) { return variant.values == values; });
  }

  absl::Status add_variant(const tensor::Binding& sizes, Program& program) {
    if (has_variant(values_of(sizes), program)) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(Graph graph, graph_at(sizes));
    LayoutOptions own = options_;
    own.trace = nullptr;
    TF_ASSIGN_OR_RETURN(Program variant, plan_program(std::move(graph), own));
    constants_.share(variant);
    for_each_program(variant, [](Program& each) { fix_sizes(each.graph); });
    take_tasks(variant, program);
    return add({values_of(sizes), std::move(variant)}, program);
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
    const auto key_of = [](const Task& task) {
      return absl::StrCat(task_key(task), " ", absl::StrJoin(task.dims, ","));
    };
    for (size_t i = 0; i < program.tasks.size(); ++i) known[key_of(program.tasks[i])] = static_cast<int>(i);
    std::vector<int> numbers;
    for (Task& task : variant.tasks) {
      const auto [found, is_new] = known.try_emplace(key_of(task), static_cast<int>(program.tasks.size()));
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

  // Sizes of a dimension at which the network may be another one: the ends, and numbers that are extents of it.
  std::vector<int64_t> telling_sizes(size_t d, const Program& program) const {
    constexpr size_t kMost = 12;
    const tensor::Dimension& dim = network_.dims[d];
    std::set<int64_t> numbers = {dim.low, std::min(dim.low + 1, dim.high), dim.high};
    for (const Value& value : program.values)
      for (const tensor::Expr& extent : program.graph.type(value.node).extents)
        if (const auto number = tensor::as_int(extent); number && numbers.size() < kMost)
          if (dim.low < *number && *number < dim.high) numbers.insert(*number);
    return {numbers.begin(), numbers.end()};
  }

  // The dimension at a size, the others at their base.
  tensor::Binding sizes_with(size_t d, int64_t size) const {
    tensor::Binding sizes = samples_.binding(0);
    for (const tensor::Dimension& dim : network_.dims)
      sizes[dim.var->name] = std::clamp(sizes[dim.var->name], dim.low, dim.high);
    sizes[network_.dims[d].var->name] = size;
    return sizes;
  }

  absl::StatusOr<bool> is_right_at(const tensor::Binding& sizes, const Program& program) {
    const absl::StatusOr<Program> there = plan(sizes);
    if (absl::IsNotFound(there.status())) return false;
    TF_RETURN_IF_ERROR(there.status());
    return is_as_joined(*there, sizes, program, {there->tasks, program.tasks});
  }

  // Sizes that nothing is special about: where the program is not right at one of them, it is not at many.
  absl::Status confirm_elsewhere(size_t d, const Program& program) {
    const tensor::Dimension& dim = network_.dims[d];
    uint64_t number = 12345;
    for (int i = 0; i < 3; ++i) {
      number = number * 6364136223846793005u + 1442695040888963407u;
      const int64_t size =
          dim.low + static_cast<int64_t>((number >> 33) % static_cast<uint64_t>(dim.high - dim.low + 1));
      const tensor::Binding sizes = sizes_with(d, size);
      const bool has_own = std::ranges::any_of(
          program.variants, [&](const Variant& variant) { return variant.values[d] == size; });
      if (has_own) continue;
      TF_ASSIGN_OR_RETURN(const bool is_right, is_right_at(sizes, program));
      if (!is_right)
        return absl::UnimplementedError(
            absl::StrCat("the network is another one where ", tensor::binding_text(sizes)));
    }
    return absl::OkStatus();
  }

  // That the program is right at a size that it was not made of; else that size gets a variant.
  absl::Status confirm(size_t d, int64_t size, Program& program) {
    const tensor::Binding sizes = sizes_with(d, size);
    if (has_variant(values_of(sizes), program)) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(const bool is_right, is_right_at(sizes, program));
    if (is_right) return absl::OkStatus();
    return network_.dims.size() == 1 ? add_variant(sizes, program) : add_variant_of(d, size, program);
  }

  // The network with one dimension fixed, as a variant for all sizes of the others.
  absl::Status add_variant_of(size_t d, int64_t size, Program& program) {
    const tensor::Dimension fixed = network_.dims[d];
    Network rest = network_;
    rest.dims.erase(rest.dims.begin() + static_cast<std::ptrdiff_t>(d));
    rest.at = [this, fixed, size](const tensor::Binding& sizes) {
      tensor::Binding all = sizes;
      all[fixed.var->name] = size;
      return network_.at(all);
    };
    rest.anchors.clear();  // they are variants already
    LayoutOptions own = options_;
    own.trace = nullptr;
    TF_ASSIGN_OR_RETURN(Program variant, plan_network(rest, own));
    constants_.share(variant);
    for (Task& task : variant.tasks)
      for (int& dim : task.dims) dim += dim >= static_cast<int>(d) ? 1 : 0;
    std::vector<Variant> inner = std::exchange(variant.variants, {});
    std::vector<Task> tasks = variant.tasks;
    take_tasks(variant, program);
    std::vector<int64_t> values(network_.dims.size(), kAnySize);
    values[d] = size;
    for (Variant& each : inner) {
      each.values.insert(each.values.begin() + static_cast<std::ptrdiff_t>(d), size);
      each.program.tasks = tasks;
      take_tasks(each.program, program);
      TF_RETURN_IF_ERROR(add(std::move(each), program));
    }
    variant.dims.clear();
    return add({std::move(values), std::move(variant)}, program);
  }

  static absl::Status add(Variant variant, Program& program) {
    if (program.variants.size() >= kMostVariants)
      return absl::UnimplementedError(
          absl::StrCat("the network is another one at each of more than ", kMostVariants, " sizes"));
    if (!has_variant(variant.values, program)) program.variants.push_back(std::move(variant));
    return absl::OkStatus();
  }

  // Whether a program that was planned at these sizes is the one for all sizes. `tasks` are those of the whole programs.
  struct Tasks {
    const std::vector<Task>&there, &joined;
  };
  bool is_as_joined(const Program& there, const tensor::Binding& sizes, const Program& program,
                    const Tasks& tasks) const {
    // What computes numbers of the sizes stands for constants.
    std::vector<const Call*> calls;
    for (const Call& call : program.calls)
      if (call.task() < 0 || !call.operands.empty()) calls.push_back(&call);
    if (there.calls.size() != calls.size() || there.bodies.size() != program.bodies.size()) return false;
    if (there.values.size() + program.calls.size() != program.values.size() + calls.size()) return false;
    for (size_t v = 0; v < there.values.size(); ++v) {
      const Value& value = program.values[v];
      if (static_cast<int64_t>(there.values[v].size_bytes) !=
              number_at(value.size_of_run, value.size_bytes, sizes) ||
          static_cast<int64_t>(there.values[v].offset_bytes) !=
              number_at(value.offset_of_run, value.offset_bytes, sizes))
        return false;
    }
    for (size_t i = 0; i < calls.size(); ++i)
      if (!is_call_at(there, there.calls[i], *calls[i], sizes, tasks)) return false;
    for (size_t b = 0; b < there.bodies.size(); ++b)
      if (!is_as_joined(there.bodies[b], sizes, program.bodies[b], tasks)) return false;
    return true;
  }

  bool is_call_at(const Program& program, const Call& there, const Call& joined, const tensor::Binding& sizes,
                  const Tasks& tasks) const {
    if (there.what.index() != joined.what.index() || there.results != joined.results) return false;
    if (there.task() >= 0)
      return is_kernel_at(tasks.there[static_cast<size_t>(there.task())],
                          tasks.joined[static_cast<size_t>(joined.task())], sizes);
    const auto* host = std::get_if<HostCall>(&there.what);
    if (!host) return true;
    const std::vector<int64_t> numbers = host_numbers(*host, program.graph, program.graph.node(there.node));
    if (numbers.size() != joined.numbers.size()) return false;
    for (size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] != number_at(joined.numbers[i], 0, sizes)) return false;
    return true;
  }

  // Of an expression over the network's dimensions; null: the fixed number.
  int64_t number_at(const tensor::Expr& number, uint64_t fixed, const tensor::Binding& sizes) const {
    if (!number) return static_cast<int64_t>(fixed);
    tensor::Substitution values;
    for (const tensor::Dimension& dim : network_.dims)
      values[dim.var.get()] = tensor::imm(sizes.at(dim.var->name));
    return *tensor::as_int(tensor::substitute(number, values));
  }

  bool is_kernel_at(const Task& there, const Task& joined, const tensor::Binding& sizes) const {
    tensor::Binding binding = joined.kernel.binding;
    binding.merge(binding_of(joined, sizes));
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
