#include "compiler/runtime/model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/runtime/clock.h"
#include "compiler/runtime/cpu_features.h"
#include "compiler/runtime/large_pages.h"
#include "compiler/runtime/model_abi.h"
#include "compiler/runtime/thread_pool.h"

struct tf_model {
  const tf_model_header* header;
  tf_runtime* runtime;
  const uint8_t* weights;  // null until they are counted as used
  tf_mapping arena;        // activations, then the workspace that all kernels share
  uint8_t* workspace;
  tf_tensor_info* tensors;  // inputs, then outputs
  void** staging;           // for each tensor: an aligned copy, made on first need
  void** bound;             // for each tensor: what this run uses
  tf_kernel_info* kernels;
  void** buffers;  // for each entry of the buffer table
  uint64_t* sizes_bytes;
  tf_model_profile profile;
  void* profile_context;
};

namespace {

template <typename T>
const T* table_at(const tf_model_table& table) {
  return reinterpret_cast<const T*>(tf_model_blob + table.offset_bytes);
}

bool table_fits(const tf_model_header* header, const tf_model_table& table, uint64_t element_bytes) {
  return table.offset_bytes % 8 == 0 && table.offset_bytes <= header->blob_bytes &&
         table.count <= (header->blob_bytes - table.offset_bytes) / element_bytes;
}

bool range_fits(uint64_t first, uint64_t count, uint64_t total) {
  return first <= total && count <= total - first;
}

bool tensors_valid(const tf_model_header* header, const tf_model_table& table) {
  const tf_model_tensor* tensors = table_at<tf_model_tensor>(table);
  for (uint64_t i = 0; i < table.count; ++i) {
    if (tensors[i].name >= header->strings.count ||
        !range_fits(tensors[i].first_extent, tensors[i].rank, header->numbers.count)) {
      return false;
    }
  }
  return true;
}

bool lies_in_tensor(const tf_model_table& table, const tf_model_buffer& buffer) {
  return buffer.index < table.count && range_fits(buffer.offset_bytes, buffer.size_bytes,
                                                  table_at<tf_model_tensor>(table)[buffer.index].size_bytes);
}

bool buffer_valid(const tf_model_header* header, const tf_model_buffer& buffer) {
  switch (buffer.space) {
    case TF_SPACE_INPUT:
      return lies_in_tensor(header->inputs, buffer);
    case TF_SPACE_OUTPUT:
      return lies_in_tensor(header->outputs, buffer);
    case TF_SPACE_WEIGHTS:
      return range_fits(buffer.offset_bytes, buffer.size_bytes, header->weights_bytes);
    case TF_SPACE_ARENA:
      return range_fits(buffer.offset_bytes, buffer.size_bytes, header->arena_bytes);
  }
  return false;
}

// The tables come from our compiler; this finds a library that was cut short or made by another version.
bool library_valid(const tf_model_header* header) {
  if (header->magic != TF_MODEL_MAGIC || header->version != TF_MODEL_VERSION) return false;
  if (!table_fits(header, header->inputs, sizeof(tf_model_tensor)) ||
      !table_fits(header, header->outputs, sizeof(tf_model_tensor)) ||
      !table_fits(header, header->steps, sizeof(tf_model_step)) ||
      !table_fits(header, header->buffers, sizeof(tf_model_buffer)) ||
      !table_fits(header, header->numbers, sizeof(int64_t)) || !table_fits(header, header->strings, 1)) {
    return false;
  }
  if (header->strings.count == 0 || table_at<char>(header->strings)[header->strings.count - 1] != '\0')
    return false;
  if (!tensors_valid(header, header->inputs) || !tensors_valid(header, header->outputs)) return false;
  const tf_model_step* steps = table_at<tf_model_step>(header->steps);
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    if (steps[i].kernel >= header->kernel_count || steps[i].name >= header->strings.count ||
        steps[i].key >= header->strings.count ||
        !range_fits(steps[i].first_buffer, steps[i].buffer_count, header->buffers.count) ||
        (steps[i].index_bytes != 0 && steps[i].index_buffer >= steps[i].buffer_count) ||
        !range_fits(steps[i].first_dim, steps[i].dim_count, header->numbers.count)) {
      return false;
    }
  }
  const tf_model_buffer* buffers = table_at<tf_model_buffer>(header->buffers);
  for (uint64_t i = 0; i < header->buffers.count; ++i) {
    if (!buffer_valid(header, buffers[i])) return false;
  }
  return true;
}

