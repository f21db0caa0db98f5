#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "compiler/runtime/gpu/gpu.h"
#include "compiler/runtime/gpu/opencl_api.h"
#include "compiler/runtime/gpu/pocl_builtins.h"

namespace tf::gpu {

// Whose built-in functions a PoCL device knows: our declarations, or those of its header only, where they differ.
enum class Builtins { kUnknown, kOurs, kOfHeader };

struct Device {
  const ClApi* api;
  ClHandle id, context, queue;
  int index;
  bool owns_queue;
  bool lost;
  bool timing;
  ClHandle first, last;  // events of the launches that are timed
  Builtins builtins;
};

struct Kernel {
  Program* program;
  Kernel* next;
  ClHandle handle;
  ClHandle* parts;  // of memory, that its arguments are
  uint32_t part_count;
};

struct Program {
  Device* device;
  ClHandle handle;
  Kernel* kernels;
};

struct Memory {
  Device* device;
  ClHandle handle;
  uint64_t size_bytes;
  bool is_wrapped;  // the caller's
};

namespace {

constexpr uint32_t kMostDevices = 64;

template <typename T>
T* make() {
  return static_cast<T*>(calloc(1, sizeof(T)));
}

bool fail(char* error, const char* what, int32_t code) {
  snprintf(error, kErrorChars, "OpenCL: %s: error %d", what, code);
  return false;
}

// Whether the device may be asked again: out of its memory and the like are no end.
bool check(Device& device, int32_t code, const char* what, char* error) {
  if (code == kClSuccess) return true;
  constexpr int32_t kOutOfResources = -5, kLastOfCompilation = -11;
  const bool is_refusal = code < -30 || (code <= -3 && code >= kLastOfCompilation && code != kOutOfResources);
  if (!is_refusal) device.lost = true;
  return fail(error, what, code);
}

// All devices of all platforms, in the driver loader's order.
int list_devices(const ClApi& api, ClHandle* devices, char* error) {
  ClHandle platforms[kMostDevices];
  uint32_t platform_count = 0, count = 0;
  // Without any platform the loader gives an error of its own.
  if (api.platforms(kMostDevices, platforms, &platform_count) != kClSuccess) platform_count = 0;
  for (uint32_t p = 0; p < platform_count && p < kMostDevices && count < kMostDevices; ++p) {
    uint32_t found = 0;
    if (api.devices(platforms[p], kClAllDevices, kMostDevices - count, devices + count, &found) == kClSuccess)
      count += found < kMostDevices - count ? found : kMostDevices - count;
  }
  if (count == 0)
    snprintf(error, kErrorChars,
             "OpenCL finds no device: install the device's driver, or pocl-opencl-icd for CPUs");
  return static_cast<int>(count);
}

int count(char* error) {
  const char* why = nullptr;
  const ClApi* api = open_opencl(&why);
  if (api == nullptr) {
    snprintf(error, kErrorChars, "%s", why);
    return -1;
  }
  ClHandle devices[kMostDevices];
  return list_devices(*api, devices, error);
}

void close(Device* device) {
  if (device->owns_queue && device->queue != nullptr) device->api->release_queue(device->queue);
  if (device->owns_queue && device->context != nullptr) device->api->release_context(device->context);
  ::free(device);
}

// The caller's, which tells its device.
bool take_queue(Device& device, void* context, void* queue, char* error) {
  if (queue == nullptr) {
    snprintf(error, kErrorChars, "OpenCL: a context of the caller's needs a queue of the same context");
    return false;
  }
  const auto ask = [&](ClQueueInfo what, ClHandle* value) {
    return device.api->queue_info(queue, what, sizeof *value, value, nullptr);
  };
  int32_t code = ask(kClQueueContext, &device.context);
  if (code == kClSuccess) code = ask(kClQueueDevice, &device.id);
  if (code != kClSuccess) return fail(error, "cannot use the caller's queue", code);
  device.queue = queue;
  if (device.context == context) return true;
  snprintf(error, kErrorChars, "OpenCL: the caller's queue is of another context than the one given with it");
  return false;
}

Device* open_in(int index, void* context, void* queue, char* error) {
  const char* why = nullptr;
  const ClApi* api = open_opencl(&why);
  if (api == nullptr) {
    snprintf(error, kErrorChars, "%s", why);
    return nullptr;
  }
  ClHandle devices[kMostDevices];
  const int found = list_devices(*api, devices, error);
  if (found == 0) return nullptr;
  if (context != nullptr) index = 0;
  if (index < 0 || index >= found) {
    snprintf(error, kErrorChars, "there is no OpenCL device %d: there are 0 to %d", index, found - 1);
    return nullptr;
  }
  Device* device = make<Device>();
  if (device == nullptr) return nullptr;
  device->api = api;
  device->id = devices[index];
  device->index = index;
  if (context != nullptr) {
    if (take_queue(*device, context, queue, error)) {
      for (int i = 0; i < found; ++i)
        if (devices[i] == device->id) device->index = i;
      return device;
    }
    ::free(device);
    return nullptr;
  }
  device->owns_queue = true;
  int32_t code = 0;
  device->context = api->create_context(nullptr, 1, &device->id, nullptr, nullptr, &code);
  if (device->context != nullptr)
    device->queue = api->create_queue(device->context, device->id, kClProfiling, &code);
  if (device->queue != nullptr) return device;
  fail(error, "cannot open the device", code);
  close(device);
  return nullptr;
}

Device* open(int index, char* error) {
  return open_in(index, nullptr, nullptr, error);
}

void handles(const Device* device, int* index, void** context, void** queue) {
  *index = device->index;
  *context = device->context;
  *queue = device->queue;
}

template <typename T>
T info(const Device& device, ClDeviceInfo what) {
  T value = {};
  device.api->device_info(device.id, what, sizeof value, &value, nullptr);
  return value;
}

bool is_pocl(const Device& device) {
  char version[128] = "";
  device.api->device_info(device.id, kClDeviceVersion, sizeof version - 1, version, nullptr);
  return strstr(version, "pocl") != nullptr || strstr(version, "PoCL") != nullptr;
}

void facts(Device* device, Facts* facts) {
  *facts = {};
  device->api->device_info(device->id, kClDeviceName, sizeof facts->name - 1, facts->name, nullptr);
  device->api->device_info(device->id, kClDriverVersion, sizeof facts->driver - 1, facts->driver, nullptr);
  facts->memory_bytes = info<uint64_t>(*device, kClMemoryBytes);
  facts->cache_bytes = info<uint64_t>(*device, kClCacheBytes);
  facts->shared_bytes = info<uint64_t>(*device, kClSharedBytes);
  facts->units = info<uint32_t>(*device, kClUnits);
  facts->block_threads = static_cast<uint32_t>(info<size_t>(*device, kClBlockThreads));
  facts->alignment_bytes = info<uint32_t>(*device, kClAlignmentBits) / 8;
  facts->doubles = info<uint64_t>(*device, kClDoublePrecision) != 0;
  facts->compiles_at_launch = is_pocl(*device);
  facts->shares_host_memory = info<uint32_t>(*device, kClHostMemory) != 0;
}

bool is_lost(const Device* device) {
  return device->lost;
}

void unload(Program* program) {
  const ClApi& api = *program->device->api;
  while (Kernel* kernel = program->kernels) {
    program->kernels = kernel->next;
    for (uint32_t i = 0; i < kernel->part_count; ++i) api.release_memory(kernel->parts[i]);
    api.release_kernel(kernel->handle);
    ::free(kernel->parts);
    ::free(kernel);
  }
  if (program->handle != nullptr) api.release_program(program->handle);
  ::free(program);
}

// The compiler's first lines, as one.
void copy_log(const Program& program, char* error) {
  const Device& device = *program.device;
  const int length = snprintf(error, kErrorChars, "OpenCL: the driver rejects the program: ");
  size_t size = 0;
  device.api->build_info(program.handle, device.id, kClBuildLog, 0, nullptr, &size);
  char* log = static_cast<char*>(calloc(1, size + 1));
  if (log == nullptr) return;
  device.api->build_info(program.handle, device.id, kClBuildLog, size, log, nullptr);
  snprintf(error + length, static_cast<size_t>(kErrorChars - length), "%s", log);
  for (char* c = error; *c != 0; ++c)
    if (*c == '\n') *c = ' ';
  ::free(log);
}

// Of the texts one after another.
Program* build(Device* device, uint32_t count, const char** texts, const size_t* sizes, const char* options,
               char* error) {
  Program* program = make<Program>();
  if (program == nullptr) return nullptr;
  program->device = device;
  int32_t status = 0;
  program->handle = device->api->create_program(device->context, count, texts, sizes, &status);
  if (program->handle != nullptr) {
    status = device->api->build_program(program->handle, 1, &device->id, options, nullptr, nullptr);
    if (status == kClSuccess) return program;
    copy_log(*program, error);
  } else {
    check(*device, status, "cannot make a program", error);
  }
  unload(program);
  return nullptr;
}

Program* load(Device* device, const void* code, uint64_t size_bytes, char* error) {
  // Quotients and square roots are rounded exactly, as everywhere, where the device can.
  const bool exact = (info<uint64_t>(*device, kClSinglePrecision) & kClExactDivision) != 0;
  char options[160];
  const int length = snprintf(options, sizeof options, "-cl-std=CL1.2%s",
                              exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
  const char* texts[] = {kBuiltinDeclarations, static_cast<const char*>(code)};
  const size_t sizes[] = {strlen(kBuiltinDeclarations), static_cast<size_t>(size_bytes)};
  const bool has_ours = is_pocl(*device) && device->builtins != Builtins::kOfHeader;
  if (has_ours) {
    snprintf(options + length, sizeof options - static_cast<size_t>(length), "%s", kWithoutPoclHeader);
    if (Program* program = build(device, 2, texts, sizes, options, error)) {
      device->builtins = Builtins::kOurs;
      return program;
    }
    options[length] = 0;
  }
  // With the header that has all: for a source that calls more than ours do, or is wrong.
  Program* program = build(device, 1, texts + 1, sizes + 1, options, error);
  if (has_ours && program != nullptr && device->builtins == Builtins::kUnknown)
    device->builtins = Builtins::kOfHeader;
  return program;
}

Kernel* find(Program* program, const char* entry, char* error) {
  int32_t status = 0;
  ClHandle handle = program->device->api->create_kernel(program->handle, entry, &status);
  if (handle == nullptr) {
    snprintf(error, kErrorChars, "OpenCL: the program has no kernel %s: error %d", entry, status);
    return nullptr;
  }
  Kernel* kernel = make<Kernel>();
  if (kernel == nullptr) return nullptr;
  *kernel = {
      .program = program, .next = program->kernels, .handle = handle, .parts = nullptr, .part_count = 0};
  program->kernels = kernel;
  return kernel;
}

Memory* allocate(Device* device, uint64_t size_bytes, char* error) {
  int32_t status = 0;
  ClHandle handle = device->api->create_buffer(device->context, kClReadWrite, size_bytes, nullptr, &status);
  if (handle == nullptr) {
    snprintf(error, kErrorChars, "OpenCL: no memory for %llu bytes: error %d",
             static_cast<unsigned long long>(size_bytes), status);
    return nullptr;
  }
  Memory* memory = make<Memory>();
  if (memory == nullptr) return nullptr;
  *memory = {device, handle, size_bytes, false};
  return memory;
}

Memory* wrap(Device* device, void* handle, uint64_t size_bytes, char*) {
  Memory* memory = make<Memory>();
  if (memory != nullptr) *memory = {device, handle, size_bytes, true};
  return memory;
}

void free_memory(Memory* memory) {
  if (!memory->is_wrapped) memory->device->api->release_memory(memory->handle);
  ::free(memory);
}

bool upload(Memory* to, uint64_t offset_bytes, const void* from, uint64_t size_bytes, char* error) {
  if (size_bytes == 0) return true;
  Device& device = *to->device;
  return check(
      device,
      device.api->write(device.queue, to->handle, 1, offset_bytes, size_bytes, from, 0, nullptr, nullptr),
      "cannot copy to the device", error);
}

bool download(void* to, const Memory* from, uint64_t offset_bytes, uint64_t size_bytes, char* error) {
  if (size_bytes == 0) return true;
  Device& device = *from->device;
  return check(
      device,
      device.api->read(device.queue, from->handle, 1, offset_bytes, size_bytes, to, 0, nullptr, nullptr),
      "cannot copy from the device", error);
}

bool fill(Memory* to, uint64_t offset_bytes, uint8_t value, uint64_t size_bytes, char* error) {
  if (size_bytes == 0) return true;
  Device& device = *to->device;
  return check(
      device,
      device.api->fill(device.queue, to->handle, &value, 1, offset_bytes, size_bytes, 0, nullptr, nullptr),
      "cannot fill memory", error);
}

void drop_parts(Kernel& kernel) {
  for (uint32_t i = 0; i < kernel.part_count; ++i)
    kernel.program->device->api->release_memory(kernel.parts[i]);
  kernel.part_count = 0;
}

// What the argument is: the memory, or a part of it, which is the kernel's then.
ClHandle part_of(Kernel& kernel, const Argument& argument, int32_t* status) {
  if (argument.offset_bytes == 0) return argument.memory->handle;
  const ClRegion region = {static_cast<size_t>(argument.offset_bytes),
                           static_cast<size_t>(argument.size_bytes == 0 ? 1 : argument.size_bytes)};
  ClHandle part = kernel.program->device->api->create_part(argument.memory->handle, kClReadWrite,
                                                           kClRegionType, &region, status);
  if (part != nullptr) kernel.parts[kernel.part_count++] = part;
  return part;
}

bool bind(Kernel* kernel, const Argument* arguments, uint32_t argument_count, const int64_t* dims,
          uint32_t dim_count, char* error) {
  Device& device = *kernel->program->device;
  drop_parts(*kernel);
  ::free(kernel->parts);
  kernel->parts = static_cast<ClHandle*>(calloc(argument_count + 1, sizeof(ClHandle)));
  if (kernel->parts == nullptr) return fail(error, "no memory", 0);
  int32_t status = kClSuccess;
  for (uint32_t i = 0; i < argument_count && status == kClSuccess; ++i) {
    const ClHandle part = part_of(*kernel, arguments[i], &status);
    if (part != nullptr) status = device.api->set_argument(kernel->handle, i, sizeof part, &part);
  }
  for (uint32_t i = 0; i < dim_count && status == kClSuccess; ++i)
    status = device.api->set_argument(kernel->handle, argument_count + i, sizeof dims[i], &dims[i]);
  return check(device, status, "cannot set a kernel's arguments", error);
}

bool launch(Kernel* kernel, const LaunchSize& size, char* error) {
  Device& device = *kernel->program->device;
  size_t threads[3], block[3];
  for (int axis = 0; axis < 3; ++axis) {
    if (size.grid[axis] == 0) return true;
    block[axis] = size.block[axis];
    threads[axis] = size.grid[axis] * size.block[axis];
  }
  ClHandle event = nullptr;
  const int32_t status = device.api->launch(device.queue, kernel->handle, 3, nullptr, threads, block, 0,
                                            nullptr, device.timing ? &event : nullptr);
  if (event != nullptr) {
    if (device.first == nullptr) {
      device.first = event;
    } else {
      if (device.last != nullptr) device.api->release_event(device.last);
      device.last = event;
    }
  }
  return check(device, status, "cannot launch a kernel", error);
}

bool finish(Device* device, char* error) {
  return check(*device, device->api->finish(device->queue), "a kernel failed", error);
}

void drop_events(Device& device) {
  for (ClHandle* event : {&device.first, &device.last}) {
    if (*event != nullptr) device.api->release_event(*event);
    *event = nullptr;
  }
  device.timing = false;
}

bool begin_time(Device* device, char*) {
  drop_events(*device);
  device->timing = true;
  return true;
}

bool end_time(Device* device, int64_t* total_ns, char* error) {
  *total_ns = 0;
  bool done = finish(device, error);
  if (done && device->first != nullptr) {
    uint64_t began = 0, ended = 0;
    const ClHandle last = device->last != nullptr ? device->last : device->first;
    int32_t status = device->api->event_time(device->first, kClStart, sizeof began, &began, nullptr);
    if (status == kClSuccess) status = device->api->event_time(last, kClEnd, sizeof ended, &ended, nullptr);
    done = check(*device, status, "the device does not tell its time", error);
    *total_ns = static_cast<int64_t>(ended - began);
  }
  drop_events(*device);
  return done;
}

}  // namespace

const Driver& opencl_driver() {
  static const Driver driver = {
      .name = "opencl",
      .count = count,
      .open = open,
      .open_in = open_in,
      .handles = handles,
      .close = close,
      .facts = facts,
      .is_lost = is_lost,
      .load = load,
      .unload = unload,
      .find = find,
      .allocate = allocate,
      .wrap = wrap,
      .free = free_memory,
      .upload = upload,
      .download = download,
      .fill = fill,
      .bind = bind,
      .map = nullptr,
      .launch = launch,
      .finish = finish,
      .begin_time = begin_time,
      .end_time = end_time,
      .make_graph = nullptr,
      .launch_graph = nullptr,
      .drop_graph = nullptr,
  };
  return driver;
}

}  // namespace tf::gpu
