#include "compiler/runtime/blob/model_blob.h"

#include <cstring>
#include <map>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::runtime {
namespace {

class Strings {
 public:
  uint32_t add(const std::string& text) {
    auto [entry, is_new] = offsets_.try_emplace(text, static_cast<uint32_t>(bytes_.size()));
    if (is_new) bytes_.append(text.c_str(), text.size() + 1);
    return entry->second;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
  std::map<std::string, uint32_t> offsets_ = {{"", 0}};
};

template <typename T>
tf_model_table append_table(std::string& blob, const T* elements, size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  blob.resize((blob.size() + 15) / 16 * 16, '\0');
  const tf_model_table table = {blob.size(), count};
  blob.append(reinterpret_cast<const char*>(elements), count * sizeof(T));
  return table;
}

absl::Status check_buffer(const ModelDescription& model, const ModelProgram& program,
                          const tf_model_buffer& buffer) {
  auto fits = [&](uint64_t space_bytes) {
    return buffer.offset_bytes % TF_ALIGNMENT == 0 && buffer.offset_bytes <= space_bytes &&
           buffer.size_bytes <= space_bytes - buffer.offset_bytes;
  };
  auto fits_tensor = [&](const std::vector<ModelTensor>& tensors) {
    return buffer.index < tensors.size() && fits(tensors[buffer.index].size_bytes);
  };
  bool valid = false;
  switch (buffer.space) {
    case TF_SPACE_INPUT:
      valid = fits_tensor(program.inputs);
      break;
    case TF_SPACE_OUTPUT:
      valid = fits_tensor(program.outputs);
      break;
    case TF_SPACE_WEIGHTS:
      valid = fits(model.weights_bytes);
      break;
    case TF_SPACE_ARENA:
      valid = fits(program.arena_bytes);
      break;
  }
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("buffer of ", buffer.size_bytes, " bytes at offset ",
                                                 buffer.offset_bytes, " lies outside space ", buffer.space,
                                                 "[", buffer.index, "] or is not aligned to ", TF_ALIGNMENT));
}

absl::Status check_step(const ModelDescription& model, const ModelProgram& program, const ModelStep& step) {
  if (step.kind == TF_STEP_CALL && step.kernel >= model.kernel_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", step.name, " calls kernel ", step.kernel, " of ", model.kernel_count));
  }
  for (const tf_model_buffer& buffer : step.buffers) {
    if (absl::Status status = check_buffer(model, program, buffer); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("step ", step.name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

std::vector<tf_model_tensor> encode_tensors(const std::vector<ModelTensor>& tensors, Strings& strings,
                                            std::vector<int64_t>& numbers) {
  std::vector<tf_model_tensor> encoded;
  for (const ModelTensor& tensor : tensors) {
    encoded.push_back({.name = strings.add(tensor.name),
                       .element = static_cast<uint32_t>(tensor.element),
                       .rank = static_cast<uint32_t>(tensor.extents.size()),
                       .first_extent = static_cast<uint32_t>(numbers.size()),
                       .size_bytes = tensor.size_bytes,
                       .index_extent = tensor.index_extent});
    numbers.insert(numbers.end(), tensor.extents.begin(), tensor.extents.end());
  }
  return encoded;
}

}  // namespace

absl::StatusOr<std::string> encode_model(const ModelDescription& model) {
  Strings strings;
  std::vector<int64_t> numbers;
  std::vector<tf_model_program> programs;
  std::vector<tf_model_tensor> tensors;
  std::vector<tf_model_buffer> buffers;
  std::vector<tf_model_step> steps;
  std::vector<const ModelProgram*> all = {&model};
  for (const ModelProgram& body : model.bodies) all.push_back(&body);
  for (const ModelProgram* program : all) {
    programs.push_back({.first_tensor = static_cast<uint32_t>(tensors.size()),
                        .input_count = static_cast<uint32_t>(program->inputs.size()),
                        .output_count = static_cast<uint32_t>(program->outputs.size()),
                        .first_step = static_cast<uint32_t>(steps.size()),
                        .step_count = static_cast<uint32_t>(program->steps.size()),
                        .first_buffer = static_cast<uint32_t>(buffers.size()),
                        .buffer_count = 0,
                        .reserved = 0,
                        .arena_bytes = program->arena_bytes});
    for (const auto* list : {&program->inputs, &program->outputs})
      for (const tf_model_tensor& tensor : encode_tensors(*list, strings, numbers)) tensors.push_back(tensor);
    for (const ModelStep& step : program->steps) {
      TF_RETURN_IF_ERROR(check_step(model, *program, step));
      steps.push_back({.kind = step.kind,
                       .body = step.body,
                       .other_body = step.other_body,
                       .name = strings.add(step.name),
                       .key = strings.add(step.key),
                       .kernel = step.kernel,
                       .first_buffer = static_cast<uint32_t>(buffers.size()),
                       .buffer_count = static_cast<uint32_t>(step.buffers.size()),
                       .first_dim = static_cast<uint32_t>(numbers.size()),
                       .dim_count = static_cast<uint32_t>(step.dims.size()),
                       .index_bytes = step.indices.element_bytes,
                       .reserved = 0,
                       .index_buffer = step.indices.buffer,
                       .index_extent = step.indices.extent,
                       .workspace_bytes = step.workspace_bytes,
                       .workspace_per_thread_bytes = step.workspace_per_thread_bytes,
                       .flops = step.flops,
                       .bytes = step.bytes});
      buffers.insert(buffers.end(), step.buffers.begin(), step.buffers.end());
      numbers.insert(numbers.end(), step.dims.begin(), step.dims.end());
    }
    programs.back().buffer_count = static_cast<uint32_t>(buffers.size()) - programs.back().first_buffer;
  }
  tf_model_header header = {.magic = TF_MODEL_MAGIC,
                            .version = TF_MODEL_VERSION,
                            .blob_bytes = 0,
                            .weights_bytes = model.weights_bytes,
                            .kernel_count = model.kernel_count,
                            .programs = {},
                            .tensors = {},
                            .steps = {},
                            .buffers = {},
                            .numbers = {},
                            .strings = {}};
  std::string blob(sizeof header, '\0');
  header.programs = append_table(blob, programs.data(), programs.size());
  header.tensors = append_table(blob, tensors.data(), tensors.size());
  header.steps = append_table(blob, steps.data(), steps.size());
  header.buffers = append_table(blob, buffers.data(), buffers.size());
  header.numbers = append_table(blob, numbers.data(), numbers.size());
  header.strings = append_table(blob, strings.bytes().data(), strings.bytes().size());
  header.blob_bytes = blob.size();
  std::memcpy(blob.data(), &header, sizeof header);
  return blob;
}

}  // namespace tf::runtime
