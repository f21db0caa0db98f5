#include "compiler/runtime/device/device_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "compiler/runtime/clock.h"
#include "compiler/runtime/device/launch_graphs.h"
#include "compiler/runtime/executor/tables.h"

using tf::gpu::Argument;
using tf::gpu::Driver;
using tf::gpu::kErrorChars;
using tf::gpu::Memory;

struct tf_device_run {
  const Driver* driver;
  tf::gpu::Device* device;
  tf_device described;
  tf::gpu::Program** programs;  // of each device kernel
  tf::gpu::Kernel** kernels;    // of each step's launches, one after another
  uint32_t* first_kernels;      // of each step
  Memory *arena, *weights, *workspace;
  uint64_t workspace_bytes;
  uint64_t tensor_count;  // of the first program
  Memory** own;           // for each of them, where steps on the device use it
  Memory** given;         // the caller's, in this run
  void** given_handles;
  uint64_t evaluations;  // of the sizes that kernels are bound for
  tf_launch_graphs graphs;
};

namespace {

template <typename T>
T* make_array(uint64_t count) {
  return static_cast<T*>(calloc(count + 1, sizeof(T)));
}

const tf_model_program& program_of(const tf_execution* run, uint64_t number) {
  return tf_table_at<tf_model_program>(run->header, run->header->programs)[number];
}
const tf_model_step& step_of(const tf_execution* run, uint64_t number) {
  return tf_table_at<tf_model_step>(run->header, run->header->steps)[number];
}
// Where its buffers are in this run.
const tf_model_buffer* places_of(const tf_execution* run, const tf_model_step& step) {
  return run->places + step.first_buffer;
}

// For a failed call of the driver's.
int32_t failed(const tf_device_run* device, const char* line) {
  const bool lost = device->driver->is_lost(device->device);
  return tf_note_error(lost ? TF_MODEL_DEVICE_LOST : TF_MODEL_DEVICE_FAILED, line);
}

// The number of its tensor, inputs first; those of variants have the same numbers.
uint64_t tensor_of(const tf_execution* run, const tf_model_buffer& place) {
  return place.space == TF_SPACE_INPUT ? place.index : uint64_t{program_of(run, 0).input_count} + place.index;
}

bool is_tensor(const tf_model_buffer& place) {
  return place.space == TF_SPACE_INPUT || place.space == TF_SPACE_OUTPUT;
}

Memory* memory_of(const tf_device_run* device, const tf_execution* run, const tf_model_buffer& place) {
  if (place.space == TF_SPACE_WEIGHTS) return device->weights;
  if (place.space == TF_SPACE_ARENA) return device->arena;
  const uint64_t tensor = tensor_of(run, place);
  return device->given[tensor] != nullptr ? device->given[tensor] : device->own[tensor];
}

// The device that was asked for: by the caller, else by the environment.
int32_t open_driver(tf_device_run* device, const tf_device* choice) {
  const Driver& driver = *device->driver;
  char error[kErrorChars] = "";
  tf_device& described = device->described;
  described.driver = driver.name;
  if (choice != nullptr) {
    if (choice->driver != nullptr && strcmp(choice->driver, driver.name) != 0) {
      snprintf(error, sizeof error, "the model was built for %s, not for %s", driver.name, choice->driver);
      return tf_note_error(TF_MODEL_NO_DEVICE, error);
    }
    described = {driver.name, choice->index, choice->context, choice->queue};
  } else if (const char* number = getenv("TF_DEVICE"); number != nullptr) {
    char* end = nullptr;
    errno = 0;
    const auto asked = strtol(number, &end, 10);
    described.index = static_cast<int32_t>(asked);
    if (end == number || *end != '\0' || errno != 0 || asked < 0 || asked != described.index) {
      snprintf(error, sizeof error, "TF_DEVICE is \"%.60s\", not the number of a device", number);
      return tf_note_error(TF_MODEL_NO_DEVICE, error);
    }
  }
  // Drivers are found at the first call, by one thread.
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const int count = driver.count(error);
  pthread_mutex_unlock(&mutex);
  if (count < 0) return tf_note_error(TF_MODEL_NO_DRIVER, error);
  device->device = driver.open_in(described.index, described.context, described.queue, error);
  if (device->device == nullptr) return tf_note_error(TF_MODEL_NO_DEVICE, error);
  int index = 0;
  driver.handles(device->device, &index, &described.context, &described.queue);
  described.index = index;
  tf::gpu::Facts facts;
  driver.facts(device->device, &facts);
  if (facts.alignment_bytes == 0 || TF_DEVICE_ALIGNMENT % facts.alignment_bytes == 0) return TF_MODEL_OK;
  snprintf(error, sizeof error, "%s wants memory aligned to %u bytes; the model was built for up to %u",
           facts.name, facts.alignment_bytes, TF_DEVICE_ALIGNMENT);
  return tf_note_error(TF_MODEL_DEVICE_REFUSES, error);
}

// The first of the kernel's codes that the device takes.
int32_t load(tf_device_run* device, const tf_execution* run, uint32_t code_kinds, uint64_t number) {
  const tf_model_header* header = run->header;
  const tf_model_device_kernel& kernel =
      tf_table_at<tf_model_device_kernel>(header, header->device_kernels)[number];
  char error[kErrorChars] = "the model has no code for this kind of device";
  for (uint64_t i = kernel.first_code; i < uint64_t{kernel.first_code} + kernel.code_count; ++i) {
    const tf_model_code& code = tf_table_at<tf_model_code>(header, header->codes)[i];
    if ((code_kinds >> code.kind & 1) == 0) continue;
    device->programs[number] = device->driver->load(
        device->device, tf_table_at<uint8_t>(header, header->codes_bytes) + code.first_byte, code.byte_count,
        error);
    if (device->programs[number] != nullptr) return TF_MODEL_OK;
  }
  return tf_note_error(TF_MODEL_DEVICE_REFUSES, error);
}

int32_t allocate(tf_device_run* device, uint64_t size_bytes, Memory** memory) {
  if (*memory != nullptr) return TF_MODEL_OK;
  char error[kErrorChars] = "no memory";
  *memory = device->driver->allocate(device->device, size_bytes != 0 ? size_bytes : 1, error);
  return *memory != nullptr ? TF_MODEL_OK : tf_note_error(TF_MODEL_DEVICE_MEMORY, error);
}

// Of the first program at its greatest sizes: no tensors are larger.
uint64_t tensor_bytes(const tf_execution* run, uint64_t tensor) {
  const tf_model_tensor* tensors = tf_table_at<tf_model_tensor>(run->header, run->header->tensors);
  return tensors[program_of(run, 0).first_tensor + tensor].size_bytes;
}

// What the step's buffers lie in.
int32_t allocate_for(tf_device_run* device, const tf_execution* run, const tf_model_step& step,
                     uint64_t arena_bytes) {
  const tf_model_buffer* places = places_of(run, step);
  for (uint32_t i = 0; i < step.buffer_count; ++i) {
    int32_t error = TF_MODEL_OK;
    if (places[i].space == TF_SPACE_ARENA)
      error = allocate(device, arena_bytes, &device->arena);
    else if (places[i].space == TF_SPACE_WEIGHTS)
      error = allocate(device, run->header->weights_bytes, &device->weights);
    else
      error = allocate(device, tensor_bytes(run, tensor_of(run, places[i])),
                       &device->own[tensor_of(run, places[i])]);
    if (error != TF_MODEL_OK) return error;
  }
  return TF_MODEL_OK;
}

int32_t allocate_all(tf_device_run* device, const tf_execution* run) {
  const tf_model_header* header = run->header;
  uint64_t arena_bytes = 0;
  for (uint64_t i = 0; i < header->programs.count; ++i)
    if (program_of(run, i).arena_bytes > arena_bytes) arena_bytes = program_of(run, i).arena_bytes;
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    const tf_model_step& step = step_of(run, i);
    if (step.kind < TF_STEP_LAUNCH) continue;
    if (int32_t error = allocate_for(device, run, step, arena_bytes); error != TF_MODEL_OK) return error;
    if (step.kind == TF_STEP_LAUNCH &&
        tf_device_kernel_of(run, step).workspace_bytes > device->workspace_bytes)
      device->workspace_bytes = tf_device_kernel_of(run, step).workspace_bytes;
  }
  return device->workspace_bytes == 0 ? TF_MODEL_OK
                                      : allocate(device, device->workspace_bytes, &device->workspace);
}

