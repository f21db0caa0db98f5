#include "compiler/graph/dynamic/plan_network.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/graph/dynamic/graph_numbers.h"
#include "compiler/graph/dynamic/join_programs.h"
#include "compiler/graph/dynamic/program_at.h"
#include "compiler/graph/dynamic/program_numbers.h"
#include "compiler/graph/dynamic/quotient_sizes.h"
#include "compiler/graph/dynamic/scattered.h"
#include "compiler/graph/found.h"
#include "compiler/tensor/greatest_sizes.h"
#include "compiler/tensor/text.h"

namespace tf::graph {
namespace {

constexpr size_t kMostVariants = 32;

// Gives equal constants of graphs that were imported apart one place in memory.
class ConstantPool {
 public:
  void share(Table& table) { table.data = known(table.data); }
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
  // `found` is what a run finds.
  NetworkPlanner(const Network& network, std::vector<NamedDimension> found, const LayoutOptions& options)
      : network_(network), found_(std::move(found)), dims_(network.dims), options_(options) {
    dims_.insert(dims_.end(), found_.begin(), found_.end());
    options_.trace = &trace_;
    options_.assumes_found = !found_.empty();
  }

  absl::StatusOr<Program> run() {
    TF_ASSIGN_OR_RETURN(Program program, join());
    for (const tensor::Binding& anchor : network_.anchors) TF_RETURN_IF_ERROR(add_variant(anchor, program));
    for (size_t d = 0; d < network_.dims.size(); ++d)
      for (const int64_t size : telling_sizes(d, program)) TF_RETURN_IF_ERROR(confirm(d, size, program));
    for (size_t d = 0; d < network_.dims.size(); ++d) TF_RETURN_IF_ERROR(confirm_elsewhere(d, program));
    if (!found_.empty()) TF_RETURN_IF_ERROR(confirm_found(program));
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
  absl::StatusOr<Program> plan(const tensor::Binding& sizes, TableSlices* sliced = nullptr) {
    TF_ASSIGN_OR_RETURN(Graph graph, graph_at(sizes));
    if (!found_.empty()) imported_ = numbers_of(graph);
    if (sliced) {
      *sliced = table_slices(graph);
      for (auto& [name, window] : *sliced) constants_.share(window.table);
    }
    trace_.next = 0;
    TF_ASSIGN_OR_RETURN(Program program, plan_program(std::move(graph), options_));
    constants_.share(program);
    trace_.is_known = true;
    return program;
  }

  absl::StatusOr<Program> join() {
    samples_ = found_.empty() ? sample(dims_) : sample_scattered(dims_);
    absl::StatusOr<Program> joined = join_samples();
    if (found_.empty() && absl::IsOutOfRange(joined.status())) {
      samples_ = sample_runs(dims_);
      joined = join_samples();
    }
    if (absl::IsNotFound(joined.status()) || absl::IsOutOfRange(joined.status()))
      return absl::UnimplementedError(joined.status().message());
    TF_RETURN_IF_ERROR(joined.status());
    TF_RETURN_IF_ERROR(add_anchors(*joined));
    return joined;
  }

  absl::StatusOr<Program> join_samples() {
    absl::StatusOr<Program> greatest = plan(sizes_of_constants());
    if (absl::IsNotFound(greatest.status())) greatest = Program();  // it has other kernels
    TF_RETURN_IF_ERROR(greatest.status());
    std::vector<Program> at_points;
    std::vector<TableSlices> sliced;
    while (true) {
      for (size_t p = at_points.size(); p < samples_.points.size(); ++p) {
        TF_ASSIGN_OR_RETURN(at_points.emplace_back(), plan(samples_.binding(p), &sliced.emplace_back()));
        if (!found_.empty()) at_points_.push_back(std::move(imported_));
      }
      Fitters fitters(samples_);
      absl::StatusOr<Program> joined = join_programs(fitters, at_points, sliced, *greatest);
      const std::set<std::vector<int64_t>> questions = fitters.questions();
      if (!joined.ok() || questions.empty()) return joined;
      samples_.points.insert(samples_.points.end(), questions.begin(), questions.end());
    }
  }

  // The greatest sizes, at which constants that grow are made: those of the range and of the samples. Those that are found
  // all differ.
  tensor::Binding sizes_of_constants() const {
    tensor::Binding sizes;
    std::set<int64_t> taken;
    for (size_t d = 0; d < dims_.size(); ++d) {
      int64_t size = dims_[d].high;
      for (const std::vector<int64_t>& point : samples_.points) size = std::max(size, point[d]);
      const bool is_found = d >= network_.dims.size();
      while (is_found && (!is_prime(size) || !taken.insert(size).second)) ++size;
      sizes[dims_[d].var->name] = size;
    }
    return sizes;
  }

  // The kernel at the anchors, the greatest first, before that at the first point: what is tuned is tuned for these.
  absl::Status add_anchors(Program& program) const {
    std::set<int> seen;
    absl::Status status;
    for_each_program(program, [&](Program& each) {
      for (const Call& call : each.calls) {
        const auto* kernel = std::get_if<KernelCall>(&call.what);
        if (!kernel || kernel->dims.empty() || !seen.insert(kernel->task).second) continue;
        status.Update(add_anchors(*kernel, program.tasks[static_cast<size_t>(kernel->task)]));
      }
    });
    return status;
  }

  absl::Status add_anchors(const KernelCall& call, Task& task) const {
    std::vector<tensor::KernelSpec> at_sizes;
    for (tensor::Binding anchor : network_.anchors) {
      for (const NamedDimension& dim : found_) anchor[dim.var->name] = dim.high;
      tensor::KernelSpec kernel = task.at_sizes[0];
      TF_ASSIGN_OR_RETURN(
          const tensor::Workload bound,
          tensor::bind(task.kernel.workload, sizes_at(anchor).of(call, task.kernel.workload)));
      TF_ASSIGN_OR_RETURN(kernel.workload, tensor::parse_workload(tensor::canonical_text(bound)));
      kernel.workload.label = task.kernel.workload.label;
      kernel.binding.clear();
      at_sizes.push_back(std::move(kernel));
    }
    std::ranges::reverse(at_sizes);
    task.at_sizes.insert(task.at_sizes.begin(), at_sizes.begin(), at_sizes.end());
    return absl::OkStatus();
  }

  Sizes sizes_at(const tensor::Binding& sizes) const { return {dims_, sizes}; }

  std::vector<int64_t> values_of(const tensor::Binding& sizes) const {
    std::vector<int64_t> values;
    for (const NamedDimension& dim : dims_) {
      const auto size = sizes.find(dim.var->name);
      values.push_back(size == sizes.end() ? kAnySize : size->second);
    }
    return values;
  }

  static bool has_variant(const std::vector<int64_t>& values, const Program& program) {
    return std::ranges::any_of(program.variants,
                               [&](const Variant& variant) { return variant.values == values; });
  }

  absl::Status add_variant(const tensor::Binding& sizes, Program& program) {
    if (has_variant(values_of(sizes), program)) return absl::OkStatus();
    if (sizes.size() < dims_.size()) return add_variant_where(sizes, program);
    TF_ASSIGN_OR_RETURN(Graph graph, graph_at(sizes));
    LayoutOptions own = options_;
    own.trace = nullptr;
    own.assumes_found = false;
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
    for (const NamedDimension& dim : dims_)
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
    const tensor::Binding only = {{dims_[d].var->name, size}};
    if (has_variant(values_of(only), program)) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(const bool is_right, is_right_at(sizes_with(d, size), program));
    return is_right ? absl::OkStatus() : add_variant(only, program);
  }

  // The network with some dimensions fixed, as a variant for all sizes of the others.
  absl::Status add_variant_where(const tensor::Binding& fixed, Program& program) {
    Network rest = network_;
    rest.found = found_;
    std::erase_if(rest.dims, [&](const NamedDimension& dim) { return fixed.contains(dim.var->name); });
    rest.at = [this, fixed](const tensor::Binding& sizes) {
      tensor::Binding all = sizes;
      all.insert(fixed.begin(), fixed.end());
      return network_.at(all);
    };
    rest.anchors.clear();  // they are variants already
    LayoutOptions own = options_;
    own.trace = nullptr;
    own.assumes_found = false;
    TF_ASSIGN_OR_RETURN(Program variant, plan_network(rest, own));
    constants_.share(variant);
    renumber_found(variant);
    std::vector<Variant> inner = std::exchange(variant.variants, {});
    std::vector<Task> tasks = variant.tasks;
    take_tasks(variant, program);
    for (Variant& each : inner) {
      tensor::Binding all = fixed;
      for (size_t d = 0; d < variant.dims.size(); ++d)
        if (each.values[d] != kAnySize) all[variant.dims[d].var->name] = each.values[d];
      each.values = values_of(all);
      each.program.tasks = tasks;
      take_tasks(each.program, program);
      TF_RETURN_IF_ERROR(add(std::move(each), program));
    }
    variant.dims.clear();
    return add({values_of(fixed), std::move(variant)}, program);
  }

  // Calls name what they find by its number among all dimensions.
  void renumber_found(Program& variant) const {
    for_each_program(variant, [&](Program& each) {
      for (Call& call : each.calls) {
        if (call.finds < 0) continue;
        const std::string& name = variant.dims[static_cast<size_t>(call.finds)].var->name;
        const auto dim = std::ranges::find_if(
            dims_, [&](const NamedDimension& candidate) { return candidate.var->name == name; });
        call.finds = static_cast<int>(dim - dims_.begin());
      }
    });
  }

  // No variant can run where nothing or one element is found: the program has to be right there. Planned at one, it would
  // have other kernels; what is compared is the graph as it was imported.
  absl::Status confirm_found(const Program& program) {
    for (const Program& body : program.bodies) TF_RETURN_IF_ERROR(check_is_of_given_sizes(body));
    for (const tensor::Binding& sizes : few_found()) {
      TF_ASSIGN_OR_RETURN(const Graph there, graph_at(sizes));
      if (!has_same_outputs(there, sizes, program))
        return absl::UnimplementedError(
            absl::StrCat("the network is another one where it finds ", tensor::binding_text(sizes)));
    }
    std::vector<tensor::Binding> others;
    for (const int64_t size : {2, 3}) {
      others.push_back(samples_.binding(0));
      for (const NamedDimension& dim : found_) others.back()[dim.var->name] = size;
    }
    const Samples more = sample_scattered(dims_, 2);
    for (size_t p = samples_.points.size(); p < more.points.size(); ++p) others.push_back(more.binding(p));
    for (tensor::Binding& sizes : others) {
      for (const NamedDimension& dim : dims_)
        sizes[dim.var->name] = std::clamp(sizes[dim.var->name], dim.low, dim.high);
      TF_ASSIGN_OR_RETURN(const bool is_right, is_right_at(sizes, program));
      if (!is_right)
        return absl::UnimplementedError(
            absl::StrCat("the network is another one where it finds ", tensor::binding_text(sizes)));
    }
    return absl::OkStatus();
  }

  // What a run finds is known to the steps after it, not within those.
  absl::Status check_is_of_given_sizes(const Program& body) const {
    bool depends = false;
    for_each_number(body, [&](const tensor::Expr& number) {
      depends = depends ||
                std::ranges::any_of(found_, [&](const NamedDimension& dim) { return uses(number, dim.var); });
    });
    return depends ? absl::UnimplementedError(
                         "a branch or a loop works on a size that depends on data, which "
                         "is not supported")
                   : absl::OkStatus();
  }

  // Nothing, or one, from each dimension on, as what is found later may depend on what is found earlier; of few, each.
  std::vector<tensor::Binding> few_found() const {
    constexpr size_t kMost = 8, kFew = 4;
    const size_t step = (found_.size() + kMost - 1) / kMost;
    std::vector<tensor::Binding> few;
    for (const int64_t size : {0, 1}) {
      for (size_t from = 0; from < found_.size(); from += step) {
        few.push_back(samples_.binding(0));
        for (size_t d = from; d < found_.size(); ++d) few.back()[found_[d].var->name] = size;
      }
      for (size_t d = 0; d < found_.size() && found_.size() <= kFew; ++d) {
        tensor::Binding alone = samples_.binding(0);
        alone[found_[d].var->name] = size;
        if (network_.at(alone).ok()) few.push_back(std::move(alone));  // else it cannot be alone
      }
    }
    return few;
  }

  // Whether each output of the graph at these sizes has the shape that the program gives it, and is empty or made as it is
  // at the samples.
  bool has_same_outputs(const Graph& there, const tensor::Binding& sizes, const Program& program) const {
    const std::vector<bool> follows = follows_from(at_points_, samples_, numbers_of(there), sizes);
    const Sizes all = sizes_at(sizes);
    for (size_t i = 0; i < there.outputs.size(); ++i) {
      const TensorType& joined =
          program.graph.type(program.values[static_cast<size_t>(program.outputs[i])].node);
      const NodeId output = there.outputs[i].node;
      const std::vector<int64_t> shape = there.shape(output);
      std::vector<int64_t> of_joined;
      for (const tensor::Expr& extent : joined.extents) of_joined.push_back(all(extent));
      if (shape != of_joined) return false;
      const bool is_made_alike = !follows.empty() && follows[static_cast<size_t>(index(output))];
      if (!is_made_alike && std::ranges::count(shape, 0) == 0) return false;
    }
    return true;
  }

  static absl::Status add(Variant variant, Program& program) {
    if (program.variants.size() >= kMostVariants)
      return absl::UnimplementedError(
          absl::StrCat("the network is another one at each of more than ", kMostVariants, " sizes"));
    if (!has_variant(variant.values, program)) program.variants.push_back(std::move(variant));
    return absl::OkStatus();
  }

  const Network& network_;
  const std::vector<NamedDimension> found_;
  std::vector<NamedDimension> dims_;  // those of the network, then what is found
  LayoutOptions options_;
  LayoutTrace trace_;
  Samples samples_;
  // Of the graph that was planned last, and of those at the samples, where sizes are found.
  GraphNumbers imported_;
  std::vector<GraphNumbers> at_points_;
  ConstantPool constants_;
};

}  // namespace

Network::Network(Graph graph)
    : at([graph = std::move(graph)](const tensor::Binding&) -> absl::StatusOr<Graph> { return graph; }) {}

namespace {

// What a run finds, at most.
absl::StatusOr<std::vector<NamedDimension>> find_dims(const Network& network, const Graph& greatest) {
  std::vector<NamedDimension> found;
  tensor::Binding other = tensor::greatest_sizes(network.dims);
  for (const tensor::Dimension& dim : found_dims(greatest)) {
    found.push_back({dim, 1});
    other[dim.var->name] = dim.high + 1;
  }
  if (found.empty()) return found;
  constexpr size_t kMost = 512;
  if (found.size() > kMost)
    return absl::UnimplementedError(absl::StrCat("the network finds ", found.size(),
                                                 " sizes that depend on data; ", kMost, " are supported"));
  TF_ASSIGN_OR_RETURN(const Graph there, network.at(other));
  for (const NamedDimension& dim : found) {
    const auto size = there.binding.find(dim.var->name);
    if (size == there.binding.end())
      return absl::UnimplementedError(
          absl::StrCat("the network is another one where '", dim.var->name, "' finds more"));
    if (size->second != dim.high + 1) return check_sizes_are_known(greatest);
  }
  return found;
}

}  // namespace

absl::StatusOr<Program> plan_network(const Network& network, const LayoutOptions& options) {
  if (!network.found.empty()) return NetworkPlanner(network, network.found, options).run();
  TF_ASSIGN_OR_RETURN(Graph graph, network.at(tensor::greatest_sizes(network.dims)));
  TF_ASSIGN_OR_RETURN(std::vector<NamedDimension> found, find_dims(network, graph));
  if (network.dims.empty() && found.empty()) return plan_program(std::move(graph), options);
  return NetworkPlanner(network, std::move(found), options).run();
}

}  // namespace tf::graph
