#include "compiler/graph/program/program.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/kernels/task_labels.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/gather_indices.h"
#include "compiler/graph/program/reuse_distance.h"

namespace tf::graph {
namespace {

using tensor::Layout;

class Planner {
 public:
  explicit Planner(Graph graph)
      : program_{.graph = std::move(graph)}, reuse_distance_bytes_(reuse_distance_bytes(program_.graph)) {}

  absl::StatusOr<Program> run(const LayoutOptions& options) {
    TF_RETURN_IF_ERROR(lower(options));
    for (NodeId input : graph().inputs()) {
      TF_ASSIGN_OR_RETURN(const int value, add_value(input, {}));
      program_.inputs.push_back(value);
      fixed_[program_.inputs.back()] = true;
    }
    for (PlannedGroup& planned : groups_) TF_RETURN_IF_ERROR(emit(planned));
    for (const Output& output : graph().outputs) TF_RETURN_IF_ERROR(emit_output(output));
    TF_RETURN_IF_ERROR(tell_apart(program_.tasks, program_.alternatives));
    return std::move(program_);
  }

 private:
  const Graph& graph() const { return program_.graph; }

  absl::Status lower(const LayoutOptions& options) {
    for (Group& group : make_groups(graph())) {
      TF_ASSIGN_OR_RETURN(LoweredGroup lowered, lower_group(graph(), group));
      std::vector<NodeId> inputs = lowered.inputs;
      TF_ASSIGN_OR_RETURN(Task task, make_task(std::move(lowered)));
      task.kernel.reuse_distance_bytes = reuse_distance_bytes_;
      groups_.push_back({std::move(group), std::move(task), std::move(inputs)});
    }
    TF_ASSIGN_OR_RETURN(LayoutChoice choice, choose_layouts(graph(), groups_, options));
    program_.alternatives = std::move(choice.alternatives);
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
    task.kernel.reuse_distance_bytes = reuse_distance_bytes_;
    task.kernel.ports.inputs[0] = in;
    task.kernel.ports.outputs[0] = out;
    const std::string name = absl::StrCat(graph().node(target).name, " (copy)");
    Call call{add_task(std::move(task), name), name, {{from, source}}};
    TF_ASSIGN_OR_RETURN(call.result, add_value(target, out));
    program_.calls.push_back(std::move(call));
    return program_.calls.back().result;
  }

  int add_task(Task task, const std::string& name) {
    const std::string key = task_key(task);
    auto [known, missing] = tasks_.try_emplace(key, static_cast<int>(program_.tasks.size()));
    if (missing) program_.tasks.push_back(std::move(task));
    Task& counted = program_.tasks[known->second];
    ++counted.count;
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
    call.task = add_task(std::move(planned.task), call.name);
    TF_ASSIGN_OR_RETURN(call.result, add_value(result, out));
    program_.calls.push_back(std::move(call));
    return absl::OkStatus();
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
    if (!can_concat_in_place(graph(), concat, layout)) return false;
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
  const uint64_t reuse_distance_bytes_;
  std::vector<PlannedGroup> groups_;
  std::map<std::pair<NodeId, std::string>, int> known_;
  std::map<std::string, int> tasks_;
  std::vector<bool> fixed_;  // the value's bytes are the model's input or output
};

}  // namespace

absl::StatusOr<Program> plan_program(Graph graph, const LayoutOptions& options) {
  return Planner(optimize(std::move(graph))).run(options);
}

}  // namespace tf::graph
