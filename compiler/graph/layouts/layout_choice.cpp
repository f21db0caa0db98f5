#include "compiler/graph/layouts/layout_choice.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/graph/found.h"
#include "compiler/graph/layouts/channels_last.h"
#include "compiler/graph/program/gather_indices.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/layout.h"
#include "compiler/runtime/model_abi.h"

namespace tf::graph {
namespace {

using tensor::Layout;

// The search: `made_[n]` says whether node n's result is made blocked, `wanted_[g][k]` whether group g reads
// its k-th activation blocked.
class Search {
 public:
  Search(const Graph& graph, std::vector<PlannedGroup>& groups, const LayoutOptions& options)
      : graph_(graph),
        groups_(groups),
        options_(options),
        eligible_(graph.nodes.size()),
        outputs_(is_output(graph)) {
    if (options.channels_last && options.lanes > 1)
      eligible_ = may_have_channels_last(graph, groups, *options.channels_last, options.lanes);
    else
      for (size_t i = 0; i < graph.nodes.size(); ++i) eligible_[i] = is_eligible(NodeId(i));
    // Indices are checked as they lie in memory, where blocks may have gaps.
    for (const PlannedGroup& group : groups)
      if (const auto indices = indices_of(graph, group.group)) eligible_[index(indices->node)] = false;
    for (size_t g = 0; g < groups.size(); ++g) {
      producer_[groups[g].group.result()] = g;
      for (size_t k = 0; k < groups[g].inputs.size(); ++k)
        if (groups[g].task.kernel.workload.inputs[k].constant)
          continue;
        else
          readers_[groups[g].inputs[k]].push_back(g);
    }
  }

  absl::StatusOr<LayoutChoice> run() {
    expect_kernels();
    LayoutChoice choice;
    double& least = choice.nanoseconds;
    std::vector<char> best_made;
    std::vector<std::vector<char>> best_wanted;
    for (bool blocked : {true, false}) {
      start(blocked);
      TF_ASSIGN_OR_RETURN(const double total, descend());
      if (best_wanted.empty() || total < least) {
        least = total;
        best_made = made_;
        best_wanted = wanted_;
      }
      if (options_.lanes <= 1) break;
    }
    made_ = best_made;
    wanted_ = best_wanted;
    TF_RETURN_IF_ERROR(list_alternatives(choice));
    for (size_t g = 0; g < groups_.size(); ++g) set_layouts(g, groups_[g].task);
    return choice;
  }

 private:
  using Copy = std::pair<NodeId, bool>;  // into vectors of channels, or out of them

