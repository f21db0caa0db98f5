#include "compiler/driver/model_tables.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/driver/element_number.h"
#include "compiler/driver/library/placed_steps.h"
#include "compiler/driver/size_code.h"
#include "compiler/graph/dynamic/program_at.h"
#include "compiler/graph/dynamic/program_numbers.h"
#include "compiler/graph/program/gather_indices.h"
#include "compiler/graph/program/host_calls.h"
#include "compiler/runtime/blob/model_blob.h"
#include "compiler/runtime/model.h"
#include "compiler/tensor/greatest_sizes.h"

namespace tf::driver {
namespace {

namespace kernel = tunefarm::kernel::v1;
using graph::NodeId;
using kernel::Port;

runtime::ModelBuffer buffer_at(const graph::Place& place, uint64_t size_bytes) {
  const uint32_t space = place.space == graph::Space::kInput    ? TF_SPACE_INPUT
                         : place.space == graph::Space::kOutput ? TF_SPACE_OUTPUT
                                                                : TF_SPACE_ARENA;
  return {space, static_cast<uint32_t>(place.index), place.offset_bytes, size_bytes};
}

static_assert(graph::kAnySize == TF_ANY_VALUE);

// How far the value lies from where its root lies.
tensor::Expr offset_of_run(const graph::Program& program, int value) {
  tensor::Expr sum = tensor::imm(0);
  for (; value >= 0; value = program.values[static_cast<size_t>(value)].within) {
    const graph::Value& part = program.values[static_cast<size_t>(value)];
    sum = sum +
          (part.offset_of_run ? part.offset_of_run : tensor::imm(static_cast<int64_t>(part.offset_bytes)));
  }
  return sum;
}

runtime::ModelBuffer buffer_of(const graph::Program& program, const graph::MemoryPlan& memory, int value,
                               uint64_t size_bytes, const std::vector<graph::NamedDimension>& dims) {
  const graph::Place& place = memory.places[static_cast<size_t>(value)];
  const auto offset = static_cast<int64_t>(place.offset_bytes);
  const tensor::Expr inner = offset_of_run(program, value);
  runtime::ModelBuffer buffer = buffer_at(place, size_bytes);
  if (!tensor::as_int(inner)) {
    const int64_t greatest = program.graph.value(inner);
    buffer.offset_bytes = sized(tensor::imm(offset - greatest) + inner, offset, dims);
  }
  buffer.size_bytes =
      sized(program.values[static_cast<size_t>(value)].size_of_run, static_cast<int64_t>(size_bytes), dims);
  return buffer;
}

runtime::ModelTensor tensor_of(const graph::Program& program, int value, const std::string& name,
                               int64_t index_extent, const std::vector<graph::NamedDimension>& dims) {
  const graph::TensorType& type = program.graph.type(program.values[value].node);
  std::vector<runtime::Sized> extents;
  for (const tensor::Expr& extent : type.extents) {
    const int64_t greatest = program.graph.value(extent);
    extents.push_back(dims.empty() ? runtime::Sized(greatest) : sized(extent, greatest, dims));
  }
  const graph::Value& described = program.values[value];
  return {name, element_number(type.element), std::move(extents),
          sized(described.size_of_run, static_cast<int64_t>(described.size_bytes), dims), index_extent};
}

runtime::ModelIndices indices_of(const graph::Program& program, const graph::Call& call,
                                 const std::vector<graph::NamedDimension>& dims) {
  if (!call.indices) return {};
  const int value = call.operands[static_cast<size_t>(call.indices->operand)].value;
  const tensor::Element element = program.graph.type(program.values[value].node).element;
  return {static_cast<uint32_t>(call.indices->operand), static_cast<uint32_t>(tensor::element_bytes(element)),
          sized(call.indices->extent_of_run, call.indices->extent, dims)};
}

// Makes the steps of a model's programs.
class StepMaker {
 public:
  StepMaker(const graph::Program& model, const std::vector<Kernel>& kernels,
            const std::vector<std::string>& host_functions, Weights& weights)
      : tasks_(model.tasks),
        dims_(model.dims),
        greatest_(dims_, tensor::greatest_sizes(dims_)),
        kernels_(kernels),
        host_functions_(host_functions),
        weights_(weights) {
    for (const Kernel& kernel : kernels) {
      host_numbers_.push_back(host_count_);
      device_numbers_.push_back(device_count_);
      host_count_ += is_for_host(kernel) ? 1 : 0;
      device_count_ += kernel.device ? 1 : 0;
    }
  }

