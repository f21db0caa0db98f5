#include "compiler/runtime/blob/model_blob.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/runtime/executor/formula.h"

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

// Gathers the formulas of numbers that vary. Equal codes are written once.
class Formulas {
 public:
  explicit Formulas(size_t dim_count) : dim_count_(dim_count) {}

  void add(uint32_t target, size_t index, const Sized& number) {
    if (number.code.empty()) return;
    valid_ &= tf_code_valid(number.code.data(), number.code.size(), dim_count_);
    formulas_.push_back({target, static_cast<uint32_t>(index), number.code});
  }
  // Appends the values of `list`.
  void add_numbers(const std::vector<Sized>& list, std::vector<int64_t>& numbers) {
    for (const Sized& number : list) {
      add(TF_FORMULA_NUMBER, numbers.size(), number);
      numbers.push_back(number.value);
    }
  }
  bool valid() const { return valid_; }

  std::vector<tf_model_formula> encode(std::vector<int64_t>& numbers) {
    std::ranges::sort(formulas_, {}, [](const Formula& f) { return std::tie(f.target, f.index); });
    std::vector<tf_model_formula> encoded;
    std::map<std::vector<int64_t>, uint32_t> places;
    for (const Formula& f : formulas_) {
      const auto [place, is_new] = places.try_emplace(f.code, static_cast<uint32_t>(numbers.size()));
      if (is_new) numbers.insert(numbers.end(), f.code.begin(), f.code.end());
      encoded.push_back({f.target, f.index, place->second, static_cast<uint32_t>(f.code.size())});
    }
    return encoded;
  }

 private:
  struct Formula {
    uint32_t target, index;
    std::vector<int64_t> code;
  };
  const size_t dim_count_;
  bool valid_ = true;
  std::vector<Formula> formulas_;
};