// The tensors that a launch has copied, where its buffers lie by now.
bool map_launch(const tf_device_run* device, const tf_execution* run, const tf_model_launch& launch,
                tf::gpu::Kernel* kernel, char* error) {
  if (launch.map_count == 0) return true;
  if (device->driver->map == nullptr) {
    snprintf(error, kErrorChars, "the model has kernels that copy by tensor maps, which %s does not have",
             device->driver->name);
    return false;
  }
  auto* maps = make_array<tf::gpu::TensorMap>(launch.map_count);
  if (maps == nullptr) return false;
  const tf_model_tensor_map* given =
      tf_table_at<tf_model_tensor_map>(run->header, run->header->tensor_maps) + launch.first_map;
  for (uint32_t i = 0; i < launch.map_count; ++i) {
    maps[i].argument = given[i].buffer;
    maps[i].element_bytes = given[i].element_bytes;
    maps[i].rank = given[i].rank;
    for (uint32_t axis = 0; axis < given[i].rank; ++axis) {
      maps[i].extents[axis] = given[i].extents[axis];
      maps[i].box[axis] = given[i].box[axis];
    }
  }
  const bool mapped = device->driver->map(kernel, maps, launch.map_count, error);
  free(maps);
  return mapped;
}

// A step's launches get its buffers where they lie in this run, and its sizes.
int32_t bind_step(tf_device_run* device, const tf_execution* run, uint64_t number) {
  const tf_model_step& step = step_of(run, number);
  const tf_model_device_kernel& kernel = tf_device_kernel_of(run, step);
  const tf_model_buffer* places = places_of(run, step);
  Argument* arguments = make_array<Argument>(uint64_t{step.buffer_count} + 1);
  if (arguments == nullptr) return TF_MODEL_OUT_OF_MEMORY;
  uint32_t count = 0;
  // What is empty may lie at the very end, where no part begins.
  bool aligned = true;
  for (; count < step.buffer_count; ++count) {
    aligned &= places[count].offset_bytes % TF_DEVICE_ALIGNMENT == 0;
    arguments[count] = {memory_of(device, run, places[count]),
                        places[count].size_bytes != 0 ? places[count].offset_bytes : 0,
                        places[count].size_bytes};
  }
  if (kernel.workspace_bytes != 0) arguments[count++] = {device->workspace, 0, kernel.workspace_bytes};
  char error[kErrorChars] = "no memory";
  bool bound = true;
  const tf_model_launch* launches =
      tf_table_at<tf_model_launch>(run->header, run->header->launches) + kernel.first_launch;
  for (uint32_t i = 0; i < kernel.launch_count && bound && aligned; ++i) {
    tf::gpu::Kernel* bind_to = device->kernels[device->first_kernels[number] + i];
    bound = device->driver->bind(bind_to, arguments, count, run->numbers + step.first_dim, kernel.dim_count,
                                 error) &&
            map_launch(device, run, launches[i], bind_to, error);
  }
  free(arguments);
  if (!aligned) return TF_MODEL_BAD_SIZE;
  return bound ? TF_MODEL_OK : failed(device, error);
}

