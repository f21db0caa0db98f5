#include "compiler/graph/program/program.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/found.h"
#include "compiler/graph/kernels/task_labels.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/gather_indices.h"
#include "compiler/graph/program/host_calls.h"
#include "compiler/graph/program/reuse_distance.h"

namespace tf::graph {
namespace {

using tensor::Layout;

// The tasks of a program and all its bodies.
struct Tasks {
  std::vector<Task> tasks, alternatives;
  std::map<std::string, int> numbers;  // by task_key
  uint64_t reuse_distance_bytes = 0;
  bool shares_kernels = true;
};

// Of a loop's known number of trips: how often its body runs. Of others: a guess.
int64_t trips_of(const Graph& graph, const Node& node) {
  constexpr int64_t kUnknown = 8;
  const auto* trips = as<Constant>(graph.node(node.inputs[0]));
  if (!trips) return kUnknown;
  return std::clamp<int64_t>(read_integers(tensor::Element::kInt64, trips->data->bytes())[0], 1, 1 << 20);
}

class Planner {
 public:
  // `runs` is how often the model runs the program.
  Planner(Graph graph, Tasks& tasks, int64_t runs)
      : program_{.graph = std::move(graph)}, tasks_(tasks), runs_(runs) {
    complete_results();
  }

  absl::StatusOr<Program> run(const LayoutOptions& options) {
    alignment_bytes_ = options.alignment_bytes;
    TF_RETURN_IF_ERROR(lower(options));
    for (NodeId input : graph().inputs()) {
      TF_ASSIGN_OR_RETURN(const int value, add_value(input, {}));
      program_.inputs.push_back(value);
      fixed_[program_.inputs.back()] = true;
    }
    size_t next = 0;
    for (size_t i = 0; i < graph().nodes.size(); ++i) {
      if (is_runtime_call(graph().nodes[i])) TF_RETURN_IF_ERROR(emit_runtime_call(NodeId(i), options));
      for (; next < groups_.size() && groups_[next].group.result() <= NodeId(i); ++next)
        TF_RETURN_IF_ERROR(emit(groups_[next]));
    }
    for (const Output& output : graph().outputs) TF_RETURN_IF_ERROR(emit_output(output));
    return std::move(program_);
  }

 private:
  const Graph& graph() const { return program_.graph; }

  // A node of Result for each further result: all are values.
  void complete_results() {
    Graph& graph = program_.graph;
    std::vector<std::vector<bool>> known(graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      known[i].resize(graph.nodes[i].more_types.size());
      if (const auto* result = as<Result>(graph.nodes[i]))
        known[index(graph.nodes[i].inputs[0])][static_cast<size_t>(result->index - 1)] = true;
    }
    for (size_t i = 0; i < known.size(); ++i) {
      for (size_t k = 0; k < known[i].size(); ++k) {
        if (known[i][k]) continue;
        const absl::StatusOr<NodeId> added =
            graph.add(Result{static_cast<int64_t>(k) + 1}, {NodeId(i)}, graph.nodes[i].name);
        TF_CHECK(added.ok()) << added.status();
      }
    }
  }

  absl::Status lower(const LayoutOptions& options) {
    for (Group& group : make_groups(graph())) {
      TF_ASSIGN_OR_RETURN(LoweredGroup lowered, lower_group(graph(), group));
      std::vector<NodeId> inputs = lowered.inputs;
      TF_ASSIGN_OR_RETURN(Task task, make_task(std::move(lowered)));
      task.kernel.reuse_distance_bytes = tasks_.reuse_distance_bytes;
      groups_.push_back({std::move(group), std::move(task), std::move(inputs)});
    }
    if (options.trace && options.trace->is_known) return take_layouts(*options.trace);
    TF_ASSIGN_OR_RETURN(LayoutChoice choice, choose_layouts(graph(), groups_, options));
    for (Task& alternative : choice.alternatives) tasks_.alternatives.push_back(std::move(alternative));
    for (const PlannedGroup& group : groups_)
      if (options.trace) options.trace->groups.push_back(group.task.kernel.ports);
    return absl::OkStatus();
  }