  uint32_t host_count() const { return host_count_; }

  // The bodies that calls of the program run are programs first_body, first_body + 1, ….
  absl::StatusOr<std::vector<PlacedStep>> steps(const graph::Program& program,
                                                const graph::MemoryPlan& memory,
                                                const std::vector<uint32_t>& bodies, bool on_device) {
    std::vector<PlacedStep> steps;
    for (const graph::Call& call : program.calls) {
      absl::StatusOr<runtime::ModelStep> step = call.task() >= 0
                                                    ? kernel_step(program, memory, call, on_device)
                                                    : runtime_step(program, memory, call, bodies);
      if (!step.ok()) return step.status();
      // What a kernel makes is its last buffer; others have results and memory after their operands.
      const size_t read_count = call.task() >= 0 ? step->buffers.size() - 1 : call.operands.size();
      PlacedStep placed{.step = *std::move(step), .read_count = read_count, .wholes = {}};
      placed.wholes = wholes(program, memory, call, placed.step);
      steps.push_back(std::move(placed));
    }
    return steps;
  }

 private:
  // As PlacedStep::wholes.
  std::map<size_t, runtime::ModelBuffer> wholes(const graph::Program& program,
                                                const graph::MemoryPlan& memory, const graph::Call& call,
                                                const runtime::ModelStep& step) const {
    std::map<size_t, runtime::ModelBuffer> found;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (step.buffers[i].offset_bytes.code.empty()) continue;
      int value = call.operands[i].value;
      while (program.values[static_cast<size_t>(value)].within >= 0)
        value = program.values[static_cast<size_t>(value)].within;
      const uint64_t size_bytes = memory.places[static_cast<size_t>(value)].size_bytes;
      found[i] = buffer_of(program, memory, value, size_bytes, dims_);
    }
    return found;
  }