  bool is_eligible(NodeId id) const {
    const TensorType& type = graph_.type(id);
    if (as<MatMul>(graph_.node(id))) return false;  // matrices in a batch are no feature maps
    if (type.rank() != 4 || options_.lanes <= 1 || tensor::element_bytes(type.element) > 4) return false;
    const std::vector<int64_t> shape = graph_.shape(type);
    return shape[1] >= options_.lanes && shape[2] * shape[3] > 1;
  }
  Layout layout(bool blocked) const {
    if (!blocked) return {};
    if (options_.channels_last) return Layout{{{0, 0}, {2, 0}, {3, 0}, {1, 0}}};
    return Layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, options_.lanes}}};
  }

  void start(bool blocked) {
    made_.assign(graph_.nodes.size(), 0);
    wanted_.clear();
    for (const PlannedGroup& group : groups_) {
      if (blocked && eligible_[index(group.group.result())]) made_[index(group.group.result())] = 1;
      std::vector<char> wanted;
      for (NodeId input : group.inputs) wanted.push_back(blocked && eligible_[index(input)]);
      wanted_.push_back(std::move(wanted));
    }
  }

  void expect_kernels() {
    std::vector<Task> tasks;
    for (bool blocked : {true, false}) {
      start(blocked);
      for (size_t g = 0; g < groups_.size(); ++g) {
        tasks.push_back(groups_[g].task);
        set_layouts(g, tasks.back());
      }
    }
    cost().expect(tasks);
  }

  void set_layouts(size_t g, Task& task) const {
    size_t activation = 0;
    for (size_t k = 0; k < groups_[g].inputs.size(); ++k) {
      if (!task.kernel.workload.inputs[k].constant)
        task.kernel.ports.inputs[activation++] = layout(wanted_[g][k]);
    }
    task.kernel.ports.outputs[0] = layout(made_[index(groups_[g].group.result())]);
  }

  double kernel_cost(size_t g) {
    const Group& group = groups_[g].group;
    std::string key(1, static_cast<char>('0' + made_[index(group.result())]));
    for (char wanted : wanted_[g]) key += static_cast<char>('0' + wanted);
    auto [known, missing] = kernel_costs_.try_emplace({g, key}, 0.0);
    if (missing) {
      Task task = groups_[g].task;
      set_layouts(g, task);
      known->second = is_free_concat(g, task) ? 0 : cost().nanoseconds(task);
    }
    return known->second;
  }

  bool is_free_concat(size_t g, const Task& task) const {
    const bool uniform = std::all_of(task.kernel.ports.inputs.begin(), task.kernel.ports.inputs.end(),
                                     [&](const Layout& in) { return in == task.kernel.ports.outputs[0]; });
    return uniform && can_concat_in_place(graph_, groups_[g].group.result(), task.kernel.ports.outputs[0],
                                          options_.alignment_bytes);
  }

  absl::StatusOr<Task> copy_task(const Copy& copy) const {
    TF_ASSIGN_OR_RETURN(LoweredGroup lowered, lower_copy(graph_, copy.first));
    TF_ASSIGN_OR_RETURN(Task task, make_task(std::move(lowered)));
    if (!groups_.empty()) task.kernel.reuse_distance_bytes = groups_[0].task.kernel.reuse_distance_bytes;
    task.kernel.ports.inputs[0] = layout(!copy.second);
    task.kernel.ports.outputs[0] = layout(copy.second);
    return task;
  }

  absl::StatusOr<double> copy_cost(const Copy& copy) {
    auto [known, missing] = copy_costs_.try_emplace(copy, 0.0);
    if (missing) {
      TF_ASSIGN_OR_RETURN(const Task task, copy_task(copy));
      known->second = cost().nanoseconds(task);
    }
    return known->second;
  }

  // What the nodes' layouts and their readers' wishes want copied.
  std::set<Copy> copies() const {
    std::set<Copy> copies;
    auto want = [&](NodeId node, bool blocked) {
      if (made_[index(node)] != static_cast<char>(blocked)) copies.insert({node, blocked});
    };
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (size_t k = 0; k < groups_[g].inputs.size(); ++k) {
        if (!groups_[g].task.kernel.workload.inputs[k].constant) want(groups_[g].inputs[k], wanted_[g][k]);
      }
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (outputs_[i]) want(NodeId(i), false);
      if (is_view(graph_.nodes[i])) want(graph_.nodes[i].inputs[0], false);
      if (is_runtime_call(graph_.nodes[i])) {
        for (NodeId input : graph_.nodes[i].inputs)
          if (!as<Constant>(graph_.node(input))) want(input, false);
      }
    }
    return copies;
  }

  absl::StatusOr<double> total() {
    double sum = 0;
    for (size_t g = 0; g < groups_.size(); ++g) sum += kernel_cost(g);
    for (const Copy& copy : copies()) {
      TF_ASSIGN_OR_RETURN(const double cost, copy_cost(copy));
      sum += cost;
    }
    return sum;
  }

  // What stands around the node: the group that makes it and those that read it.
  std::set<size_t> groups_around(NodeId node) const {
    std::set<size_t> around;
    if (auto made = producer_.find(node); made != producer_.end()) around.insert(made->second);
    if (auto read = readers_.find(node); read != readers_.end())
      around.insert(read->second.begin(), read->second.end());
    return around;
  }

  // What the network runs around one node that is stored otherwise, and what that costs more as a share of what
  // these kernels take.
  struct Flip {
    double more = 0;
    std::map<std::string, Task> tasks;  // by task_key
  };
  absl::StatusOr<Flip> flip(NodeId node, double chosen) {
    made_[index(node)] = !made_[index(node)];
    flip_readers(node, made_[index(node)]);
    Flip flip;
    double around = 0;
    for (size_t g : groups_around(node)) {
      around += kernel_cost(g);
      add_kernel(g, flip.tasks);
    }
    TF_RETURN_IF_ERROR(add_copies([&](const Copy& copy) { return copy.first == node; }, flip.tasks));
    TF_ASSIGN_OR_RETURN(const double now, total());
    flip.more = (now - chosen) / around;
    return flip;
  }

  void add_kernel(size_t g, std::map<std::string, Task>& tasks) const {
    Task task = groups_[g].task;
    set_layouts(g, task);
    if (!is_free_concat(g, task)) tasks.emplace(task_key(task), std::move(task));
  }

  template <typename Wanted>
  absl::Status add_copies(const Wanted& wanted, std::map<std::string, Task>& tasks) const {
    for (const Copy& copy : copies()) {
      if (!wanted(copy)) continue;
      TF_ASSIGN_OR_RETURN(Task task, copy_task(copy));
      tasks.emplace(task_key(task), std::move(task));
    }
    return absl::OkStatus();
  }

  absl::Status list_alternatives(LayoutChoice& choice) {
    // As far as an estimate may be wrong; and measuring them must not cost what tuning the others does.
    constexpr double kClose = 0.25;
    constexpr size_t kTasksOfOne = 4;
    std::map<std::string, Task> listed;
    for (size_t g = 0; g < groups_.size(); ++g) add_kernel(g, listed);
    const size_t most = listed.size() / kTasksOfOne + 1;
    TF_RETURN_IF_ERROR(add_copies([](const Copy&) { return true; }, listed));
    std::vector<Flip> flips;
    const auto made = made_;
    const auto wanted = wanted_;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!eligible_[i] || !producer_.contains(NodeId(i))) continue;
      TF_ASSIGN_OR_RETURN(Flip flipped, flip(NodeId(i), choice.nanoseconds));
      made_ = made;
      wanted_ = wanted;
      if (flipped.more <= kClose) flips.push_back(std::move(flipped));
    }
    std::ranges::stable_sort(flips, {}, &Flip::more);
    for (Flip& flip : flips) {
      std::erase_if(flip.tasks, [&](const auto& entry) { return listed.contains(entry.first); });
      if (choice.alternatives.size() + flip.tasks.size() > most) continue;
      for (const auto& [key, task] : flip.tasks) choice.alternatives.push_back(task);
      listed.merge(flip.tasks);
    }
    return absl::OkStatus();
  }

  void flip_readers(NodeId node, bool blocked) {
    for (size_t g : readers_[node]) {
      for (size_t k = 0; k < groups_[g].inputs.size(); ++k) {
        if (groups_[g].inputs[k] == node) wanted_[g][k] = blocked;
      }
    }
  }

  // Tries one change; keeps it if the total falls.
  template <typename Change>
  absl::StatusOr<bool> attempt(double& current, Change&& change) {
    const auto made = made_;
    const auto wanted = wanted_;
    change();
    TF_ASSIGN_OR_RETURN(const double now, total());
    if (now < current - 1e-6) {
      current = now;
      return true;
    }
    made_ = made;
    wanted_ = wanted;
    return false;
  }

  absl::StatusOr<double> descend() {
    TF_ASSIGN_OR_RETURN(double current, total());
    constexpr int kSweeps = 4;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool better = false;
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        const NodeId node = NodeId(i);
        if (!eligible_[i] || as<Constant>(graph_.nodes[i])) continue;
        const bool produced = producer_.contains(node);
        // What is made and what is read, only what is made, only what is read.
        for (int what = produced ? 0 : 2; what < 3; ++what) {
          TF_ASSIGN_OR_RETURN(const bool kept, attempt(current, [&] {
                                const bool now = what == 2 ? !reads_blocked(node) : !made_[i];
                                if (what != 2) made_[i] = now;
                                if (what != 1) flip_readers(node, now);
                              }));
          better = better || kept;
        }
      }
      if (!better) break;
    }
    return current;
  }

  bool reads_blocked(NodeId node) {
    for (size_t g : readers_[node]) {
      for (size_t k = 0; k < groups_[g].inputs.size(); ++k)
        if (groups_[g].inputs[k] == node) return wanted_[g][k];
    }
    return false;
  }

  LayoutCost& cost() { return options_.cost ? *options_.cost : estimate_; }

  const Graph& graph_;
  std::vector<PlannedGroup>& groups_;
  const LayoutOptions& options_;
  StaticLayoutCost estimate_;
  std::vector<bool> eligible_;
  const std::vector<bool> outputs_;
  std::map<NodeId, size_t> producer_;
  std::map<NodeId, std::vector<size_t>> readers_;
  std::vector<char> made_;
  std::vector<std::vector<char>> wanted_;
  std::map<std::pair<size_t, std::string>, double> kernel_costs_;
  std::map<Copy, double> copy_costs_;
};

}  // namespace