uint64_t round_up(uint64_t bytes) {
  return (bytes + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
}

uint64_t workspace_bytes(const tf_model_header* header, int32_t threads) {
  const tf_model_step* steps = table_at<tf_model_step>(header->steps);
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

bool make_arena(tf_model* model, int32_t threads) {
  const uint64_t arena_bytes = round_up(model->header->arena_bytes);
  model->arena = tf_map_large(arena_bytes + round_up(workspace_bytes(model->header, threads)));
  if (model->arena.data == nullptr) return false;
  model->workspace = model->arena.data + arena_bytes;
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
  pthread_mutex_lock(&weights_mutex);
  if (weights_users++ == 0) copy_weights(header->weights_bytes);
  const uint8_t* weights = weights_copy.data != nullptr ? weights_copy.data : tf_model_weights;
  pthread_mutex_unlock(&weights_mutex);
  return weights;
}

void close_weights(void) {
  pthread_mutex_lock(&weights_mutex);
  if (--weights_users == 0) tf_unmap_large(&weights_copy);
  pthread_mutex_unlock(&weights_mutex);
}

void describe_tensors(const tf_model_header* header, const tf_model_table& table, tf_tensor_info* infos) {
  const tf_model_tensor* tensors = table_at<tf_model_tensor>(table);
  for (uint64_t i = 0; i < table.count; ++i) {
    infos[i].name = table_at<char>(header->strings) + tensors[i].name;
    infos[i].element = static_cast<int32_t>(tensors[i].element);
    infos[i].rank = static_cast<int32_t>(tensors[i].rank);
    infos[i].extents = table_at<int64_t>(header->numbers) + tensors[i].first_extent;
    infos[i].size_bytes = tensors[i].size_bytes;
    infos[i].index_extent = tensors[i].index_extent;
  }
}

void fill_tables(tf_model* model) {
  const tf_model_header* header = model->header;
  describe_tensors(header, header->inputs, model->tensors);
  describe_tensors(header, header->outputs, model->tensors + header->inputs.count);
  const tf_model_step* steps = table_at<tf_model_step>(header->steps);
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    model->kernels[i].name = table_at<char>(header->strings) + steps[i].name;
    model->kernels[i].key = table_at<char>(header->strings) + steps[i].key;
    model->kernels[i].flops = steps[i].flops;
    model->kernels[i].bytes = steps[i].bytes;
  }
  const tf_model_buffer* buffers = table_at<tf_model_buffer>(header->buffers);
  for (uint64_t i = 0; i < header->buffers.count; ++i) {
    model->sizes_bytes[i] = buffers[i].size_bytes;
    if (buffers[i].space == TF_SPACE_WEIGHTS) {
      // Kernels only read constants: the ABI has one pointer type for all buffers.
      model->buffers[i] = const_cast<uint8_t*>(model->weights) + buffers[i].offset_bytes;
    } else if (buffers[i].space == TF_SPACE_ARENA) {
      model->buffers[i] = model->arena.data + buffers[i].offset_bytes;
    }
  }
}

uint64_t tensor_count(const tf_model* model) {
  return model->header->inputs.count + model->header->outputs.count;
}

// What kernels use for this tensor: the caller's buffer if it is aligned, else our own copy.
void* bind(tf_model* model, uint64_t tensor, void* given) {
  if (reinterpret_cast<uintptr_t>(given) % TF_ALIGNMENT == 0) return given;
  if (model->staging[tensor] == nullptr) {
    void* memory = nullptr;
    if (posix_memalign(&memory, TF_ALIGNMENT, round_up(model->tensors[tensor].size_bytes + 1)) != 0)
      return nullptr;
    model->staging[tensor] = memory;
  }
  return model->staging[tensor];
}

int32_t bind_tensors(tf_model* model, const void* const* inputs, void* const* outputs) {
  const uint64_t input_count = model->header->inputs.count;
  for (uint64_t i = 0; i < tensor_count(model); ++i) {
    void* given = i < input_count ? const_cast<void*>(inputs[i]) : outputs[i - input_count];
    if (given == nullptr) return TF_MODEL_BAD_ARGUMENT;
    model->bound[i] = bind(model, i, given);
    if (model->bound[i] == nullptr) return TF_MODEL_OUT_OF_MEMORY;
    if (i < input_count && model->bound[i] != given)
      memcpy(model->bound[i], given, model->tensors[i].size_bytes);
  }
  const tf_model_buffer* buffers = table_at<tf_model_buffer>(model->header->buffers);
  for (uint64_t i = 0; i < model->header->buffers.count; ++i) {
    const tf_model_buffer& buffer = buffers[i];
    if (buffer.space != TF_SPACE_INPUT && buffer.space != TF_SPACE_OUTPUT) continue;
    const uint64_t tensor = buffer.space == TF_SPACE_INPUT ? buffer.index : input_count + buffer.index;
    model->buffers[i] = static_cast<uint8_t*>(model->bound[tensor]) + buffer.offset_bytes;
  }
  return TF_MODEL_OK;
}

// Without a branch for each, so that they are compared as vectors.
template <typename T>
bool all_within(const void* indices, uint64_t count, int64_t extent) {
  const T* values = static_cast<const T*>(indices);
  bool outside = false;
  for (uint64_t i = 0; i < count; ++i) outside |= values[i] < -extent || values[i] >= extent;
  return !outside;
}

bool indices_valid(const tf_model* model, const tf_model_step& step) {
  if (step.index_bytes == 0) return true;
  const uint64_t buffer = step.first_buffer + step.index_buffer;
  const uint64_t count = model->sizes_bytes[buffer] / step.index_bytes;
  return step.index_bytes == sizeof(int32_t)
             ? all_within<int32_t>(model->buffers[buffer], count, step.index_extent)
             : all_within<int64_t>(model->buffers[buffer], count, step.index_extent);
}

int32_t run_step(const tf_model* model, const tf_model_step& step) {
  if (!indices_valid(model, step)) return TF_MODEL_BAD_INDEX;
  tf_call call;
  call.abi_version = TF_ABI_VERSION;
  call.buffer_count = step.buffer_count;
  call.buffers = model->buffers + step.first_buffer;
  call.sizes_bytes = model->sizes_bytes + step.first_buffer;
  call.dims = table_at<int64_t>(model->header->numbers) + step.first_dim;
  call.workspace = model->workspace;
  call.runtime = model->runtime;
  return tf_model_kernels[step.kernel](&call);
}

bool make_tables(tf_model* model) {
  const uint64_t tensors = tensor_count(model);
  return make_table(&model->tensors, tensors) && make_table(&model->staging, tensors) &&
         make_table(&model->bound, tensors) && make_table(&model->kernels, model->header->steps.count) &&
         make_table(&model->buffers, model->header->buffers.count) &&
         make_table(&model->sizes_bytes, model->header->buffers.count);
}

}  // namespace