  absl::StatusOr<runtime::ModelStep> kernel_step(const graph::Program& program,
                                                 const graph::MemoryPlan& memory, const graph::Call& call,
                                                 bool on_device) {
    const auto number = static_cast<size_t>(call.task());
    const graph::Task& task = tasks_[number];
    on_device = on_device && kernels_[number].device;
    const kernel::Manifest& manifest =
        on_device ? kernels_[number].device->manifest : kernels_[number].manifest;
    runtime::ModelStep step{.name = call.name,
                            .kind = on_device ? TF_STEP_LAUNCH : TF_STEP_CALL,
                            .key = tensor::workload_key(task.kernel.workload).hex(),
                            .kernel = on_device ? device_numbers_[number] : host_numbers_[number]};
    const auto& ports = manifest.ports();
    const auto made = std::ranges::count_if(ports, [](const Port& port) { return port.has_sums(); });
    const size_t wanted = call.operands.size() + 1 + static_cast<size_t>(made);
    if (static_cast<size_t>(ports.size()) != wanted)
      return wrong_port(absl::StrCat("has ", ports.size(), " ports; ", call.name, " has ", wanted));
    const auto check_size = [&](const Port& port, int value, std::string_view what) {
      const uint64_t size_bytes = program.values[value].size_bytes;
      if (port.size_bytes() == size_bytes) return absl::OkStatus();
      return wrong_port(absl::StrCat("has ", port.size_bytes(), " bytes for ",
                                     absl::string_view(what.data(), what.size()), " of ", call.name,
                                     ", which has ", size_bytes));
    };
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const graph::Operand& operand = call.operands[i];
      const Port& port = ports[static_cast<int>(i)];
      if (operand.value < 0) {
        TF_ASSIGN_OR_RETURN(const uint64_t offset_bytes,
                            weights_.offset_of(program.graph, operand.constant, port));
        step.buffers.push_back({TF_SPACE_WEIGHTS, 0, offset_bytes, port.size_bytes()});
        continue;
      }
      TF_RETURN_IF_ERROR(check_size(port, operand.value, absl::StrCat("operand ", i)));
      step.buffers.push_back(buffer_of(program, memory, operand.value, port.size_bytes(), dims_));
    }
    for (size_t i = call.operands.size(); i + 1 < wanted; ++i) {
      const Port& port = ports[static_cast<int>(i)];
      const size_t of = port.has_sums() ? port.sums().port() : call.operands.size();
      if (of >= call.operands.size() || call.operands[of].value >= 0)
        return wrong_port(absl::StrCat("sums an operand of ", call.name, " that is not a constant"));
      TF_ASSIGN_OR_RETURN(const uint64_t offset_bytes,
                          weights_.offset_of(program.graph, call.operands[of].constant, port));
      step.buffers.push_back({TF_SPACE_WEIGHTS, 0, offset_bytes, port.size_bytes()});
    }
    TF_RETURN_IF_ERROR(check_size(*ports.rbegin(), call.results[0], "the result"));
    step.buffers.push_back(buffer_of(program, memory, call.results[0], ports.rbegin()->size_bytes(), dims_));
    step.dims = {manifest.dim_values().begin(), manifest.dim_values().end()};
    for (const tensor::Expr& dim : std::get<graph::KernelCall>(call.what).dims)
      step.dims.push_back(sized(dim, greatest_(dim), dims_));
    if (!on_device) step.workspace_bytes = manifest.workspace_bytes();
    if (!on_device) step.workspace_per_thread_bytes = manifest.workspace_per_thread_bytes();
    step.flops = task.flops;
    step.bytes = task.bytes;
    step.indices = indices_of(program, call, dims_);
    return step;
  }

  // A host function, a branch or a loop.
  absl::StatusOr<runtime::ModelStep> runtime_step(const graph::Program& program,
                                                  const graph::MemoryPlan& memory, const graph::Call& call,
                                                  const std::vector<uint32_t>& bodies) {
    const graph::Node& node = program.graph.node(call.node);
    runtime::ModelStep step{.name = call.name, .key = ""};
    for (const graph::Operand& operand : call.operands) {
      if (operand.value >= 0) {
        add_value(program, memory, operand.value, step);
        continue;
      }
      TF_ASSIGN_OR_RETURN(const uint64_t offset_bytes, weights_.offset_of(program.graph, operand.constant));
      step.buffers.push_back(
          {TF_SPACE_WEIGHTS, 0, offset_bytes,
           graph::as<graph::Constant>(program.graph.node(operand.constant))->data->bytes().size()});
    }
    for (const auto* values : {&call.results, &call.memory})
      for (int value : *values) add_value(program, memory, value, step);
    if (const auto* host = std::get_if<graph::HostCall>(&call.what)) {
      const auto found = std::ranges::find(host_functions_, host->function);
      step.kernel = host_count_ + static_cast<uint32_t>(found - host_functions_.begin());
      std::vector<int64_t> numbers;
      if (call.numbers.empty()) numbers = graph::host_numbers(*host, program.graph, node);
      for (const tensor::Expr& number : call.numbers) numbers.push_back(program.graph.value(number));
      for (size_t i = 0; i < numbers.size(); ++i) {
        const bool is_open = !call.numbers.empty() && !depends_on_found(call, call.numbers[i]);
        step.dims.push_back(sized(is_open ? call.numbers[i] : nullptr, numbers[i], dims_));
      }
      if (call.finds >= 0) set_found(memory, call, step);
      const tf_host_workspace wanted = graph::host_workspace(host->function, numbers);
      step.workspace_bytes = wanted.bytes;
      step.workspace_per_thread_bytes = wanted.bytes_per_thread;
    } else if (const auto* branch = std::get_if<graph::BranchCall>(&call.what)) {
      step.kind = TF_STEP_BRANCH;
      step.body = bodies[static_cast<size_t>(branch->then_body)];
      step.other_body = bodies[static_cast<size_t>(branch->else_body)];
    } else {
      const auto& loop = *graph::as<graph::Loop>(node);
      step.kind = TF_STEP_LOOP;
      step.body = bodies[static_cast<size_t>(std::get<graph::LoopCall>(call.what).body)];
      const auto joined = static_cast<int64_t>(loop.backward.size()) - loop.scanned;
      step.dims = {loop.conditional ? 1 : 0, loop.carried, loop.scanned, joined};
      step.dims.insert(step.dims.end(), loop.backward.begin(), loop.backward.end());
    }
    return step;
  }

