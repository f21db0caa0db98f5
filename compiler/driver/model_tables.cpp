#include "compiler/driver/model_tables.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/driver/element_number.h"
#include "compiler/driver/size_code.h"
#include "compiler/graph/program/gather_indices.h"
#include "compiler/graph/program/host_calls.h"
#include "compiler/runtime/axis_map.h"
#include "compiler/runtime/axis_sum.h"
#include "compiler/runtime/blob/model_blob.h"
#include "compiler/runtime/layout.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/narrow.h"
#include "compiler/schedule/numerics.h"

namespace tf::driver {
namespace {

namespace kernel = tunefarm::kernel::v1;
using graph::NodeId;
using kernel::Port;

// As what a constant of f32 is stored, if it is.
std::optional<tensor::Element> narrowed(const Port& port) {
  if (port.stored_element() == kernel::ELEMENT_TYPE_FLOAT16) return tensor::Element::kFloat16;
  if (port.stored_element() == kernel::ELEMENT_TYPE_BFLOAT16) return tensor::Element::kBFloat16;
  return std::nullopt;
}

// What tells the stored forms of one constant apart.
std::string storage_text(const Port& port) {
  std::string text = port.layout();
  if (const auto element = narrowed(port))
    absl::StrAppend(&text, " ", std::string(tensor::element_name(*element)));
  if (port.has_sums()) absl::StrAppend(&text, " sums ", absl::StrJoin(port.sums().axes(), ","));
  for (const kernel::AxisMap& map : port.maps())
    absl::StrAppend(&text, " ", map.axis(), ":", map.rows(), ":", absl::StrJoin(map.matrix(), ","));
  return text;
}

// Of one constant: 64 GiB of floats, as the device agent allows.
constexpr int64_t kMostElements = int64_t{1} << 34;

// What a kernel says of its buffers comes from another process and is believed of nothing: where it cannot be
// true, the model is not built.
absl::Status wrong_port(std::string_view what) {
  return absl::InternalError(
      absl::StrCat("a build worker returned a kernel that ", absl::string_view(what.data(), what.size())));
}

// The f32 values after the port's maps; `shape` becomes what they give.
absl::StatusOr<std::string> mapped(const Port& port, std::string_view plain, std::vector<int64_t>& shape) {
  std::vector<tf_axis_map> maps;
  const auto rank = static_cast<int32_t>(shape.size());
  std::vector<int64_t> fitted = shape;
  for (const kernel::AxisMap& map : port.maps()) {
    maps.push_back({map.axis(), map.rows(), map.matrix().data()});
    if (tf_fit_axis_map(&maps.back(), map.matrix_size(), fitted.data(), rank, kMostElements) == 0)
      return wrong_port(absl::StrCat("maps axis ", map.axis(), " of the constant [",
                                     absl::StrJoin(shape, ", "), "] by a matrix of ", map.rows(),
                                     " rows and ", map.matrix_size(), " elements"));
  }
  const auto count = static_cast<int32_t>(maps.size());
  std::vector<float> first(tf_map_axes_elements(maps.data(), count, shape.data(), rank)),
      second(first.size());
  const float* result =
      tf_map_axes(maps.data(), count, shape.data(), rank, reinterpret_cast<const float*>(plain.data()),
                  first.data(), second.data());
  const int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return std::string(reinterpret_cast<const char*>(result), static_cast<size_t>(elements) * sizeof(float));
}

// f32 values as 16-bit floats. FAILED_PRECONDITION if one is too large for them.
absl::StatusOr<std::string> narrow(tensor::Element element, std::string_view plain,
                                   const std::string& constant) {
  const size_t count = plain.size() / sizeof(float);
  std::string out(2 * count, '\0');
  const int64_t overflowed =
      tf_narrow(element_number(element), static_cast<int64_t>(count),
                reinterpret_cast<const float*>(plain.data()), reinterpret_cast<uint16_t*>(out.data()));
  if (overflowed == 0) return out;
  return absl::FailedPreconditionError(
      absl::StrCat("constant '", constant, "' has ", overflowed, " values beyond the largest ",
                   std::string(tensor::element_name(element)), ": build without --allow ",
                   element == tensor::Element::kFloat16 ? schedule::kFp16 : schedule::kBf16));
}

// The sums of a constant of bytes; `shape` becomes theirs.
absl::StatusOr<std::string> summed(const kernel::ConstantSums& sums, tensor::Element element,
                                   std::string_view plain, std::vector<int64_t>& shape) {
  if (element != tensor::Element::kInt8 && element != tensor::Element::kUInt8)
    return wrong_port("sums a constant that is not of bytes");
  uint32_t axes = 0;
  std::vector<int64_t> summed_shape = shape;
  for (const uint32_t axis : sums.axes()) {
    if (axis >= shape.size())
      return wrong_port(
          absl::StrCat("sums axis ", axis, " of the constant [", absl::StrJoin(shape, ", "), "]"));
    axes |= 1u << axis;
    summed_shape[axis] = 1;
  }
  const int64_t count =
      std::accumulate(summed_shape.begin(), summed_shape.end(), int64_t{1}, std::multiplies<>());
  std::string out(static_cast<size_t>(count) * sizeof(int32_t), '\0');
  tf_sum_axes(element == tensor::Element::kInt8, axes, shape.data(), static_cast<int32_t>(shape.size()),
              plain.data(), reinterpret_cast<int32_t*>(out.data()));
  shape = std::move(summed_shape);
  return out;
}

// Packs constants one after another into a file, aligned, each stored form of a node once.
class WeightsWriter {
 public:
  explicit WeightsWriter(const std::string& path)
      : path_(path), out_(path, std::ios::binary | std::ios::trunc) {}