bool uses_tensor(const tf_execution* run, const tf_model_step& step) {
  for (uint32_t i = 0; i < step.buffer_count; ++i)
    if (is_tensor(places_of(run, step)[i])) return true;
  return false;
}

int32_t find_kernels(tf_device_run* device, const tf_execution* run) {
  const tf_model_header* header = run->header;
  uint64_t count = 0;
  for (uint64_t i = 0; i < header->steps.count; ++i)
    if (step_of(run, i).kind == TF_STEP_LAUNCH)
      count += tf_device_kernel_of(run, step_of(run, i)).launch_count;
  device->kernels = make_array<tf::gpu::Kernel*>(count);
  if (device->kernels == nullptr) return TF_MODEL_OUT_OF_MEMORY;
  char error[kErrorChars] = "no memory";
  uint32_t next = 0;
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    const tf_model_step& step = step_of(run, i);
    if (step.kind != TF_STEP_LAUNCH) continue;
    const tf_model_device_kernel& kernel = tf_device_kernel_of(run, step);
    device->first_kernels[i] = next;
    for (uint32_t k = 0; k < kernel.launch_count; ++k) {
      const tf_model_launch& launch =
          tf_table_at<tf_model_launch>(header, header->launches)[kernel.first_launch + k];
      device->kernels[next] = device->driver->find(
          device->programs[step.kernel], tf_table_at<char>(header, header->strings) + launch.entry, error);
      if (device->kernels[next++] == nullptr) return tf_note_error(TF_MODEL_DEVICE_REFUSES, error);
    }
    if (int32_t failure = bind_step(device, run, i); failure != TF_MODEL_OK) return failure;
  }
  return TF_MODEL_OK;
}