  // Whether the number depends on what the call itself finds.
  bool depends_on_found(const graph::Call& call, const tensor::Expr& number) const {
    return call.finds >= 0 && graph::uses(number, dims_[static_cast<size_t>(call.finds)].var);
  }

  // The call's results have room for the most that it finds.
  static void set_found(const graph::MemoryPlan& memory, const graph::Call& call, runtime::ModelStep& step) {
    for (size_t i = 0; i < call.results.size(); ++i) {
      const graph::Place& place = memory.places[static_cast<size_t>(call.results[i])];
      step.buffers[call.operands.size() + i].size_bytes = static_cast<int64_t>(place.size_bytes);
    }
    step.made = {static_cast<uint32_t>(call.finds),
                 static_cast<uint32_t>(call.operands.size() + call.results.size() - 1)};
  }

  void add_value(const graph::Program& program, const graph::MemoryPlan& memory, int value,
                 runtime::ModelStep& step) const {
    const uint64_t size_bytes = memory.places[static_cast<size_t>(value)].size_bytes;
    step.buffers.push_back(buffer_of(program, memory, value, size_bytes, dims_));
  }

  const std::vector<graph::Task>& tasks_;
  const std::vector<graph::NamedDimension>& dims_;
  const graph::Sizes greatest_;
  const std::vector<Kernel>& kernels_;
  const std::vector<std::string>& host_functions_;
  Weights& weights_;
  // Of each kernel, its number among those for the host and among those for the device.
  std::vector<uint32_t> host_numbers_, device_numbers_;
  uint32_t host_count_ = 0, device_count_ = 0;
};

// The programs of a model, each body after the program that runs it.
struct Flattened {
  std::vector<const graph::Program*> programs;
  std::vector<const graph::MemoryPlan*> memories;
  std::vector<std::vector<uint32_t>> bodies;  // of each program: the numbers of its bodies
};

uint32_t flatten(const graph::Program& program, const graph::MemoryPlan& memory, Flattened& all) {
  const size_t number = all.programs.size();
  all.programs.push_back(&program);
  all.memories.push_back(&memory);
  all.bodies.emplace_back();
  for (size_t i = 0; i < program.bodies.size(); ++i) {
    const uint32_t body = flatten(program.bodies[i], memory.bodies[i], all);
    all.bodies[number].push_back(body);
  }
  return static_cast<uint32_t>(number);
}