  absl::StatusOr<uint64_t> offset_of(const graph::Graph& graph, NodeId node, const Port& port) {
    auto* constant = graph::as<graph::Constant>(graph.node(node));
    TF_CHECK(constant != nullptr) << "weights that are not constant";
    const std::string form = absl::StrCat(graph::to_string(graph.type(node)), " ", storage_text(port));
    auto [known, missing] = offsets_.try_emplace({constant->data.get(), form}, bytes_);
    if (missing) TF_RETURN_IF_ERROR(append(graph, node, *constant, port));
    return known->second;
  }

  // As the graph holds it: for host functions and control flow.
  absl::StatusOr<uint64_t> offset_of(const graph::Graph& graph, NodeId node) {
    Port port;
    port.set_size_bytes(graph::as<graph::Constant>(graph.node(node))->data->bytes().size());
    return offset_of(graph, node, port);
  }

  absl::StatusOr<uint64_t> finish() {
    out_.close();
    if (out_.fail()) return absl::InternalError(absl::StrCat("cannot write ", path_, ": is the disk full?"));
    return bytes_;
  }

 private:
  absl::Status append(const graph::Graph& graph, NodeId node, const graph::Constant& constant,
                      const Port& port) {
    std::vector<int64_t> shape = graph.shape(node);
    std::string buffer;
    std::string_view plain = constant.data->bytes();
    const std::optional<tensor::Element> narrow_to = narrowed(port);
    const bool changes = !port.maps().empty() || narrow_to;
    if (changes && graph.type(node).element != tensor::Element::kFloat32)
      return wrong_port("maps or narrows a constant that is not of f32");
    if (port.has_sums()) {
      TF_ASSIGN_OR_RETURN(buffer, summed(port.sums(), graph.type(node).element, plain, shape));
      plain = buffer;
      if (!port.layout().empty()) return wrong_port("packs sums");
    }
    if (!port.maps().empty()) {
      TF_ASSIGN_OR_RETURN(buffer, mapped(port, plain, shape));
      plain = buffer;
    }
    if (narrow_to) {
      TF_ASSIGN_OR_RETURN(buffer, narrow(*narrow_to, plain, graph.node(node).name));
      plain = buffer;
    }
    if (port.layout().empty()) {
      if (plain.size() != port.size_bytes())
        return wrong_port(
            absl::StrCat("wants ", port.size_bytes(), " bytes of a constant of ", plain.size()));
      write(plain);
      return absl::OkStatus();
    }
    const auto rank = static_cast<int32_t>(shape.size());
    tf_layout layout;
    if (tf_layout_parse(port.layout().c_str(), rank, &layout) != 0)
      return wrong_port(absl::StrCat("wants a constant of rank ", rank, " as '", port.layout(), "'"));
    const int element_bytes = tensor::element_bytes(narrow_to.value_or(graph.type(node).element));
    const int64_t elements = tf_layout_elements(&layout, shape.data(), rank);
    if (elements < 0 || elements > kMostElements ||
        static_cast<uint64_t>(elements) * static_cast<uint64_t>(element_bytes) != port.size_bytes())
      return wrong_port(absl::StrCat("wants ", port.size_bytes(), " bytes of the constant [",
                                     absl::StrJoin(shape, ", "), "] as '", port.layout(), "', which has ",
                                     elements, " elements"));
    std::string packed(port.size_bytes(), '\0');
    tf_layout_pack(&layout, shape.data(), rank, element_bytes, plain.data(), packed.data());
    write(packed);
    return absl::OkStatus();
  }

