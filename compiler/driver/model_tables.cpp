#include "compiler/driver/model_tables.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/driver/element_number.h"
#include "compiler/graph/program/gather_indices.h"
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
  WeightsWriter(const graph::Graph& graph, const std::string& path)
      : graph_(graph), path_(path), out_(path, std::ios::binary | std::ios::trunc) {}

  absl::StatusOr<uint64_t> offset_of(NodeId node, const Port& port) {
    auto [known, missing] = offsets_.try_emplace({node, storage_text(port)}, bytes_);
    if (missing) TF_RETURN_IF_ERROR(append(node, port));
    return known->second;
  }

  absl::StatusOr<uint64_t> finish() {
    out_.close();
    if (out_.fail()) return absl::InternalError(absl::StrCat("cannot write ", path_, ": is the disk full?"));
    return bytes_;
  }

 private:
  absl::Status append(NodeId node, const Port& port) {
    auto* constant = graph::as<graph::Constant>(graph_.node(node));
    TF_CHECK(constant != nullptr) << "weights that are not constant";
    std::vector<int64_t> shape = graph_.shape(node);
    std::string buffer;
    std::string_view plain = constant->data->bytes();
    const std::optional<tensor::Element> narrow_to = narrowed(port);
    const bool changes = !port.maps().empty() || narrow_to;
    if (changes && graph_.type(node).element != tensor::Element::kFloat32)
      return wrong_port("maps or narrows a constant that is not of f32");
    if (port.has_sums()) {
      TF_ASSIGN_OR_RETURN(buffer, summed(port.sums(), graph_.type(node).element, plain, shape));
      plain = buffer;
      if (!port.layout().empty()) return wrong_port("packs sums");
    }
    if (!port.maps().empty()) {
      TF_ASSIGN_OR_RETURN(buffer, mapped(port, plain, shape));
      plain = buffer;
    }
    if (narrow_to) {
      TF_ASSIGN_OR_RETURN(buffer, narrow(*narrow_to, plain, graph_.node(node).name));
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
    const int element_bytes = tensor::element_bytes(narrow_to.value_or(graph_.type(node).element));
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

  const graph::Graph& graph_;
  const std::string path_;
  std::ofstream out_;
  std::map<std::pair<NodeId, std::string>, uint64_t> offsets_;
  uint64_t bytes_ = 0;
};

tf_model_buffer buffer_at(const graph::Place& place, uint64_t size_bytes) {
  const uint32_t space = place.space == graph::Space::kInput    ? TF_SPACE_INPUT
                         : place.space == graph::Space::kOutput ? TF_SPACE_OUTPUT
                                                                : TF_SPACE_ARENA;
  return {space, static_cast<uint32_t>(place.index), place.offset_bytes, size_bytes};
}

runtime::ModelTensor tensor_of(const graph::Program& program, int value, const std::string& name,
                               int64_t index_extent) {
  const graph::TensorType& type = program.graph.type(program.values[value].node);
  return {name, element_number(type.element), program.graph.shape(type), program.values[value].size_bytes,
          index_extent};
}

runtime::ModelIndices indices_of(const graph::Program& program, const graph::Call& call) {
  if (!call.indices) return {};
  const int value = call.operands[static_cast<size_t>(call.indices->operand)].value;
  const tensor::Element element = program.graph.type(program.values[value].node).element;
  return {static_cast<uint32_t>(call.indices->operand), static_cast<uint32_t>(tensor::element_bytes(element)),
          call.indices->extent};
}

absl::StatusOr<runtime::ModelStep> step_of(const graph::Program& program, const graph::MemoryPlan& memory,
                                           const graph::Call& call, const Kernel& compiled,
                                           WeightsWriter& weights) {
  const graph::Task& task = program.tasks[call.task];
  runtime::ModelStep step{call.name, tensor::workload_key(task.kernel.workload).hex(),
                          static_cast<uint32_t>(call.task)};
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
      TF_ASSIGN_OR_RETURN(const uint64_t offset_bytes, weights.offset_of(operand.constant, port));
      step.buffers.push_back({TF_SPACE_WEIGHTS, 0, offset_bytes, port.size_bytes()});
      continue;
    }
    TF_RETURN_IF_ERROR(check_size(port, operand.value, absl::StrCat("operand ", i)));
    step.buffers.push_back(buffer_at(memory.places[operand.value], port.size_bytes()));
  }
  for (size_t i = call.operands.size(); i + 1 < wanted; ++i) {
    const Port& port = ports[static_cast<int>(i)];
    const size_t of = port.has_sums() ? port.sums().port() : call.operands.size();
    if (of >= call.operands.size() || call.operands[of].value >= 0)
      return wrong_port(absl::StrCat("sums an operand of ", call.name, " that is not a constant"));
    TF_ASSIGN_OR_RETURN(const uint64_t offset_bytes, weights.offset_of(call.operands[of].constant, port));
    step.buffers.push_back({TF_SPACE_WEIGHTS, 0, offset_bytes, port.size_bytes()});
  }
  TF_RETURN_IF_ERROR(check_size(*ports.rbegin(), call.result, "the result"));
  step.buffers.push_back(buffer_at(memory.places[call.result], ports.rbegin()->size_bytes()));
  step.dims = {compiled.manifest.dim_values().begin(), compiled.manifest.dim_values().end()};
  step.workspace_bytes = compiled.manifest.workspace_bytes();
  step.workspace_per_thread_bytes = compiled.manifest.workspace_per_thread_bytes();
  step.flops = task.flops;
  step.bytes = task.bytes;
  step.indices = indices_of(program, call);
  return step;
}

}  // namespace

absl::StatusOr<ModelTables> make_tables(const graph::Program& program, const graph::MemoryPlan& memory,
                                        const std::vector<Kernel>& kernels, const std::string& weights_path) {
  WeightsWriter weights(program.graph, weights_path);
  runtime::ModelDescription model;
  const std::vector<NodeId> inputs = program.graph.inputs();
  const std::map<NodeId, int64_t> index_inputs = graph::index_inputs(program.graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto used = index_inputs.find(inputs[i]);
    model.inputs.push_back(tensor_of(program, program.inputs[i], program.graph.node(inputs[i]).name,
                                     used == index_inputs.end() ? 0 : used->second));
  }
  for (size_t i = 0; i < program.outputs.size(); ++i)
    model.outputs.push_back(tensor_of(program, program.outputs[i], program.graph.outputs[i].name, 0));
  for (const graph::Call& call : program.calls) {
    TF_ASSIGN_OR_RETURN(runtime::ModelStep step, step_of(program, memory, call, kernels[call.task], weights));
    model.steps.push_back(std::move(step));
  }
  TF_ASSIGN_OR_RETURN(const uint64_t weights_bytes, weights.finish());
  model.kernel_count = kernels.size();
  model.arena_bytes = memory.arena_bytes;
  model.weights_bytes = weights_bytes;
  TF_ASSIGN_OR_RETURN(std::string blob, runtime::encode_model(model));
  return ModelTables{std::move(blob), weights_bytes};
}

}  // namespace tf::driver