  absl::Status take_layouts(LayoutTrace& trace) {
    for (PlannedGroup& group : groups_) {
      tensor::PortLayouts& ports = group.task.kernel.ports;
      const bool fits = trace.next < trace.groups.size() &&
                        trace.groups[trace.next].inputs.size() == ports.inputs.size() &&
                        trace.groups[trace.next].outputs.size() == ports.outputs.size();
      if (!fits) return absl::NotFoundError("the network has other kernels at another size");
      ports = trace.groups[trace.next++];
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> add_value(NodeId node, const Layout& layout) {
    Value value{node, layout};
    TF_ASSIGN_OR_RETURN(const int64_t elements, physical_elements(graph(), node, layout));
    value.size_bytes = elements * tensor::element_bytes(graph().type(node).element);
    program_.values.push_back(std::move(value));
    const int id = static_cast<int>(program_.values.size()) - 1;
    fixed_.push_back(false);
    known_[{node, layout.text()}] = id;
    return id;
  }

  // The node's result in that layout: made already, or by following views and copying.
  absl::StatusOr<int> value(NodeId node, const Layout& layout) {
    if (auto known = known_.find({node, layout.text()}); known != known_.end()) return known->second;
    if (is_view(graph().node(node)) && layout.is_row_major()) {
      const NodeId source = graph().node(node).inputs[0];
      if (as<Constant>(graph().node(source))) return copy(source, node, -1, {}, {});
      TF_ASSIGN_OR_RETURN(const int whole, value(source, {}));
      TF_ASSIGN_OR_RETURN(const int view, add_value(node, {}));
      program_.values[view].within = whole;
      return view;
    }
    for (size_t i = 0; i < program_.values.size(); ++i) {
      if (program_.values[i].node == node)
        return copy(node, node, static_cast<int>(i), program_.values[i].layout, layout);
    }
    if (as<Constant>(graph().node(node))) return copy(node, node, -1, {}, layout);
    TF_CHECK(is_view(graph().node(node))) << "node " << index(node) << " is read before it is made";
    TF_ASSIGN_OR_RETURN(const int plain, value(node, {}));  // a view that is wanted in another layout
    return copy(node, node, plain, {}, layout);
  }

  // A call that copies `source` (a value of it, or the constant itself) into a new value of node `target`.
  absl::StatusOr<int> copy(NodeId source, NodeId target, int from, const Layout& in, const Layout& out) {
    TF_ASSIGN_OR_RETURN(LoweredGroup lowered, lower_copy(graph(), from < 0 ? source : target));
    TF_ASSIGN_OR_RETURN(Task task, make_task(std::move(lowered)));
    task.kernel.reuse_distance_bytes = tasks_.reuse_distance_bytes;
    task.kernel.ports.inputs[0] = in;
    task.kernel.ports.outputs[0] = out;
    const std::string name = absl::StrCat(graph().node(target).name, " (copy)");
    Call call{.what = KernelCall{add_task(std::move(task), name)},
              .node = target,
              .name = name,
              .operands = {{from, source}}};
    TF_ASSIGN_OR_RETURN(const int made, add_value(target, out));
    call.results = {made};
    program_.calls.push_back(std::move(call));
    return made;
  }

  int add_task(Task task, const std::string& name) {
    const std::string key = tasks_.shares_kernels ? task_key(task) : absl::StrCat(tasks_.tasks.size());
    auto [known, missing] = tasks_.numbers.try_emplace(key, static_cast<int>(tasks_.tasks.size()));
    if (missing) tasks_.tasks.push_back(std::move(task));
    Task& counted = tasks_.tasks[known->second];
    counted.count += runs_;
    counted.nodes.push_back(name);
    return known->second;
  }

  absl::Status emit(PlannedGroup& planned) {
    const NodeId result = planned.group.result();
    const Layout out = planned.task.kernel.ports.outputs[0];
    TF_ASSIGN_OR_RETURN(const bool in_place, concat_in_place(planned));
    if (in_place) return absl::OkStatus();
    Call call;
    TF_ASSIGN_OR_RETURN(call.indices, checked_indices(planned));
    size_t activation = 0;
    for (size_t k = 0; k < planned.inputs.size(); ++k) {
      if (planned.task.kernel.workload.inputs[k].constant) {
        call.operands.push_back({-1, planned.inputs[k]});
        continue;
      }
      TF_ASSIGN_OR_RETURN(const int from,
                          value(planned.inputs[k], planned.task.kernel.ports.inputs[activation++]));
      call.operands.push_back({from, planned.inputs[k]});
    }
    call.name = graph().node(planned.group.nodes[0]).name;
    call.node = result;
    call.what = KernelCall{add_task(std::move(planned.task), call.name)};
    TF_ASSIGN_OR_RETURN(const int made, add_value(result, out));
    call.results = {made};
    program_.calls.push_back(std::move(call));
    return absl::OkStatus();
  }

  // A host function, a branch or a loop: operands and results are row-major.
  absl::Status emit_runtime_call(NodeId id, const LayoutOptions& options) {
    const Node node = graph().node(id);
    Call call{.what = HostCall{}, .node = id, .name = node.name};
    for (NodeId input : node.inputs) {
      Operand operand{-1, input};
      if (!as<Constant>(graph().node(input))) {
        TF_ASSIGN_OR_RETURN(operand.value, value(input, {}));
      }
      call.operands.push_back(operand);
    }
    call.results.assign(node.more_types.size() + 1, -1);
    TF_ASSIGN_OR_RETURN(call.results[0], add_value(id, {}));
    for (size_t i = 0; i < graph().nodes.size(); ++i) {
      const auto* result = as<Result>(graph().nodes[i]);
      if (!result || graph().nodes[i].inputs[0] != id) continue;
      TF_ASSIGN_OR_RETURN(const int further, value_of_result(NodeId(i), call, result->index));
      call.results[static_cast<size_t>(result->index)] = further;
    }
    if (const auto* branch = as<If>(node)) {
      TF_ASSIGN_OR_RETURN(const int then_body, body(*branch->then_branch, runs_, options));
      TF_ASSIGN_OR_RETURN(const int else_body, body(*branch->else_branch, runs_, options));
      call.what = BranchCall{then_body, else_body};
      call.memory = {add_memory(id, 0)};
    } else if (const auto* loop = as<Loop>(node)) {
      TF_ASSIGN_OR_RETURN(const int number, body(*loop->body, runs_ * trips_of(graph(), node), options));
      call.what = LoopCall{number};
      add_loop_memory(id, *loop, program_.bodies[static_cast<size_t>(number)], call.memory);
    } else {
      call.what = host_call(node);
    }
    program_.calls.push_back(std::move(call));
    return absl::OkStatus();
  }

  // Of several nodes that stand for one result, all have one value.
  absl::StatusOr<int> value_of_result(NodeId id, const Call& call, int64_t number) {
    const int known = call.results[static_cast<size_t>(number)];
    if (known < 0) return add_value(id, {});
    known_[{id, Layout{}.text()}] = known;
    return known;
  }

  absl::StatusOr<int> body(const Graph& region, int64_t runs, const LayoutOptions& options) {
    TF_ASSIGN_OR_RETURN(Program planned, Planner(region, tasks_, runs).run(options));
    program_.bodies.push_back(std::move(planned));
    return static_cast<int>(program_.bodies.size()) - 1;
  }

  int add_memory(NodeId node, uint64_t size_bytes) {
    program_.values.push_back({.node = node, .layout = {}, .size_bytes = size_bytes});
    fixed_.push_back(false);
    return static_cast<int>(program_.values.size()) - 1;
  }

  // What TF_STEP_LOOP names: the iteration, the condition, another place for each carried value, a slice for each
  // scanned operand and each joined result, the body's arena.
  void add_loop_memory(NodeId id, const Loop& loop, const Program& body, std::vector<int>& memory) {
    const auto size_of = [&](int value) { return body.values[static_cast<size_t>(value)].size_bytes; };
    const auto carried = static_cast<size_t>(loop.carried), scanned = static_cast<size_t>(loop.scanned);
    const size_t conditions = loop.conditional ? 1 : 0;
    memory = {add_memory(id, sizeof(int64_t)), add_memory(id, 1)};
    for (size_t i = 0; i < carried + scanned; ++i)
      memory.push_back(add_memory(id, size_of(body.inputs[1 + i])));
    for (size_t i = conditions + carried; i < body.outputs.size(); ++i)
      memory.push_back(add_memory(id, size_of(body.outputs[i])));
    memory.push_back(add_memory(id, 0));
  }

  // Constant indices are checked here, others in each run.
  absl::StatusOr<std::optional<CheckedIndices>> checked_indices(const PlannedGroup& planned) const {
    const std::optional<GatherIndices> indices = indices_of(graph(), planned.group);
    if (!indices) return std::nullopt;
    if (const auto* known = as<Constant>(graph().node(indices->node))) {
      const std::vector<int64_t> values =
          read_integers(graph().type(indices->node).element, known->data->bytes());
      TF_RETURN_IF_ERROR(check_indices(graph(), planned.group, values));
      return std::nullopt;
    }
    const auto operand = std::ranges::find(planned.inputs, indices->node) - planned.inputs.begin();
    return CheckedIndices{static_cast<int>(operand), indices->extent};
  }

  // Puts the operands' values inside the result's instead of a call, if they can lie there.
  absl::StatusOr<bool> concat_in_place(const PlannedGroup& planned) {
    const NodeId concat = planned.group.result();
    const Layout& layout = planned.task.kernel.ports.outputs[0];
    for (const Layout& in : planned.task.kernel.ports.inputs) {
      if (!(in == layout)) return false;
    }
    if (!can_concat_in_place(graph(), concat, layout, alignment_bytes_)) return false;
    std::vector<int> operands;
    for (NodeId input : graph().node(concat).inputs) {
      TF_ASSIGN_OR_RETURN(const int operand, value(input, layout));
      if (program_.values[operand].within >= 0 || fixed_[operand]) return false;  // lies elsewhere already
      operands.push_back(operand);
    }
    TF_ASSIGN_OR_RETURN(const int whole, add_value(concat, layout));
    uint64_t offset_bytes = 0;
    for (int operand : operands) {
      program_.values[operand].within = whole;
      program_.values[operand].offset_bytes = offset_bytes;
      offset_bytes += program_.values[operand].size_bytes;
    }
    return true;
  }

  // The value that owns the bytes, if the value is all of it and not only a part.
  int root(int value) const {
    while (program_.values[value].within >= 0) {
      const Value& part = program_.values[value];
      if (part.size_bytes != program_.values[part.within].size_bytes) return -1;
      value = part.within;
    }
    return value;
  }

  absl::Status emit_output(const Output& output) {
    const bool constant = as<Constant>(graph().node(output.node)) != nullptr;
    int value_id = -1;
    if (!constant) {
      TF_ASSIGN_OR_RETURN(value_id, value(output.node, {}));
    }
    const int owner = constant ? -1 : root(value_id);
    if (owner < 0 || fixed_[owner]) {
      // An input, a constant, part of a larger value, or the bytes of another output: it needs bytes of its
      // own.
      TF_ASSIGN_OR_RETURN(value_id, copy(output.node, output.node, value_id, {}, {}));
    }
    fixed_[root(value_id)] = true;
    program_.outputs.push_back(value_id);
    return absl::OkStatus();
  }

  Program program_;
  Tasks& tasks_;
  const int64_t runs_;
  int64_t alignment_bytes_ = 0;
  std::vector<PlannedGroup> groups_;
  std::map<std::pair<NodeId, std::string>, int> known_;
  std::vector<bool> fixed_;  // the value's bytes are the model's input or output
};

}  // namespace

absl::StatusOr<Program> plan_program(Graph graph, const LayoutOptions& options) {
  if (!options.assumes_found) TF_RETURN_IF_ERROR(check_sizes_are_known(graph));
  graph = optimize(std::move(graph));
  Tasks tasks{.reuse_distance_bytes = reuse_distance_bytes(graph), .shares_kernels = !options.assumes_found};
  TF_ASSIGN_OR_RETURN(Program program, Planner(std::move(graph), tasks, 1).run(options));
  program.tasks = std::move(tasks.tasks);
  program.alternatives = std::move(tasks.alternatives);
  TF_RETURN_IF_ERROR(tell_apart(program.tasks, program.alternatives));
  return program;
}

}  // namespace tf::graph