absl::StatusOr<LayoutChoice> choose_layouts(const Graph& graph, std::vector<PlannedGroup>& groups,
                                            const LayoutOptions& options) {
  return Search(graph, groups, options).run();
}

absl::StatusOr<int64_t> physical_elements(const Graph& graph, NodeId node, const Layout& layout) {
  const std::vector<int64_t> shape = graph.shape(node);
  tf_layout parsed;
  TF_CHECK(tf_layout_parse(layout.text().c_str(), static_cast<int32_t>(shape.size()), &parsed) == 0)
      << layout.text();
  const int64_t elements = tf_layout_elements(&parsed, shape.data(), static_cast<int32_t>(shape.size()));
  if (elements >= 0) return elements;
  return absl::ResourceExhaustedError(absl::StrCat("node '", graph.node(node).name, "' is ",
                                                   to_string(graph.type(node)), ", too large for its layout ",
                                                   layout.text()));
}

LayoutOptions layout_options(const target::Target& target, LayoutCost* cost) {
  if (target.is_hosted() || target.gpu.block_threads == 0)
    return {.lanes = target.fp32_lanes(), .cost = cost};
  using tensor::Element;
  LayoutOptions options{.lanes = 1, .cost = cost, .alignment_bytes = TF_DEVICE_ALIGNMENT};
  std::vector<Element> multiplied;
  if (target.has("mma_f16")) multiplied.push_back(Element::kFloat16);
  if (target.has("mma_bf16")) multiplied.push_back(Element::kBFloat16);
  if (target.has("mma_s8")) multiplied.insert(multiplied.end(), {Element::kInt8, Element::kUInt8});
  if (multiplied.empty()) return options;
  options.lanes = 8;  // 16 bytes of halves, as much as a thread copies at once
  options.channels_last = std::move(multiplied);
  return options;
}