  void write(std::string_view bytes) {
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes_ += bytes.size();
    const uint64_t gap = (TF_ALIGNMENT - bytes_ % TF_ALIGNMENT) % TF_ALIGNMENT;
    out_ << std::string(gap, '\0');
    bytes_ += gap;
  }

  const std::string path_;
  std::ofstream out_;
  std::map<std::pair<const graph::Blob*, std::string>, uint64_t> offsets_;  // by data and stored form
  uint64_t bytes_ = 0;
};

runtime::ModelBuffer buffer_at(const graph::Place& place, uint64_t size_bytes) {
  const uint32_t space = place.space == graph::Space::kInput    ? TF_SPACE_INPUT
                         : place.space == graph::Space::kOutput ? TF_SPACE_OUTPUT
                                                                : TF_SPACE_ARENA;
  return {space, static_cast<uint32_t>(place.index), place.offset_bytes, size_bytes};
}

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
                               uint64_t size_bytes, const std::vector<tensor::Dimension>& dims) {
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
                               int64_t index_extent, const std::vector<tensor::Dimension>& dims) {
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

runtime::ModelIndices indices_of(const graph::Program& program, const graph::Call& call) {
  if (!call.indices) return {};
  const int value = call.operands[static_cast<size_t>(call.indices->operand)].value;
  const tensor::Element element = program.graph.type(program.values[value].node).element;
  return {static_cast<uint32_t>(call.indices->operand), static_cast<uint32_t>(tensor::element_bytes(element)),
          call.indices->extent};
}

// Makes the steps of a model's programs.
class StepMaker {
 public:
  StepMaker(const graph::Program& model, const std::vector<Kernel>& kernels,
            const std::vector<std::string>& host_functions, WeightsWriter& weights)
      : tasks_(model.tasks),
        dims_(model.dims),
        kernels_(kernels),
        host_functions_(host_functions),
        weights_(weights) {}

  // The bodies that calls of the program run are programs first_body, first_body + 1, ….
  absl::StatusOr<std::vector<runtime::ModelStep>> steps(const graph::Program& program,
                                                        const graph::MemoryPlan& memory,
                                                        const std::vector<uint32_t>& bodies) {
    std::vector<runtime::ModelStep> steps;
    for (const graph::Call& call : program.calls) {
      absl::StatusOr<runtime::ModelStep> step =
          call.task() >= 0 ? kernel_step(program, memory, call) : runtime_step(program, memory, call, bodies);
      if (!step.ok()) return step.status();
      steps.push_back(*std::move(step));
    }
    return steps;
  }

 private:
  absl::StatusOr<runtime::ModelStep> kernel_step(const graph::Program& program,
                                                 const graph::MemoryPlan& memory, const graph::Call& call) {
    const graph::Task& task = tasks_[static_cast<size_t>(call.task())];
    const Kernel& compiled = kernels_[static_cast<size_t>(call.task())];
    runtime::ModelStep step{.name = call.name,
                            .key = tensor::workload_key(task.kernel.workload).hex(),
                            .kernel = static_cast<uint32_t>(call.task())};
    const auto& ports = compiled.manifest.ports();
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
    step.dims = {compiled.manifest.dim_values().begin(), compiled.manifest.dim_values().end()};
    for (size_t i = 0; i < task.dims.size(); ++i) {
      const tensor::Dimension& dim = dims_[static_cast<size_t>(task.dims[i])];
      step.dims.push_back(sized(dim.var, dim.high, dims_));
    }
    step.workspace_bytes = compiled.manifest.workspace_bytes();
    step.workspace_per_thread_bytes = compiled.manifest.workspace_per_thread_bytes();
    step.flops = task.flops;
    step.bytes = task.bytes;
    step.indices = indices_of(program, call);
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
      step.kernel =
          static_cast<uint32_t>(kernels_.size()) + static_cast<uint32_t>(found - host_functions_.begin());
      std::vector<int64_t> numbers;
      if (call.numbers.empty()) numbers = graph::host_numbers(*host, program.graph, node);
      for (const tensor::Expr& number : call.numbers) numbers.push_back(program.graph.value(number));
      for (size_t i = 0; i < numbers.size(); ++i)
        step.dims.push_back(sized(call.numbers.empty() ? nullptr : call.numbers[i], numbers[i], dims_));
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

  void add_value(const graph::Program& program, const graph::MemoryPlan& memory, int value,
                 runtime::ModelStep& step) const {
    const uint64_t size_bytes = memory.places[static_cast<size_t>(value)].size_bytes;
    step.buffers.push_back(buffer_of(program, memory, value, size_bytes, dims_));
  }

  const std::vector<graph::Task>& tasks_;
  const std::vector<tensor::Dimension>& dims_;
  const std::vector<Kernel>& kernels_;
  const std::vector<std::string>& host_functions_;
  WeightsWriter& weights_;
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

void describe_tensors(const graph::Program& program, const std::vector<tensor::Dimension>& dims,
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

std::vector<std::string> host_functions(const graph::Program& program) {
  std::set<std::string> names;
  graph::for_each_program(program, [&](const graph::Program& each) {
    for (const graph::Call& call : each.calls)
      if (const auto* host = std::get_if<graph::HostCall>(&call.what)) names.insert(host->function);
  });
  return {names.begin(), names.end()};
}

}  // namespace

absl::StatusOr<ModelTables> make_tables(const graph::Program& program, const graph::MemoryPlan& memory,
                                        const std::vector<Kernel>& kernels, const std::string& weights_path) {
  WeightsWriter weights(weights_path);
  const std::vector<std::string> functions = host_functions(program);
  StepMaker maker(program, kernels, functions, weights);
  Flattened all;
  flatten(program, memory, all);
  runtime::ModelDescription model;
  for (const tensor::Dimension& dim : program.dims) model.dims.push_back({dim.var->name, dim.low, dim.high});
  for (size_t i = 0; i < program.variants.size(); ++i) {
    const graph::Variant& variant = program.variants[i];
    model.variants.push_back({flatten(variant.program, memory.variants[i], all), variant.values});
  }
  for (size_t i = 0; i < all.programs.size(); ++i) {
    runtime::ModelProgram& made = i == 0 ? model : model.bodies.emplace_back();
    describe_tensors(*all.programs[i], program.dims, made);
    made.arena_bytes = all.memories[i]->arena_bytes;
    TF_ASSIGN_OR_RETURN(made.steps, maker.steps(*all.programs[i], *all.memories[i], all.bodies[i]));
  }
  TF_ASSIGN_OR_RETURN(const uint64_t weights_bytes, weights.finish());
  model.kernel_count = kernels.size() + functions.size();
  model.weights_bytes = weights_bytes;
  TF_ASSIGN_OR_RETURN(std::string blob, runtime::encode_model(model));
  return ModelTables{std::move(blob), weights_bytes, functions};
}

}  // namespace tf::driver
