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

absl::Status check_buffer(const ModelDescription& model, const tf_model_buffer& buffer) {
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
      valid = fits_tensor(model.inputs);
      break;
    case TF_SPACE_OUTPUT:
      valid = fits_tensor(model.outputs);
      break;
    case TF_SPACE_WEIGHTS:
      valid = fits(model.weights_bytes);
      break;
    case TF_SPACE_ARENA:
      valid = fits(model.arena_bytes);
      break;
  }
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("buffer of ", buffer.size_bytes, " bytes at offset ",
                                                 buffer.offset_bytes, " lies outside space ", buffer.space,
                                                 "[", buffer.index, "] or is not aligned to ", TF_ALIGNMENT));
}

absl::Status check_step(const ModelDescription& model, const ModelStep& step) {
  if (step.kernel >= model.kernel_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", step.name, " calls kernel ", step.kernel, " of ", model.kernel_count));
  }
  for (const tf_model_buffer& buffer : step.buffers) {
    if (absl::Status status = check_buffer(model, buffer); !status.ok()) {
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
  std::vector<tf_model_buffer> buffers;
  std::vector<tf_model_step> steps;
  const std::vector<tf_model_tensor> inputs = encode_tensors(model.inputs, strings, numbers);
  const std::vector<tf_model_tensor> outputs = encode_tensors(model.outputs, strings, numbers);
  for (const ModelStep& step : model.steps) {
    TF_RETURN_IF_ERROR(check_step(model, step));
    steps.push_back({.name = strings.add(step.name),
                     .key = strings.add(step.key),
                     .kernel = step.kernel,
                     .first_buffer = static_cast<uint32_t>(buffers.size()),
                     .buffer_count = static_cast<uint32_t>(step.buffers.size()),
                     .first_dim = static_cast<uint32_t>(numbers.size()),
                     .dim_count = static_cast<uint32_t>(step.dims.size()),
                     .index_bytes = step.indices.element_bytes,
                     .index_buffer = step.indices.buffer,
                     .index_extent = step.indices.extent,
                     .workspace_bytes = step.workspace_bytes,
                     .workspace_per_thread_bytes = step.workspace_per_thread_bytes,
                     .flops = step.flops,
                     .bytes = step.bytes});
    buffers.insert(buffers.end(), step.buffers.begin(), step.buffers.end());
    numbers.insert(numbers.end(), step.dims.begin(), step.dims.end());
  }
  tf_model_header header = {.magic = TF_MODEL_MAGIC,
                            .version = TF_MODEL_VERSION,
                            .blob_bytes = 0,
                            .arena_bytes = model.arena_bytes,
                            .weights_bytes = model.weights_bytes,
                            .kernel_count = model.kernel_count,
                            .inputs = {},
                            .outputs = {},
                            .steps = {},
                            .buffers = {},
                            .numbers = {},
                            .strings = {}};
  std::string blob(sizeof header, '\0');
  header.inputs = append_table(blob, inputs.data(), inputs.size());
  header.outputs = append_table(blob, outputs.data(), outputs.size());
  header.steps = append_table(blob, steps.data(), steps.size());
  header.buffers = append_table(blob, buffers.data(), buffers.size());
  header.numbers = append_table(blob, numbers.data(), numbers.size());
  header.strings = append_table(blob, strings.bytes().data(), strings.bytes().size());
  header.blob_bytes = blob.size();
  std::memcpy(blob.data(), &header, sizeof header);
  return blob;
}

}  // namespace tf::runtime