namespace {

// Those outside of the axis, in memory.
std::vector<int64_t> outer_axes(const Layout& layout, int64_t axis) {
  std::vector<int64_t> outer;
  for (const tensor::LayoutAxis& each : layout.axes) {
    if (each.axis == axis) return outer;
    outer.push_back(each.axis);
  }
  outer.resize(static_cast<size_t>(axis));
  std::iota(outer.begin(), outer.end(), 0);
  return outer;
}

}  // namespace

bool can_concat_in_place(const Graph& graph, NodeId concat, const Layout& layout, int64_t alignment_bytes) {
  const Node& node = graph.node(concat);
  auto* op = as<Concat>(node);
  if (!op) return false;
  const std::vector<int64_t> shape = graph.shape(concat);
  for (const int64_t axis : outer_axes(layout, op->axis)) {
    if (shape[axis] != 1) return false;  // the operands interleave
  }
  // In a blocked layout the axis must be the outermost that is not 1, and blocks must be filled.
  int64_t block = 1;
  for (const tensor::LayoutAxis& axis : layout.axes) {
    if (axis.axis == op->axis && axis.block > 0) block *= axis.block;
    if (axis.axis != op->axis && axis.block > 0) return false;
  }
  // Offsets in the whole would have to be known before what lies in front is found.
  if (depends_on_found(graph)[index(concat)]) return false;
  const std::vector<bool> outputs = is_output(graph);
  std::set<NodeId> seen;
  int64_t offset_bytes = 0;
  for (NodeId input : node.inputs) {
    const Node& operand = graph.node(input);
    if (as<Input>(operand) || as<Constant>(operand) || is_view(operand)) return false;
    // An operand that must lie elsewhere too: in an output, or in a second place of a concatenation.
    if (outputs[index(input)] || !seen.insert(input).second) return false;
    if (graph.shape(input)[op->axis] % block != 0 || offset_bytes % alignment_bytes != 0) return false;
    const absl::StatusOr<int64_t> elements = physical_elements(graph, input, layout);
    if (!elements.ok()) return false;
    offset_bytes += *elements * tensor::element_bytes(operand.type.element);
  }
  return true;
}

}  // namespace tf::graph