void describe_tensors(const graph::Program& program, const std::vector<graph::NamedDimension>& dims,
                      runtime::ModelProgram& model) {
  const std::vector<NodeId> inputs = program.graph.inputs();
  const std::map<NodeId, int64_t> index_inputs = graph::index_inputs(program.graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto used = index_inputs.find(inputs[i]);
    model.inputs.push_back(tensor_of(program, program.inputs[i], program.graph.node(inputs[i]).name,
                                     used == index_inputs.end() ? 0 : used->second, dims));
  }
  for (size_t i = 0; i < program.outputs.size(); ++i)
    model.outputs.push_back(tensor_of(program, program.outputs[i], program.graph.outputs[i].name, 0, dims));
}

// Those that calls find, by number.
std::set<int> found_dims(const graph::Program& program) {
  std::set<int> found;
  for (const graph::Call& call : program.calls)
    if (call.finds >= 0) found.insert(call.finds);
  return found;
}

std::vector<std::string> host_functions(const graph::Program& program) {
  std::set<std::string> names;
  graph::for_each_program(program, [&](const graph::Program& each) {
    for (const graph::Call& call : each.calls)
      if (const auto* host = std::get_if<graph::HostCall>(&call.what)) names.insert(host->function);
  });
  return {names.begin(), names.end()};
}

}  // namespace

bool is_for_host(const Kernel& kernel) {
  return !kernel.device || !kernel.object.empty();
}

bool runs_on_device(const graph::Program& model) {
  return found_dims(model).empty();
}

absl::StatusOr<ModelTables> make_tables(const graph::Program& program, const graph::MemoryPlan& memory,
                                        const std::vector<Kernel>& kernels,
                                        const std::string& device_function) {
  Weights weights(device_function.empty() ? TF_ALIGNMENT : TF_DEVICE_ALIGNMENT);
  std::vector<std::string> functions = host_functions(program);
  StepMaker maker(program, kernels, functions, weights);
  Flattened all;
  flatten(program, memory, all);
  runtime::ModelDescription model;
  const std::set<int> found = found_dims(program);
  for (size_t d = 0; d < program.dims.size(); ++d) {
    const graph::NamedDimension& dim = program.dims[d];
    model.dims.push_back({.name = dim.var->name,
                          .low = dim.low,
                          .high = dim.high,
                          .made_by = found.contains(static_cast<int>(d)) ? TF_DIM_MADE : TF_DIM_GIVEN,
                          .multiple_of = dim.multiple_of});
  }
  std::set<uint32_t> on_device;
  const bool has_device = runs_on_device(program);
  if (has_device) on_device.insert(0);
  for (size_t i = 0; i < program.variants.size(); ++i) {
    const graph::Variant& variant = program.variants[i];
    model.variants.push_back({flatten(variant.program, memory.variants[i], all), variant.values});
    if (has_device) on_device.insert(model.variants.back().program);
  }
  bool uses_device = false;
  for (size_t i = 0; i < all.programs.size(); ++i) {
    runtime::ModelProgram& made = i == 0 ? model : model.bodies.emplace_back();
    describe_tensors(*all.programs[i], program.dims, made);
    made.arena_bytes = all.memories[i]->arena_bytes;
    TF_ASSIGN_OR_RETURN(std::vector<PlacedStep> steps,
                        maker.steps(*all.programs[i], *all.memories[i], all.bodies[i],
                                    on_device.contains(static_cast<uint32_t>(i))));
    TF_ASSIGN_OR_RETURN(made.steps, with_copies(std::move(steps), made));
    uses_device |=
        std::ranges::any_of(made.steps, [](const auto& step) { return step.kind == TF_STEP_LAUNCH; });
  }
  if (uses_device) {
    model.device_function = maker.host_count() + functions.size();
    functions.push_back(device_function);
    for (const Kernel& kernel : kernels)
      if (kernel.device) model.device_kernels.push_back(kernel.device->code);
  }
  model.kernel_count = maker.host_count() + functions.size();
  model.weights_bytes = weights.bytes();
  TF_ASSIGN_OR_RETURN(std::string blob, runtime::encode_model(model));
  return ModelTables{std::move(blob), std::move(weights), functions};
}

}  // namespace tf::driver
