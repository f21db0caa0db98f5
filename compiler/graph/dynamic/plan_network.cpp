#include "compiler/graph/dynamic/plan_network.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/graph/dynamic/join_programs.h"
#include "compiler/graph/dynamic/program_at.h"
#include "compiler/graph/dynamic/quotient_sizes.h"
#include "compiler/tensor/greatest_sizes.h"
#include "compiler/tensor/text.h"

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
    absl::StatusOr<Program> joined = join_samples();
    if (absl::IsOutOfRange(joined.status())) {
      samples_ = sample_runs(network_.dims);
      joined = join_samples();
    }
    if (absl::IsNotFound(joined.status()) || absl::IsOutOfRange(joined.status()))
      return absl::UnimplementedError(joined.status().message());
    TF_RETURN_IF_ERROR(joined.status());
    for (Task& task : joined->tasks) TF_RETURN_IF_ERROR(add_anchors(task));
    return joined;
  }

  absl::StatusOr<Program> join_samples() {
    absl::StatusOr<Program> greatest = plan(tensor::greatest_sizes(network_.dims));
    if (absl::IsNotFound(greatest.status())) greatest = Program();  // it has other kernels
    TF_RETURN_IF_ERROR(greatest.status());
    std::vector<Program> at_points;
    while (true) {
      for (size_t p = at_points.size(); p < samples_.points.size(); ++p) {
        TF_ASSIGN_OR_RETURN(at_points.emplace_back(), plan(samples_.binding(p)));
      }
      Fitters fitters(samples_);
      absl::StatusOr<Program> joined = join_programs(fitters, at_points, *greatest);
      const std::set<std::vector<int64_t>> questions = fitters.questions();
      if (!joined.ok() || questions.empty()) return joined;
      samples_.points.insert(samples_.points.end(), questions.begin(), questions.end());
    }
  }

  // The kernel at the anchors, the greatest first, before that at the first point: what is tuned is tuned for these.
  absl::Status add_anchors(Task& task) const {
    if (task.dims.empty()) return absl::OkStatus();
    std::vector<tensor::KernelSpec> at_sizes;
    for (const tensor::Binding& anchor : network_.anchors) {
      tensor::KernelSpec kernel = task.at_sizes[0];
      TF_ASSIGN_OR_RETURN(const tensor::Workload bound,
                          tensor::bind(task.kernel.workload, sizes_at(anchor).of(task)));
      TF_ASSIGN_OR_RETURN(kernel.workload, tensor::parse_workload(tensor::canonical_text(bound)));
      kernel.workload.label = task.kernel.workload.label;
      kernel.binding.clear();
      at_sizes.push_back(std::move(kernel));
    }
    std::ranges::reverse(at_sizes);
    task.at_sizes.insert(task.at_sizes.begin(), at_sizes.begin(), at_sizes.end());
    return absl::OkStatus();
  }

  Sizes sizes_at(const tensor::Binding& sizes) const { return {network_.dims, sizes}; }

  std::vector<int64_t> values_of(const tensor::Binding& sizes) const {
    std::vector<int64_t> values;
    for (const NamedDimension& dim : network_.dims) values.push_back(sizes.at(dim.var->name));
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
      return absl::StrCat(task_key(task), " ",
                          absl::StrJoin(task.dims, ",", [](std::string* out, const auto& dim) {
                            absl::StrAppend(out, tensor::to_string(dim));
                          }));
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
    const NamedDimension& dim = network_.dims[d];
    std::set<int64_t> numbers = {dim.low, std::min(dim.low + dim.multiple_of, dim.high), dim.high};
    for (const Value& value : program.values)
      for (const tensor::Expr& extent : program.graph.type(value.node).extents)
        if (const auto number = tensor::as_int(extent); number && numbers.size() < kMost)
          if (dim.low < *number && *number < dim.high && *number % dim.multiple_of == 0)
            numbers.insert(*number);
    return {numbers.begin(), numbers.end()};
  }

  // The dimension at a size, the others at their base.
  tensor::Binding sizes_with(size_t d, int64_t size) const {
    tensor::Binding sizes = samples_.binding(0);
    for (const NamedDimension& dim : network_.dims)
      sizes[dim.var->name] = std::clamp(sizes[dim.var->name], dim.low, dim.high);
    sizes[network_.dims[d].var->name] = size;
    return sizes;
  }

  absl::StatusOr<bool> is_right_at(const tensor::Binding& sizes, const Program& program) {
    const absl::StatusOr<Program> there = plan(sizes);
    if (absl::IsNotFound(there.status())) return false;
    TF_RETURN_IF_ERROR(there.status());
    return is_program_at(*there, sizes_at(sizes), program);
  }

  // Sizes that nothing is special about: where the program is not right at one of them, it is not at many.
  absl::Status confirm_elsewhere(size_t d, const Program& program) {
    const NamedDimension& dim = network_.dims[d];
    std::set<int64_t> elsewhere = sizes_where_quotients_change(program, dim);
    uint64_t number = 12345;
    for (int i = 0; i < 3; ++i) {
      number = number * 6364136223846793005u + 1442695040888963407u;
      const auto count = static_cast<uint64_t>((dim.high - dim.low) / dim.multiple_of + 1);
      elsewhere.insert(dim.low + static_cast<int64_t>((number >> 33) % count) * dim.multiple_of);
    }
    for (const int64_t size : elsewhere) {
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
    const NamedDimension fixed = network_.dims[d];
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