extern "C" {

int32_t tf_model_open(int32_t threads, tf_model** out) {
  if (out == nullptr) return TF_MODEL_BAD_ARGUMENT;
  *out = nullptr;
  if (threads < 1) return TF_MODEL_BAD_ARGUMENT;
  const tf_model_header* header = reinterpret_cast<const tf_model_header*>(tf_model_blob);
  if (!library_valid(header)) return TF_MODEL_BAD_LIBRARY;
  if (const int32_t error = tf_missing_feature(tf_model_features); error != TF_MODEL_OK) return error;
  tf_model* model = static_cast<tf_model*>(calloc(1, sizeof(tf_model)));
  if (model == nullptr) return TF_MODEL_OUT_OF_MEMORY;
  model->header = header;
  model->runtime = tf_runtime_create(threads);
  if (model->runtime == nullptr || !make_tables(model) || !make_arena(model, threads)) {
    tf_model_close(model);
    return TF_MODEL_OUT_OF_MEMORY;
  }
  model->weights = open_weights(header);
  fill_tables(model);
  *out = model;
  return TF_MODEL_OK;
}

void tf_model_close(tf_model* model) {
  if (model == nullptr) return;
  tf_runtime_destroy(model->runtime);
  if (model->weights != nullptr) close_weights();
  tf_unmap_large(&model->arena);
  for (uint64_t i = 0; model->staging != nullptr && i < tensor_count(model); ++i) free(model->staging[i]);
  free(model->tensors);
  free(model->staging);
  free(model->bound);
  free(model->kernels);
  free(model->buffers);
  free(model->sizes_bytes);
  free(model);
}

int32_t tf_model_set_affinity(tf_model* model, const int32_t* cpus, int32_t count) {
  if (model == nullptr || cpus == nullptr) return TF_MODEL_BAD_ARGUMENT;
  return tf_runtime_set_affinity(model->runtime, cpus, count) ? TF_MODEL_OK : TF_MODEL_BAD_ARGUMENT;
}

int32_t tf_model_input_count(const tf_model* model) {
  return static_cast<int32_t>(model->header->inputs.count);
}

int32_t tf_model_output_count(const tf_model* model) {
  return static_cast<int32_t>(model->header->outputs.count);
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
  // One program may have several models, each with a library of its own.
  if (model->header != reinterpret_cast<const tf_model_header*>(tf_model_blob)) return TF_MODEL_BAD_ARGUMENT;
  if (int32_t error = bind_tensors(model, inputs, outputs); error != TF_MODEL_OK) return error;
  const tf_model_step* steps = table_at<tf_model_step>(model->header->steps);
  for (uint64_t i = 0; i < model->header->steps.count; ++i) {
    const int64_t start_ns = model->profile ? tf_monotonic_ns() : 0;
    if (int32_t error = run_step(model, steps[i]); error != 0) return error;
    if (model->profile)
      model->profile(model->profile_context, static_cast<int32_t>(i), start_ns, tf_monotonic_ns());
  }
  for (uint64_t i = 0; i < model->header->outputs.count; ++i) {
    const uint64_t tensor = model->header->inputs.count + i;
    if (model->bound[tensor] != outputs[i])
      memcpy(outputs[i], model->bound[tensor], model->tensors[tensor].size_bytes);
  }
  return TF_MODEL_OK;
}

int32_t tf_model_kernel_count(const tf_model* model) {
  return static_cast<int32_t>(model->header->steps.count);
}

const tf_kernel_info* tf_model_kernel(const tf_model* model, int32_t index) {
  return index >= 0 && index < tf_model_kernel_count(model) ? &model->kernels[index] : nullptr;
}

void tf_model_set_profile(tf_model* model, tf_model_profile profile, void* context) {
  model->profile = profile;
  model->profile_context = context;
}

const char* tf_model_error_text(int32_t error) {
  if (const char* text = tf_missing_feature_text(error); text != nullptr) return text;
  switch (error) {
    case TF_MODEL_OK:
      return "ok";
    case TF_KERNEL_BAD_ABI:
      return "a kernel was built for another ABI version: build the model again";
    case TF_KERNEL_SHORT_BUFFER:
      return "a kernel received a buffer that is too small";
    case TF_MODEL_BAD_ARGUMENT:
      return "an argument is a null pointer, fewer than one thread, a CPU that this process may not use, or "
             "a model that another library opened";
    case TF_MODEL_OUT_OF_MEMORY:
      return "no memory for activations, or threads cannot be started";
    case TF_MODEL_BAD_INDEX:
      return "an index (of a Gather) lies outside the axis that it selects from";
    case TF_MODEL_BAD_LIBRARY:
      return "the library is damaged or of another version: build the model again";
  }
  return "a kernel failed";
}

}  // extern "C"
