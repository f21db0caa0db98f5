#include "compiler/runtime/model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/runtime/cpu_features.h"
#include "compiler/runtime/cpu_limit.h"
#include "compiler/runtime/device/device.h"
#include "compiler/runtime/executor/executor.h"
#include "compiler/runtime/executor/sizes.h"
#include "compiler/runtime/executor/tables.h"
#include "compiler/runtime/executor/tables_dims.h"
#include "compiler/runtime/large_pages.h"
#include "compiler/runtime/thread_pool.h"

struct tf_model {
  tf_execution run;
  tf_runtime* runtime;
  const uint8_t* weights;   // null until they are counted as used
  bool on_device_only;      // nothing is computed on the host
  tf_mapping arena;         // activations, then the workspace that all kernels share
  tf_tensor_info* tensors;  // inputs, then outputs
  void** given;             // for each of them: the caller's memory in this run, or null
  void** on_device;         // likewise, of what is only in the device's memory
  void** staging;           // for each of them: aligned memory of our own, made on first need
  tf_kernel_info* kernels;
  tf_dim_info* dims;
  int64_t* values;       // of the dimensions, for the run that begins
  int32_t* extent_dims;  // for each number of the tables: the dimension that it is, or -1
};

namespace {

uint64_t round_up(uint64_t bytes) {
  return (bytes + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
}

uint64_t workspace_bytes(const tf_model_header* header, int32_t threads) {
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  uint64_t most = 0;
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    const uint64_t bytes =
        steps[i].workspace_bytes + static_cast<uint64_t>(threads) * steps[i].workspace_per_thread_bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

// One zeroed allocation for each table that open() fills; freed by tf_model_close.
template <typename T>
bool make_table(T** table, uint64_t count) {
  *table = static_cast<T*>(calloc(count + 1, sizeof(T)));
  return *table != nullptr;
}

const tf_model_program& program_at(const tf_model* model, uint32_t number) {
  const tf_model_header* header = model->run.header;
  return tf_table_at<tf_model_program>(header, header->programs)[number];
}

// The model's own: the first program's.
const tf_model_program& program_of(const tf_model* model) {
  return program_at(model, 0);
}

const tf_model_variant* variants_of(const tf_model* model) {
  return tf_table_at<tf_model_variant>(model->run.header, model->run.header->variants);
}

// Of the programs that have the arena for themselves, one at a time.
uint64_t arena_bytes_of(const tf_model* model) {
  uint64_t most = program_of(model).arena_bytes;
  for (uint64_t i = 0; i < model->run.header->variants.count; ++i) {
    const uint64_t bytes = program_at(model, variants_of(model)[i].program).arena_bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

bool make_arena(tf_model* model, int32_t threads) {
  const uint64_t arena_bytes = round_up(arena_bytes_of(model));
  model->arena = tf_map_large(arena_bytes + round_up(workspace_bytes(model->run.header, threads)));
  if (model->arena.data == nullptr) return false;
  model->run.workspace = model->arena.data + arena_bytes;
  return true;
}

// The weights as all open models read them: a copy in large pages where that pays and leaves enough memory.
pthread_mutex_t weights_mutex = PTHREAD_MUTEX_INITIALIZER;
tf_mapping weights_copy;
uint64_t weights_users;

void copy_weights(uint64_t bytes) {
  weights_copy = tf_copy_large(tf_model_weights, bytes);
  if (weights_copy.data == nullptr) return;
  // The library's own are not read again: this process gives up its whole pages of them. They stay in the
  // system's file cache until that needs the memory, or as long as another process reads them.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(tf_model_weights);
  const uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

const uint8_t* open_weights(const tf_model_header* header) {
  // The device has a copy of its own.
  const bool is_read = header->device_function == TF_NO_DEVICE;
  pthread_mutex_lock(&weights_mutex);
  if (weights_users++ == 0 && is_read) copy_weights(header->weights_bytes);
  const uint8_t* weights = weights_copy.data != nullptr ? weights_copy.data : tf_model_weights;
  pthread_mutex_unlock(&weights_mutex);
  return weights;
}

void close_weights(void) {
  pthread_mutex_lock(&weights_mutex);
  if (--weights_users == 0) tf_unmap_large(&weights_copy);
  pthread_mutex_unlock(&weights_mutex);
}

uint64_t tensor_count(const tf_model* model) {
  return uint64_t{program_of(model).input_count} + program_of(model).output_count;
}

void fill_dims(tf_model* model) {
  const tf_model_header* header = model->run.header;
  const tf_model_dimension* dims = tf_table_at<tf_model_dimension>(header, header->dims);
  for (uint64_t i = 0; i < header->dims.count; ++i)
    model->dims[i] = {tf_table_at<char>(header, header->strings) + dims[i].name, dims[i].low, dims[i].high,
                      dims[i].multiple_of};
  for (uint64_t i = 0; i < header->numbers.count; ++i) model->extent_dims[i] = tf_dim_of(header, i);
}

void fill_tables(tf_model* model) {
  const tf_model_header* header = model->run.header;
  const tf_model_tensor* tensors =
      tf_table_at<tf_model_tensor>(header, header->tensors) + program_of(model).first_tensor;
  for (uint64_t i = 0; i < tensor_count(model); ++i) {
    tf_tensor_info& info = model->tensors[i];
    info.name = tf_table_at<char>(header, header->strings) + tensors[i].name;
    info.element = static_cast<int32_t>(tensors[i].element);
    info.rank = static_cast<int32_t>(tensors[i].rank);
    info.extents = tf_table_at<int64_t>(header, header->numbers) + tensors[i].first_extent;
    info.dims = model->extent_dims + tensors[i].first_extent;
    info.size_bytes = tensors[i].size_bytes;
    info.index_extent = tensors[i].index_extent;
  }
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    model->kernels[i].name = tf_table_at<char>(header, header->strings) + steps[i].name;
    model->kernels[i].key = tf_table_at<char>(header, header->strings) + steps[i].key;
    model->kernels[i].flops = steps[i].flops;
    model->kernels[i].bytes = steps[i].bytes;
  }
  const tf_model_buffer* buffers = tf_table_at<tf_model_buffer>(header, header->buffers);
  for (uint64_t i = 0; i < header->buffers.count; ++i) {
    // Kernels only read constants: the ABI has one pointer type for all buffers.
    if (buffers[i].space == TF_SPACE_WEIGHTS)
      model->run.buffers[i] = const_cast<uint8_t*>(model->weights) + buffers[i].offset_bytes;
  }
}

// What kernels use for this tensor: the caller's memory if it is there and aligned, else our own, which has room for
// the greatest size.
void* bind(tf_model* model, uint64_t tensor) {
  void* given = model->given[tensor];
  if (given != nullptr && reinterpret_cast<uintptr_t>(given) % TF_ALIGNMENT == 0) return given;
  if (model->staging[tensor] == nullptr) {
    void* memory = nullptr;
    if (posix_memalign(&memory, TF_ALIGNMENT, round_up(model->tensors[tensor].size_bytes + 1)) != 0)
      return nullptr;
    model->staging[tensor] = memory;
  }
  return model->staging[tensor];
}

int32_t bind_tensors(tf_model* model, const tf_model_program& program) {
  void** bound = model->run.bound + program.first_tensor;
  const tf_model_tensor* tensors = model->run.tensors + program.first_tensor;
  for (uint64_t i = 0; i < tensor_count(model); ++i) {
    const bool is_input = i < program.input_count;
    if (model->on_device[i] != nullptr) {
      bound[i] = nullptr;
      continue;
    }
    if (is_input && model->given[i] == nullptr && tensors[i].size_bytes != 0) return TF_MODEL_BAD_ARGUMENT;
    bound[i] = bind(model, i);
    if (bound[i] == nullptr) return TF_MODEL_OUT_OF_MEMORY;
    if (is_input && model->given[i] != nullptr && bound[i] != model->given[i])
      memcpy(bound[i], model->given[i], tensors[i].size_bytes);
  }
  return TF_MODEL_OK;
}

// The values that inputs of these extents give the dimensions.
int32_t read_values(tf_model* model, const tf_tensor* inputs) {
  const tf_model_dimension* dims =
      tf_table_at<tf_model_dimension>(model->run.header, model->run.header->dims);
  // A dimension that is made in the run has its greatest value until then; the others are all given.
  for (uint64_t i = 0; i < model->run.header->dims.count; ++i)
    model->values[i] = dims[i].made_by == TF_DIM_MADE ? dims[i].high : -1;
  for (uint64_t i = 0; i < program_of(model).input_count; ++i) {
    const tf_tensor_info& info = model->tensors[i];
    if (info.rank > 0 && inputs[i].extents == nullptr) return TF_MODEL_BAD_ARGUMENT;
    for (int32_t k = 0; k < info.rank; ++k) {
      const int64_t extent = inputs[i].extents[k];
      if (info.dims[k] < 0) {
        if (extent != info.extents[k]) return TF_MODEL_BAD_SIZE;
        continue;
      }
      int64_t& value = model->values[info.dims[k]];
      if (!tf_is_value_of(dims[info.dims[k]], extent) || (value >= 0 && value != extent))
        return TF_MODEL_BAD_SIZE;
      value = extent;
    }
  }
  return TF_MODEL_OK;
}

bool has_values(const tf_model* model, const tf_model_variant& variant) {
  const tf_model_header* header = model->run.header;
  const tf_model_dimension* dims = tf_table_at<tf_model_dimension>(header, header->dims);
  const int64_t* values = tf_table_at<int64_t>(header, header->numbers) + variant.first_value;
  for (uint64_t i = 0; i < header->dims.count; ++i)
    if (dims[i].made_by == TF_DIM_GIVEN && values[i] != TF_ANY_VALUE && values[i] != model->values[i])
      return false;
  return true;
}

// The first variant that was built for the values, else the first program, which is right for all.
uint32_t program_for_values(const tf_model* model) {
  for (uint64_t i = 0; i < model->run.header->variants.count; ++i)
    if (has_values(model, variants_of(model)[i])) return variants_of(model)[i].program;
  return 0;
}

// Whether the sizes of the first program or a variant depend on the dimensions.
bool varies(const tf_model* model, uint32_t number) {
  const tf_model_header* header = model->run.header;
  for (uint64_t i = 0; i < header->variants.count; ++i) {
    if (variants_of(model)[i].program != number) continue;
    const int64_t* values = tf_table_at<int64_t>(header, header->numbers) + variants_of(model)[i].first_value;
    for (uint64_t k = 0; k < header->dims.count; ++k)
      if (values[k] == TF_ANY_VALUE) return true;
  }
  return number == 0;
}

// On what is given, at the dimensions' values.
int32_t run_program(tf_model* model, uint32_t number) {
  tf_runtime_check_fork(model->runtime);
  const tf_model_program& program = program_at(model, number);
  if (varies(model, number)) {
    if (int32_t error = tf_set_sizes(&model->run, model->values); error != TF_MODEL_OK) return error;
  }
  if (int32_t error = bind_tensors(model, program); error != TF_MODEL_OK) return error;
  const tf_execution& run = model->run;
  if (run.device != nullptr) {
    if (int32_t error = run.on_device->give(run.device, &run, model->on_device); error != TF_MODEL_OK)
      return error;
  }
  return tf_run_program(&model->run, number, model->arena.data);
}

// Waits for what a device still does.
int32_t finish(const tf_model* model) {
  return model->run.device == nullptr ? TF_MODEL_OK : model->run.on_device->finish(model->run.device);
}

// The model at its greatest sizes, with outputs where the caller wants them.
int32_t run_given(tf_model* model) {
  for (uint64_t i = 0; i < model->run.header->dims.count; ++i) model->values[i] = model->dims[i].high;
  const uint32_t number = program_for_values(model);
  if (int32_t error = run_program(model, number); error != TF_MODEL_OK) return error;
  const tf_model_program& program = program_at(model, number);
  for (uint64_t i = program.input_count; i < tensor_count(model); ++i) {
    const uint64_t tensor = program.first_tensor + i;
    void *output = model->given[i], *made = model->run.bound[tensor];
    if (output != nullptr && made != output) memcpy(output, made, model->run.tensors[tensor].size_bytes);
  }
  return TF_MODEL_OK;
}

// Between the host's memory of the tensor and the caller's on the device.
int32_t copy_device(tf_model* model, uint64_t tensor, void* memory, bool to_device) {
  return model->run.on_device->copy(model->run.device, memory, model->given[tensor],
                                    model->tensors[tensor].size_bytes, to_device ? 1 : 0);
}

// What the host needs of the caller's memory on the device passes through ours.
int32_t give(tf_model* model, uint64_t tensor, const tf_memory& memory) {
  model->given[tensor] = nullptr;
  model->on_device[tensor] = nullptr;
  if (memory.data == nullptr) return TF_MODEL_BAD_ARGUMENT;
  if (memory.place == TF_MEMORY_HOST) {
    model->given[tensor] = memory.data;
    return TF_MODEL_OK;
  }
  if (memory.place != TF_MEMORY_DEVICE || model->run.device == nullptr) return TF_MODEL_BAD_ARGUMENT;
  if (!tf_used_on_host(model->run.header, tensor)) {
    model->on_device[tensor] = memory.data;
    return TF_MODEL_OK;
  }
  model->given[tensor] = bind(model, tensor);
  if (model->given[tensor] == nullptr) return TF_MODEL_OUT_OF_MEMORY;
  return tensor < program_of(model).input_count ? copy_device(model, tensor, memory.data, false)
                                                : TF_MODEL_OK;
}

// Opens the device of a model that has one.
int32_t open_device(tf_model* model, const tf_device* choice) {
  const tf_model_header* header = model->run.header;
  if (header->device_function == TF_NO_DEVICE) return choice == nullptr ? TF_MODEL_OK : TF_MODEL_BAD_ARGUMENT;
  const tf_device_runtime* runtime = nullptr;
  void* buffers[] = {&runtime};
  const uint64_t sizes_bytes[] = {sizeof runtime};
  const tf_call call = {TF_ABI_VERSION, 1, buffers, sizes_bytes, nullptr, nullptr, model->runtime};
  tf_model_kernels[header->device_function](&call);
  model->run.on_device = runtime;
  model->on_device_only = tf_all_on_device(header);
  return runtime->open(&model->run, model->weights, choice, &model->run.device);
}

// One program may have several models, each with a library of its own.
bool is_own(const tf_model* model) {
  return model->run.header == reinterpret_cast<const tf_model_header*>(tf_model_blob);
}

bool make_tables(tf_model* model) {
  const tf_model_header* header = model->run.header;
  return make_table(&model->tensors, tensor_count(model)) && make_table(&model->given, tensor_count(model)) &&
         make_table(&model->on_device, tensor_count(model)) &&
         make_table(&model->staging, tensor_count(model)) &&
         make_table(&model->run.bound, header->tensors.count) &&
         make_table(&model->kernels, header->steps.count) &&
         make_table(&model->run.buffers, header->buffers.count) &&
         make_table(&model->run.sizes_bytes, header->buffers.count) &&
         make_table(&model->dims, header->dims.count) && make_table(&model->values, header->dims.count) &&
         make_table(&model->extent_dims, header->numbers.count) && tf_make_sizes(&model->run);
}

}  // namespace

extern "C" {

int32_t tf_model_open(int32_t threads, tf_model** out) {
  return tf_model_open_on(threads, nullptr, out);
}

int32_t tf_model_open_on(int32_t threads, const tf_device* device, tf_model** out) {
  if (out == nullptr) return TF_MODEL_BAD_ARGUMENT;
  *out = nullptr;
  if (threads < 0) return TF_MODEL_BAD_ARGUMENT;
  if (threads == 0) threads = tf_usable_cpus();
  const tf_model_header* header = reinterpret_cast<const tf_model_header*>(tf_model_blob);
  if (!tf_tables_valid(header)) return TF_MODEL_BAD_LIBRARY;
  if (const int32_t error = tf_missing_feature(tf_model_features); error != TF_MODEL_OK) return error;
  tf_model* model = static_cast<tf_model*>(calloc(1, sizeof(tf_model)));
  if (model == nullptr) return TF_MODEL_OUT_OF_MEMORY;
  model->run.header = header;
  model->runtime = tf_runtime_create(threads);
  model->run.runtime = model->runtime;
  if (model->runtime == nullptr || !make_tables(model) || !make_arena(model, threads)) {
    tf_model_close(model);
    return TF_MODEL_OUT_OF_MEMORY;
  }
  model->weights = open_weights(header);
  fill_dims(model);
  fill_tables(model);
  if (const int32_t error = open_device(model, device); error != TF_MODEL_OK) {
    tf_model_close(model);
    return error;
  }
  *out = model;
  return TF_MODEL_OK;
}

void tf_model_close(tf_model* model) {
  if (model == nullptr) return;
  if (model->run.device != nullptr) model->run.on_device->close(model->run.device);
  tf_runtime_destroy(model->runtime);
  if (model->weights != nullptr) close_weights();
  tf_unmap_large(&model->arena);
  for (uint64_t i = 0; model->staging != nullptr && i < tensor_count(model); ++i) free(model->staging[i]);
  tf_free_sizes(&model->run);
  free(model->tensors);
  free(model->given);
  free(model->on_device);
  free(model->dims);
  free(model->values);
  free(model->extent_dims);
  free(model->staging);
  free(model->kernels);
  free(model->run.bound);
  free(model->run.buffers);
  free(model->run.sizes_bytes);
  free(model);
}

int32_t tf_model_set_affinity(tf_model* model, const int32_t* cpus, int32_t count) {
  if (model == nullptr || cpus == nullptr) return TF_MODEL_BAD_ARGUMENT;
  return tf_runtime_set_affinity(model->runtime, cpus, count) ? TF_MODEL_OK : TF_MODEL_BAD_ARGUMENT;
}

int32_t tf_model_input_count(const tf_model* model) {
  return static_cast<int32_t>(program_of(model).input_count);
}

int32_t tf_model_output_count(const tf_model* model) {
  return static_cast<int32_t>(program_of(model).output_count);
}

int32_t tf_model_dim_count(const tf_model* model) {
  return static_cast<int32_t>(model->run.header->dims.count);
}

const tf_dim_info* tf_model_dim(const tf_model* model, int32_t index) {
  return index >= 0 && index < tf_model_dim_count(model) ? &model->dims[index] : nullptr;
}

const tf_tensor_info* tf_model_input(const tf_model* model, int32_t index) {
  return index >= 0 && index < tf_model_input_count(model) ? &model->tensors[index] : nullptr;
}

const tf_tensor_info* tf_model_output(const tf_model* model, int32_t index) {
  return index >= 0 && index < tf_model_output_count(model)
             ? &model->tensors[tf_model_input_count(model) + index]
             : nullptr;
}

int32_t tf_model_run(tf_model* model, const void* const* inputs, void* const* outputs) {
  if (model == nullptr || inputs == nullptr || outputs == nullptr) return TF_MODEL_BAD_ARGUMENT;
  if (!is_own(model)) return TF_MODEL_BAD_ARGUMENT;
  const uint64_t input_count = program_of(model).input_count;
  for (uint64_t i = 0; i < tensor_count(model); ++i) {
    model->given[i] = i < input_count ? const_cast<void*>(inputs[i]) : outputs[i - input_count];
    model->on_device[i] = nullptr;
    if (model->given[i] == nullptr) return TF_MODEL_BAD_ARGUMENT;
  }
  if (int32_t error = run_given(model); error != TF_MODEL_OK) return error;
  return finish(model);
}

int32_t tf_model_run_on(tf_model* model, const tf_memory* inputs, const tf_memory* outputs) {
  if (model == nullptr || inputs == nullptr || outputs == nullptr) return TF_MODEL_BAD_ARGUMENT;
  if (!is_own(model) || tf_model_dim_count(model) != 0) return TF_MODEL_BAD_ARGUMENT;
  const uint64_t input_count = program_of(model).input_count;
  bool waits = !model->on_device_only;
  for (uint64_t i = 0; i < tensor_count(model); ++i) {
    const tf_memory& memory = i < input_count ? inputs[i] : outputs[i - input_count];
    if (int32_t error = give(model, i, memory); error != TF_MODEL_OK) return error;
    waits |= i >= input_count && memory.place == TF_MEMORY_HOST;
  }
  if (int32_t error = run_given(model); error != TF_MODEL_OK) return error;
  for (uint64_t i = input_count; i < tensor_count(model); ++i) {
    const tf_memory& memory = outputs[i - input_count];
    if (memory.place == TF_MEMORY_HOST || model->on_device[i] != nullptr) continue;
    if (int32_t error = copy_device(model, i, memory.data, true); error != TF_MODEL_OK) return error;
  }
  return waits ? finish(model) : TF_MODEL_OK;
}

const tf_device* tf_model_device(const tf_model* model) {
  return model->run.device != nullptr ? model->run.on_device->describe(model->run.device) : nullptr;
}

int32_t tf_model_run_sizes(tf_model* model, const tf_tensor* inputs, tf_tensor* outputs) {
  if (model == nullptr || inputs == nullptr || outputs == nullptr) return TF_MODEL_BAD_ARGUMENT;
  if (!is_own(model)) return TF_MODEL_BAD_ARGUMENT;
  const uint64_t input_count = program_of(model).input_count;
  for (uint64_t i = 0; i < tensor_count(model); ++i)
    model->given[i] = i < input_count ? inputs[i].data : nullptr;
  for (uint64_t i = 0; i < tensor_count(model); ++i) model->on_device[i] = nullptr;
  if (int32_t error = read_values(model, inputs); error != TF_MODEL_OK) return error;
  const uint32_t number = program_for_values(model);
  if (int32_t error = run_program(model, number); error != TF_MODEL_OK) return error;
  if (int32_t error = finish(model); error != TF_MODEL_OK) return error;
  const uint64_t first = program_at(model, number).first_tensor + input_count;
  for (uint64_t i = 0; i < program_of(model).output_count; ++i)
    outputs[i] = {model->run.bound[first + i],
                  model->run.numbers + model->run.tensors[first + i].first_extent};
  return TF_MODEL_OK;
}

int32_t tf_model_kernel_count(const tf_model* model) {
  return static_cast<int32_t>(model->run.header->steps.count);
}

const tf_kernel_info* tf_model_kernel(const tf_model* model, int32_t index) {
  return index >= 0 && index < tf_model_kernel_count(model) ? &model->kernels[index] : nullptr;
}

void tf_model_set_profile(tf_model* model, tf_model_profile profile, void* context) {
  model->run.profile = profile;
  model->run.profile_context = context;
}

}  // extern "C"