int32_t open_all(tf_device_run* device, const tf_execution* run, uint32_t code_kinds, const uint8_t* weights,
                 const tf_device* choice) {
  const tf_model_header* header = run->header;
  device->tensor_count = uint64_t{program_of(run, 0).input_count} + program_of(run, 0).output_count;
  device->programs = make_array<tf::gpu::Program*>(header->device_kernels.count);
  device->first_kernels = make_array<uint32_t>(header->steps.count);
  device->own = make_array<Memory*>(device->tensor_count);
  device->given = make_array<Memory*>(device->tensor_count);
  device->given_handles = make_array<void*>(device->tensor_count);
  if (device->programs == nullptr || device->first_kernels == nullptr || device->own == nullptr ||
      device->given == nullptr || device->given_handles == nullptr ||
      !tf_make_launch_graphs(&device->graphs, *device->driver, header->steps.count))
    return TF_MODEL_OUT_OF_MEMORY;
  if (int32_t error = open_driver(device, choice); error != TF_MODEL_OK) return error;
  if (int32_t error = allocate_all(device, run); error != TF_MODEL_OK) return error;
  for (uint64_t i = 0; i < header->device_kernels.count; ++i)
    if (int32_t error = load(device, run, code_kinds, i); error != TF_MODEL_OK) return error;
  if (int32_t error = find_kernels(device, run); error != TF_MODEL_OK) return error;
  char error[kErrorChars] = "";
  if (device->weights == nullptr ||
      device->driver->upload(device->weights, 0, weights, header->weights_bytes, error))
    return TF_MODEL_OK;
  return failed(device, error);
}

// A step's launches, or those of a graph that begins with it; nothing of one that is in a graph.
int32_t launch(tf_device_run* device, const tf_execution* run, uint32_t number, bool by_graphs) {
  const tf_model_step& step = step_of(run, number);
  char error[kErrorChars] = "";
  if (by_graphs && device->graphs.is_within[number]) return TF_MODEL_OK;
  if (tf::gpu::Graph* graph = device->graphs.graphs[number]; by_graphs && graph != nullptr)
    return device->driver->launch_graph(graph, error) ? TF_MODEL_OK : failed(device, error);
  for (uint32_t i = 0; i < tf_device_kernel_of(run, step).launch_count; ++i) {
    tf::gpu::GraphLaunch launch;
    if (!tf_launch_at(run, step, i, device->kernels[device->first_kernels[number] + i], &launch))
      return TF_MODEL_BAD_SIZE;
    if (!device->driver->launch(launch.kernel, launch.size, error)) return failed(device, error);
  }
  return TF_MODEL_OK;
}

// An upload or a download. What the caller has on the device is there already.
int32_t copy_step(tf_device_run* device, const tf_execution* run, const tf_model_step& step) {
  const tf_model_buffer& place = places_of(run, step)[0];
  if (is_tensor(place) && device->given[tensor_of(run, place)] != nullptr) return TF_MODEL_OK;
  void* host = run->buffers[step.first_buffer];
  Memory* memory = memory_of(device, run, place);
  char error[kErrorChars] = "";
  const bool copied =
      step.kind == TF_STEP_UPLOAD
          ? device->driver->upload(memory, place.offset_bytes, host, place.size_bytes, error)
          : device->driver->download(host, memory, place.offset_bytes, place.size_bytes, error);
  return copied ? TF_MODEL_OK : failed(device, error);
}

}  // namespace

int32_t tf_open_device_run(const Driver& driver, uint32_t code_kinds, const tf_execution* run,
                           const uint8_t* weights, const tf_device* choice, tf_device_run** out) {
  auto* device = make_array<tf_device_run>(1);
  if (device == nullptr) return TF_MODEL_OUT_OF_MEMORY;
  device->driver = &driver;
  const int32_t error = open_all(device, run, code_kinds, weights, choice);
  if (error == TF_MODEL_OK)
    *out = device;
  else
    tf_close_device_run(device);
  return error;
}