absl::Status check_buffer(const ModelDescription& model, const ModelProgram& program,
                          const ModelBuffer& buffer) {
  const auto offset_bytes = static_cast<uint64_t>(buffer.offset_bytes.value);
  const auto size_bytes = static_cast<uint64_t>(buffer.size_bytes.value);
  auto fits = [&](uint64_t space_bytes) {
    return offset_bytes % TF_ALIGNMENT == 0 && offset_bytes <= space_bytes &&
           size_bytes <= space_bytes - offset_bytes;
  };
  auto fits_tensor = [&](const std::vector<ModelTensor>& tensors) {
    return buffer.index < tensors.size() &&
           fits(static_cast<uint64_t>(tensors[buffer.index].size_bytes.value));
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
  return absl::InvalidArgumentError(absl::StrCat("buffer of ", size_bytes, " bytes at offset ", offset_bytes,
                                                 " lies outside space ", buffer.space, "[", buffer.index,
                                                 "] or is not aligned to ", TF_ALIGNMENT));
}

absl::Status check_step(const ModelDescription& model, const ModelProgram& program, const ModelStep& step) {
  if (step.kind == TF_STEP_CALL && step.kernel >= model.kernel_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", step.name, " calls kernel ", step.kernel, " of ", model.kernel_count));
  }
  if (step.kind == TF_STEP_LAUNCH && step.kernel >= model.device_kernels.size())
    return absl::InvalidArgumentError(absl::StrCat("step ", step.name, " launches kernel ", step.kernel,
                                                   " of ", model.device_kernels.size()));
  if (step.made.dim != TF_NO_DIMENSION &&
      (step.kind != TF_STEP_CALL || step.made.dim >= model.dims.size() ||
       model.dims[step.made.dim].made_by != TF_DIM_MADE || step.made.buffer >= step.buffers.size())) {
    return absl::InvalidArgumentError(absl::StrCat("step ", step.name, " cannot make dimension ",
                                                   step.made.dim, " from its buffer ", step.made.buffer));
  }
  for (const ModelBuffer& buffer : step.buffers) {
    if (absl::Status status = check_buffer(model, program, buffer); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("step ", step.name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// Dimensions that numbers of a program and of the bodies that it runs are computed from.
class UsedDims {
 public:
  explicit UsedDims(const ModelDescription& model)
      : model_(model), used_(model.dims.size()), seen_(model.bodies.size() + 1) {}

  // Of codes that are valid.
  const std::vector<bool>& of(uint32_t number) {
    visit(number);
    return used_;
  }

 private:
  void visit(uint32_t number) {
    if (number >= seen_.size() || seen_[number]) return;
    seen_[number] = true;
    const ModelProgram& program = number == 0 ? model_ : model_.bodies[number - 1];
    for (const auto* tensors : {&program.inputs, &program.outputs}) {
      for (const ModelTensor& tensor : *tensors) {
        add({tensor.size_bytes});
        add(tensor.extents);
      }
    }
    for (const ModelStep& step : program.steps) {
      for (const ModelBuffer& buffer : step.buffers) add({buffer.offset_bytes, buffer.size_bytes});
      add(step.dims);
      add({step.indices.extent});
      if (step.kind != TF_STEP_BRANCH && step.kind != TF_STEP_LOOP) continue;
      visit(step.body);
      if (step.kind == TF_STEP_BRANCH) visit(step.other_body);
    }
  }

  void add(const std::vector<Sized>& numbers) {
    for (const Sized& number : numbers) {
      for (size_t i = 0; i < number.code.size(); ++i) {
        if (number.code[i] == TF_CODE_DIM) used_[static_cast<size_t>(number.code[i + 1])] = true;
        if (number.code[i] == TF_CODE_DIM || number.code[i] == TF_CODE_NUMBER) ++i;
      }
    }
  }

  const ModelDescription& model_;
  std::vector<bool> used_, seen_;
};

// Once all codes are known to be valid.
absl::Status check_variant_formulas(const ModelDescription& model) {
  for (const ModelVariant& variant : model.variants) {
    UsedDims used(model);
    for (size_t i = 0; i < model.dims.size(); ++i) {
      if (variant.values[i] != TF_ANY_VALUE && used.of(variant.program)[i])
        return absl::InvalidArgumentError(absl::StrCat("the variant of program ", variant.program, " fixes ",
                                                       model.dims[i].name, " and varies with it"));
    }
  }
  return absl::OkStatus();
}

std::vector<ModelVariant> most_fixed_first(std::vector<ModelVariant> variants) {
  std::ranges::stable_sort(variants, {},
                           [](const ModelVariant& v) { return std::ranges::count(v.values, TF_ANY_VALUE); });
  return variants;
}

absl::Status check_dims(const ModelDescription& model) {
  for (const ModelDim& dim : model.dims) {
    if (dim.low < 0 || dim.low > dim.high)
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", dim.name, " has the range ", dim.low, "..", dim.high));
    if (dim.multiple_of < 1 || dim.low % dim.multiple_of != 0 || dim.high % dim.multiple_of != 0)
      return absl::InvalidArgumentError(absl::StrCat("dimension ", dim.name, " goes from ", dim.low, " to ",
                                                     dim.high, " in multiples of ", dim.multiple_of));
  }
  for (const ModelVariant& variant : model.variants) {
    bool valid = variant.program > 0 && variant.program <= model.bodies.size() &&
                 variant.values.size() == model.dims.size();
    for (size_t i = 0; valid && i < model.dims.size(); ++i)
      valid = variant.values[i] == TF_ANY_VALUE ||
              (model.dims[i].made_by == TF_DIM_GIVEN && variant.values[i] >= model.dims[i].low &&
               variant.values[i] <= model.dims[i].high && variant.values[i] % model.dims[i].multiple_of == 0);
    if (!valid)
      return absl::InvalidArgumentError(absl::StrCat("the variant of program ", variant.program,
                                                     " has no such program or values out of range"));
  }
  return absl::OkStatus();
}

void encode_tensors(const std::vector<ModelTensor>& list, Strings& strings, std::vector<int64_t>& numbers,
                    Formulas& formulas, std::vector<tf_model_tensor>& tensors) {
  for (const ModelTensor& tensor : list) {
    formulas.add(TF_FORMULA_TENSOR_BYTES, tensors.size(), tensor.size_bytes);
    tensors.push_back({.name = strings.add(tensor.name),
                       .element = static_cast<uint32_t>(tensor.element),
                       .rank = static_cast<uint32_t>(tensor.extents.size()),
                       .first_extent = static_cast<uint32_t>(numbers.size()),
                       .size_bytes = static_cast<uint64_t>(tensor.size_bytes.value),
                       .index_extent = tensor.index_extent});
    formulas.add_numbers(tensor.extents, numbers);
  }
}

void encode_buffers(const std::vector<ModelBuffer>& list, Formulas& formulas,
                    std::vector<tf_model_buffer>& buffers) {
  for (const ModelBuffer& buffer : list) {
    formulas.add(TF_FORMULA_BUFFER_BYTES, buffers.size(), buffer.size_bytes);
    formulas.add(TF_FORMULA_BUFFER_OFFSET, buffers.size(), buffer.offset_bytes);
    buffers.push_back({.space = buffer.space,
                       .index = buffer.index,
                       .offset_bytes = static_cast<uint64_t>(buffer.offset_bytes.value),
                       .size_bytes = static_cast<uint64_t>(buffer.size_bytes.value)});
  }
}

// The tables of kernels for a device.
struct DeviceTables {
  std::vector<tf_model_device_kernel> kernels;
  std::vector<tf_model_code> codes;
  std::vector<tf_model_launch> launches;
  std::vector<tf_model_tensor_map> maps;
  std::string codes_bytes;
};

DeviceTables device_tables(const std::vector<ModelDeviceKernel>& kernels, Strings& strings,
                           std::vector<int64_t>& numbers) {
  DeviceTables tables;
  for (const ModelDeviceKernel& kernel : kernels) {
    tables.kernels.push_back({.first_code = static_cast<uint32_t>(tables.codes.size()),
                              .code_count = static_cast<uint32_t>(kernel.codes.size()),
                              .first_launch = static_cast<uint32_t>(tables.launches.size()),
                              .launch_count = static_cast<uint32_t>(kernel.launches.size()),
                              .workspace_bytes = kernel.workspace_bytes,
                              .dim_count = kernel.dim_count,
                              .reserved = 0});
    for (const ModelCode& code : kernel.codes) {
      // Drivers read cubins in place.
      tables.codes_bytes.resize((tables.codes_bytes.size() + 15) / 16 * 16, '\0');
      tables.codes.push_back({.kind = code.kind,
                              .reserved = 0,
                              .first_byte = tables.codes_bytes.size(),
                              .byte_count = code.content.size()});
      tables.codes_bytes += code.content;
    }
    for (const ModelLaunch& launch : kernel.launches) {
      tf_model_launch& added = tables.launches.emplace_back();
      added.entry = strings.add(launch.entry);
      added.shared_bytes = launch.shared_bytes;
      std::ranges::copy(launch.block, added.block);
      for (size_t axis = 0; axis < launch.grid.size(); ++axis) {
        const Sized& blocks = launch.grid[axis];
        added.grid[axis] = static_cast<uint32_t>(blocks.value);
        added.first_code[axis] = static_cast<uint32_t>(numbers.size());
        added.code_count[axis] = static_cast<uint32_t>(blocks.code.size());
        numbers.insert(numbers.end(), blocks.code.begin(), blocks.code.end());
      }
      added.first_map = static_cast<uint32_t>(tables.maps.size());
      added.map_count = static_cast<uint32_t>(launch.maps.size());
      for (const ModelTensorMap& map : launch.maps) {
        tf_model_tensor_map& mapped = tables.maps.emplace_back();
        mapped.buffer = map.buffer;
        mapped.element_bytes = map.element_bytes;
        mapped.rank = static_cast<uint32_t>(map.extents.size());
        std::ranges::copy(map.box, mapped.box);
        std::ranges::copy(map.extents, mapped.extents);
      }
    }
  }
  return tables;
}

}  // namespace

absl::StatusOr<std::string> encode_model(const ModelDescription& model) {
  TF_RETURN_IF_ERROR(check_dims(model));
  Strings strings;
  Formulas formulas(model.dims.size());
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
      encode_tensors(*list, strings, numbers, formulas, tensors);
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
                       .index_buffer = step.indices.buffer,
                       .made_dim = step.made.dim,
                       .made_buffer = step.made.buffer,
                       .workspace_bytes = step.workspace_bytes,
                       .workspace_per_thread_bytes = step.workspace_per_thread_bytes,
                       .flops = step.flops,
                       .bytes = step.bytes});
      encode_buffers(step.buffers, formulas, buffers);
      formulas.add_numbers(step.dims, numbers);
      if (step.indices.element_bytes != 0) formulas.add_numbers({step.indices.extent}, numbers);
      if (!formulas.valid())
        return absl::InvalidArgumentError(
            absl::StrCat("a size of step ", step.name, ", or of its program's tensors, has no valid code"));
    }
    programs.back().buffer_count = static_cast<uint32_t>(buffers.size()) - programs.back().first_buffer;
  }
  std::vector<tf_model_dimension> dims;
  for (const ModelDim& dim : model.dims)
    dims.push_back({strings.add(dim.name), dim.made_by, dim.low, dim.high, dim.multiple_of});
  std::vector<tf_model_variant> variants;
  TF_RETURN_IF_ERROR(check_variant_formulas(model));
  for (const ModelVariant& variant : most_fixed_first(model.variants)) {
    variants.push_back({variant.program, static_cast<uint32_t>(numbers.size())});
    numbers.insert(numbers.end(), variant.values.begin(), variant.values.end());
  }
  const std::vector<tf_model_formula> encoded_formulas = formulas.encode(numbers);
  const DeviceTables device = device_tables(model.device_kernels, strings, numbers);
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
                            .strings = {},
                            .dims = {},
                            .variants = {},
                            .formulas = {},
                            .device_function = model.device_function,
                            .device_kernels = {},
                            .codes = {},
                            .launches = {},
                            .tensor_maps = {},
                            .codes_bytes = {}};
  std::string blob(sizeof header, '\0');
  header.programs = append_table(blob, programs.data(), programs.size());
  header.tensors = append_table(blob, tensors.data(), tensors.size());
  header.steps = append_table(blob, steps.data(), steps.size());
  header.buffers = append_table(blob, buffers.data(), buffers.size());
  header.numbers = append_table(blob, numbers.data(), numbers.size());
  header.strings = append_table(blob, strings.bytes().data(), strings.bytes().size());
  header.dims = append_table(blob, dims.data(), dims.size());
  header.variants = append_table(blob, variants.data(), variants.size());
  header.formulas = append_table(blob, encoded_formulas.data(), encoded_formulas.size());
  header.device_kernels = append_table(blob, device.kernels.data(), device.kernels.size());
  header.codes = append_table(blob, device.codes.data(), device.codes.size());
  header.launches = append_table(blob, device.launches.data(), device.launches.size());
  header.tensor_maps = append_table(blob, device.maps.data(), device.maps.size());
  header.codes_bytes = append_table(blob, device.codes_bytes.data(), device.codes_bytes.size());
  header.blob_bytes = blob.size();
  std::memcpy(blob.data(), &header, sizeof header);
  return blob;
}

}  // namespace tf::runtime
