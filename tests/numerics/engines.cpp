#include "tests/numerics/engines.h"

#include <map>

#include "base/status.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/backends/llvm/link.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/kernels/group.h"
#include "compiler/graph/kernels/lower_group.h"
#include "compiler/graph/passes/fold.h"
#include "compiler/graph/program/evaluate.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "tests/support/foreign_code/foreign_code.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::test {
namespace {

using Values = std::vector<double>;

std::string bytes_of(Element element, const Values& values) {
  const Bytes bytes = encode(element, values);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::StatusOr<int32_t> call(const passes::Lowered& lowered, const target::Target& target,
                             std::span<support::AlignedBytes* const> buffers) {
  if (target.arch == target::host_target().arch) {
    TF_ASSIGN_OR_RETURN(const support::CompiledKernel kernel, support::compile_for(lowered.function, target));
    return support::call_kernel(kernel, buffers);
  }
  TF_ASSIGN_OR_RETURN(const backends::KernelCode code, backends::compile(lowered.function, target));
  TF_ASSIGN_OR_RETURN(std::string shared, backends::link_shared(code.object, target));
  return support::call_foreign({.shared_object = std::move(shared),
                                .symbol = lowered.function.name,
                                .workspace_bytes = code.workspace_bytes,
                                .workspace_per_thread_bytes = code.workspace_per_thread_bytes},
                               target, buffers);
}

// One kernel on row-major operands.
absl::StatusOr<Values> run_kernel(const tensor::Workload& workload, const std::vector<Values>& inputs,
                                  const std::string& engine) {
  const bool interpreted = engine == "interpreted";
  TF_ASSIGN_OR_RETURN(const target::Target target,
                      target::parse_target(interpreted ? "x86_64:cpu=haswell" : engine));
  TF_ASSIGN_OR_RETURN(
      const passes::Lowered lowered,
      passes::lower(workload, recipes::default_schedule({.workload = workload, .target = target}), {}));
  const Element result = workload.outputs[0]->element;
  if (interpreted) {
    std::vector<Values> params = inputs;
    params.emplace_back(static_cast<size_t>(lowered.param_elements.back()), 0.0);
    TF_ASSIGN_OR_RETURN(const std::vector<Values> after, interpret_values(lowered.function, params));
    return after.back();
  }
  std::vector<std::unique_ptr<support::AlignedBytes>> buffers;
  std::vector<support::AlignedBytes*> pointers;
  for (size_t i = 0; i < lowered.param_elements.size(); ++i) {
    const Element stored = lowered.function.params[i]->element;
    const auto bytes = static_cast<uint64_t>(lowered.param_elements[i] * tensor::element_bytes(stored));
    buffers.push_back(std::make_unique<support::AlignedBytes>(bytes, 0xFF));
    pointers.push_back(buffers.back().get());
    if (i < inputs.size())
      std::ranges::copy(encode(stored, inputs[i]), buffers.back()->as<std::byte>().begin());
  }
  TF_ASSIGN_OR_RETURN(const int32_t code, call(lowered, target, pointers));
  if (code != TF_KERNEL_OK) return absl::InternalError("the kernel failed");
  return decode(result, buffers.back()->as<std::byte>());
}

// Every group as a kernel of its own.
absl::StatusOr<Values> run_network(const graph::Graph& graph, const std::vector<Values>& inputs,
                                   const std::string& engine) {
  std::map<graph::NodeId, Values> values;
  const std::vector<graph::NodeId> wanted = graph.inputs();
  for (size_t i = 0; i < wanted.size(); ++i) values[wanted[i]] = inputs[i];
  for (const graph::Group& group : graph::make_groups(graph)) {
    TF_ASSIGN_OR_RETURN(const graph::LoweredGroup lowered, graph::lower_group(graph, group));
    TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(lowered.workload, lowered.binding));
    std::vector<Values> operands;
    for (const graph::NodeId id : lowered.inputs) {
      if (const auto* constant = graph::as<graph::Constant>(graph.node(id)); constant && !values.contains(id))
        values[id] = graph::read_floats(graph.type(id).element, constant->data->bytes());
      operands.push_back(values.at(id));
    }
    TF_ASSIGN_OR_RETURN(values[group.result()], run_kernel(bound, operands, engine));
  }
  return values.at(graph.outputs[0].node);
}

// The same network with constants for inputs, folded.
absl::StatusOr<Values> fold_network(const graph::Graph& graph, const std::vector<Values>& inputs) {
  graph::Graph constant = graph;
  const std::vector<graph::NodeId> wanted = graph.inputs();
  for (size_t i = 0; i < wanted.size(); ++i) {
    graph::Node& node = constant.nodes[static_cast<size_t>(graph::index(wanted[i]))];
    node.op = graph::Constant{std::make_shared<const graph::Blob>(bytes_of(node.type.element, inputs[i]))};
  }
  const graph::Graph folded = graph::fold_constants(constant);
  const graph::Node& result = folded.node(folded.outputs[0].node);
  const auto* values = graph::as<graph::Constant>(result);
  if (values == nullptr) return absl::UnimplementedError("it is not folded");
  return graph::read_floats(result.type.element, values->data->bytes());
}

absl::StatusOr<Values> evaluate_network(const graph::Graph& graph, const std::vector<Values>& inputs) {
  std::vector<graph::HostTensor> tensors;
  for (const graph::NodeId id : graph.inputs()) {
    const Element element = graph.type(id).element;
    tensors.push_back({graph.node(id).name, element, graph.shape(id),
                       std::make_shared<const graph::Blob>(bytes_of(element, inputs[tensors.size()]))});
  }
  TF_ASSIGN_OR_RETURN(const std::vector<graph::HostTensor> outputs, graph::evaluate(graph, tensors));
  return graph::read_floats(outputs[0].element, outputs[0].data->bytes());
}

}  // namespace

absl::StatusOr<Values> results_of(const ElementFunction& function, Element element,
                                  const Arguments& arguments, const std::string& engine) {
  TF_ASSIGN_OR_RETURN(const graph::Graph graph,
                      network_of(function, element, static_cast<int64_t>(arguments.x.size())));
  std::vector<Values> inputs = {arguments.x, arguments.y};
  inputs.resize(static_cast<size_t>(function.operands));
  if (engine == "folded") return fold_network(graph, inputs);
  if (engine == "reference") return evaluate_network(graph, inputs);
  return run_network(graph, inputs, engine);
}

absl::Status compile_function(const ElementFunction& function, Element element, const std::string& target) {
  TF_ASSIGN_OR_RETURN(const graph::Graph graph, network_of(function, element, 100));
  TF_ASSIGN_OR_RETURN(const target::Target parsed, target::parse_target(target));
  for (const graph::Group& group : graph::make_groups(graph)) {
    TF_ASSIGN_OR_RETURN(const graph::LoweredGroup lowered, graph::lower_group(graph, group));
    TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(lowered.workload, lowered.binding));
    const schedule::Schedule schedule = recipes::default_schedule({.workload = bound, .target = parsed});
    TF_ASSIGN_OR_RETURN(const passes::Lowered kernel, passes::lower(bound, schedule, {}));
    TF_RETURN_IF_ERROR(backends::compile(kernel.function, parsed).status());
  }
  return absl::OkStatus();
}

}  // namespace tf::test