void tf_close_device_run(tf_device_run* device) {
  const Driver& driver = *device->driver;
  if (device->device != nullptr) {
    char error[kErrorChars];
    driver.finish(device->device, error);  // what is in the queue reads what is freed now
    tf_free_launch_graphs(&device->graphs);
    for (uint64_t i = 0; device->programs != nullptr && device->programs[i] != nullptr; ++i)
      driver.unload(device->programs[i]);
    for (Memory* memory : {device->arena, device->weights, device->workspace})
      if (memory != nullptr) driver.free(memory);
    for (uint64_t i = 0; i < device->tensor_count; ++i) {
      if (device->own != nullptr && device->own[i] != nullptr) driver.free(device->own[i]);
      if (device->given != nullptr && device->given[i] != nullptr) driver.free(device->given[i]);
    }
    driver.close(device->device);
  } else {
    tf_free_launch_graphs(&device->graphs);
  }
  free(device->programs);
  free(device->kernels);
  free(device->first_kernels);
  free(device->own);
  free(device->given);
  free(device->given_handles);
  free(device);
}

const tf_device* tf_describe_device(const tf_device_run* device) {
  return &device->described;
}

int32_t tf_give_device_memory(tf_device_run* device, const tf_execution* run, void* const* memory) {
  const bool resized = device->evaluations != run->sizes.evaluations;
  bool given = false, changed = resized;
  char error[kErrorChars] = "no memory";
  for (uint64_t i = 0; i < device->tensor_count; ++i) {
    if (device->given_handles[i] == nullptr && memory[i] == nullptr) continue;
    given = true;
    changed |= device->given_handles[i] != memory[i];
    if (device->given[i] != nullptr) device->driver->free(device->given[i]);
    device->given[i] = nullptr;
    device->given_handles[i] = memory[i];
    if (memory[i] == nullptr) continue;
    device->given[i] = device->driver->wrap(device->device, memory[i], tensor_bytes(run, i), error);
    if (device->given[i] == nullptr) return failed(device, error);
  }
  // Also where handles are the same, which may stand for other memory by now.
  for (uint64_t i = 0; (given || resized) && i < run->header->steps.count; ++i) {
    const tf_model_step& step = step_of(run, i);
    if (step.kind != TF_STEP_LAUNCH) continue;
    if (!(given && uses_tensor(run, step)) && !(resized && tf_step_varies(run->header, step))) continue;
    if (int32_t failure = bind_step(device, run, i); failure != TF_MODEL_OK) return failure;
  }
  device->evaluations = run->sizes.evaluations;
  tf_begin_launch_graphs(&device->graphs, device->device, run, device->kernels, device->first_kernels,
                         changed);
  return TF_MODEL_OK;
}

int32_t tf_run_device_step(tf_device_run* device, const tf_execution* run, uint32_t number,
                           int64_t* device_ns) {
  const tf_model_step& step = step_of(run, number);
  const bool launches = step.kind == TF_STEP_LAUNCH;
  if (device_ns == nullptr)
    return launches ? launch(device, run, number, true) : copy_step(device, run, step);
  const int64_t start_ns = tf_monotonic_ns();
  char error[kErrorChars] = "";
  if (launches && !device->driver->begin_time(device->device, error)) return failed(device, error);
  if (int32_t failure = launches ? launch(device, run, number, false) : copy_step(device, run, step);
      failure != TF_MODEL_OK)
    return failure;
  if (launches)
    return device->driver->end_time(device->device, device_ns, error) ? TF_MODEL_OK : failed(device, error);
  *device_ns = tf_monotonic_ns() - start_ns;
  return TF_MODEL_OK;
}

int32_t tf_finish_device(tf_device_run* device) {
  char error[kErrorChars] = "";
  return device->driver->finish(device->device, error) ? TF_MODEL_OK : failed(device, error);
}

int32_t tf_copy_device_memory(tf_device_run* device, void* handle, void* host, uint64_t size_bytes,
                              int32_t to_device) {
  char error[kErrorChars] = "no memory";
  Memory* memory = device->driver->wrap(device->device, handle, size_bytes, error);
  const bool copied =
      memory != nullptr && (to_device != 0 ? device->driver->upload(memory, 0, host, size_bytes, error)
                                           : device->driver->download(host, memory, 0, size_bytes, error));
  if (memory != nullptr) device->driver->free(memory);
  return copied ? TF_MODEL_OK : failed(device, error);
}
