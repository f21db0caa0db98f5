#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/gpu/cuda_objects.h"
#include "compiler/runtime/gpu/gpu.h"

namespace tf::gpu::cuda {
namespace {

constexpr uint32_t kSharedBytesWithoutAsking = 48 << 10;

int count(char* error) {
  const char* why = nullptr;
  const CuApi* api = open_cuda(&why);
  if (api == nullptr) {
    snprintf(error, kErrorChars, "%s", why);
    return -1;
  }
  int found = 0;
  if (const int code = api->count(&found); code != kCuSuccess)
    fail(*api, code, "cannot list devices", error);
  else if (found == 0)
    snprintf(error, kErrorChars, "CUDA finds no device: see `nvidia-smi`");
  return found;
}

void close(Device* opened) {
  CudaDevice* device = own(opened);
  const CuApi& api = *device->api;
  if (device->context != nullptr) {
    const Entered entered(*device);
    if (device->began != nullptr) api.destroy_event(device->began);
    if (device->ended != nullptr) api.destroy_event(device->ended);
    if (device->owns_stream && device->stream != nullptr) api.destroy_stream(device->stream);
  }
  if (device->owns_stream && device->context != nullptr) api.release_context(device->id);
  ::free(device);
}

// In the device's context, which may be the caller's and of another device: then it is that one.
int make_queue(CudaDevice& device) {
  const Entered entered(device);
  const CuApi& api = *device.api;
  int code = entered.code();
  if (code == kCuSuccess) code = api.device_of_context(&device.id);
  if (code == kCuSuccess && device.owns_stream) code = api.create_stream(&device.stream, kCuNonBlocking);
  if (code == kCuSuccess) code = api.create_event(&device.began, 0);
  if (code == kCuSuccess) code = api.create_event(&device.ended, 0);
  return code;
}

Device* open_in(int index, void* context, void* stream, char* error) {
  const int found = count(error);
  if (found <= 0) return nullptr;
  if (context != nullptr) index = 0;
  if (index < 0 || index >= found) {
    snprintf(error, kErrorChars, "there is no CUDA device %d: there are 0 to %d", index, found - 1);
    return nullptr;
  }
  CudaDevice* device = make_zeroed<CudaDevice>();
  if (device == nullptr) {
    no_memory(error);
    return nullptr;
  }
  const char* why = nullptr;
  device->api = open_cuda(&why);
  const CuApi& api = *device->api;
  int code = api.device(&device->id, index);
  device->context = context;
  device->stream = stream;
  device->owns_stream = context == nullptr;
  if (code == kCuSuccess && device->owns_stream) code = api.retain_context(&device->context, device->id);
  if (code == kCuSuccess) code = make_queue(*device);
  if (code == kCuSuccess) return reinterpret_cast<Device*>(device);
  fail(api, code, "cannot open the device", error);
  close(reinterpret_cast<Device*>(device));
  return nullptr;
}

Device* open(int index, char* error) {
  return open_in(index, nullptr, nullptr, error);
}

void handles(const Device* opened, int* index, void** context, void** stream) {
  const auto& device = *reinterpret_cast<const CudaDevice*>(opened);
  *index = device.id;  // which CUDA numbers as it lists them
  *context = device.context;
  *stream = device.stream;
}

uint32_t attribute(const CudaDevice& device, CuDeviceAttribute which) {
  int value = 0;
  return device.api->attribute(&value, which, device.id) == kCuSuccess && value > 0
             ? static_cast<uint32_t>(value)
             : 0;
}

void facts(Device* opened, Facts* facts) {
  const CudaDevice& device = *own(opened);
  *facts = {};
  device.api->device_name(facts->name, sizeof facts->name - 1, device.id);
  int version = 0;
  device.api->version(&version);
  snprintf(facts->driver, sizeof facts->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  size_t bytes = 0;
  device.api->device_memory(&bytes, device.id);
  facts->memory_bytes = bytes;
  facts->cache_bytes = attribute(device, kCuCacheBytes);
  facts->shared_bytes = attribute(device, kCuSharedBytes);
  facts->units = attribute(device, kCuUnits);
  facts->block_threads = attribute(device, kCuBlockThreads);
  facts->alignment_bytes = 256;
  facts->doubles = true;
  facts->shares_host_memory = attribute(device, kCuIntegrated) != 0;
  facts->capability = attribute(device, kCuMajor) * 10 + attribute(device, kCuMinor);
  facts->clock_khz = attribute(device, kCuClockKhz);
  facts->memory_clock_khz = attribute(device, kCuMemoryClockKhz);
  facts->memory_bus_bits = attribute(device, kCuMemoryBusBits);
  if (device.api->bus_id(facts->bus_id, sizeof facts->bus_id, device.id) != kCuSuccess) facts->bus_id[0] = 0;
}

bool is_lost(const Device* device) {
  return reinterpret_cast<const CudaDevice*>(device)->lost;
}

void unload(Program* loaded) {
  CudaProgram* program = own(loaded);
  const Entered entered(*program->device);
  while (CudaKernel* kernel = program->kernels) {
    program->kernels = kernel->next;
    ::free(kernel->values);
    ::free(kernel->params);
    ::free(kernel->maps);
    ::free(kernel);
  }
  if (program->module != nullptr) program->device->api->unload(program->module);
  ::free(program);
}

// Programs of a newer CUDA than the driver's may not load.
void add_driver(const CudaDevice& device, char* error) {
  int version = 0;
  device.api->version(&version);
  const size_t length = strlen(error);
  snprintf(error + length, kErrorChars - length, ": the device is sm_%u, and its driver is for CUDA %d.%d",
           attribute(device, kCuMajor) * 10 + attribute(device, kCuMinor), version / 1000,
           version % 1000 / 10);
}

// A cubin, or PTX, which the driver compiles.
Program* load(Device* opened, const void* code, uint64_t size_bytes, char* error) {
  CudaDevice& device = *own(opened);
  const Entered entered(device);
  CudaProgram* program = make_zeroed<CudaProgram>();
  char* text = static_cast<char*>(malloc(static_cast<size_t>(size_bytes) + 1));  // PTX ends with a zero
  if (program == nullptr || text == nullptr) {
    no_memory(error);
    ::free(program);
    ::free(text);
    return nullptr;
  }
  memcpy(text, code, static_cast<size_t>(size_bytes));
  text[size_bytes] = 0;
  program->device = &device;
  char log[512] = "";
  int options[] = {kCuErrorLog, kCuErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
  const int status = device.api->load(&program->module, text, 2, options, values);
  ::free(text);
  if (check(device, status, "the driver does not load the program", error))
    return reinterpret_cast<Program*>(program);
  constexpr int kNoBinary = 209, kUnknownPtxVersion = 222;
  if (status == kNoBinary || status == kUnknownPtxVersion) add_driver(device, error);
  if (log[0] != 0) {
    for (char* c = log; *c != 0; ++c)
      if (*c == '\n') *c = ' ';
    const size_t length = strlen(error);
    snprintf(error + length, kErrorChars - length, ": %s", log);
  }
  program->module = nullptr;
  unload(reinterpret_cast<Program*>(program));
  return nullptr;
}

Kernel* find(Program* loaded, const char* entry, char* error) {
  CudaProgram* program = own(loaded);
  const Entered entered(*program->device);
  CuHandle function = nullptr;
  char what[256];
  snprintf(what, sizeof what, "the program has no kernel %.200s", entry);
  if (!check(*program->device, program->device->api->function(&function, program->module, entry), what,
             error))
    return nullptr;
  CudaKernel* kernel = make_zeroed<CudaKernel>();
  if (kernel == nullptr) {
    no_memory(error);
    return nullptr;
  }
  kernel->program = program;
  kernel->next = program->kernels;
  kernel->function = function;
  kernel->shared_bytes = kSharedBytesWithoutAsking;
  program->kernels = kernel;
  return reinterpret_cast<Kernel*>(kernel);
}

Memory* allocate(Device* opened, uint64_t size_bytes, char* error) {
  CudaDevice& device = *own(opened);
  const Entered entered(device);
  CudaMemory* memory = make_zeroed<CudaMemory>();
  if (memory == nullptr) {
    no_memory(error);
    return nullptr;
  }
  char what[64];
  snprintf(what, sizeof what, "no memory for %llu bytes", static_cast<unsigned long long>(size_bytes));
  if (!check(device, device.api->allocate(&memory->address, static_cast<size_t>(size_bytes)), what, error)) {
    ::free(memory);
    return nullptr;
  }
  memory->device = &device;
  memory->size_bytes = size_bytes;
  return reinterpret_cast<Memory*>(memory);
}

Memory* wrap(Device* opened, void* handle, uint64_t size_bytes, char* error) {
  CudaMemory* memory = make_zeroed<CudaMemory>();
  if (memory == nullptr)
    no_memory(error);
  else
    *memory = {own(opened), static_cast<CuAddress>(reinterpret_cast<uintptr_t>(handle)), size_bytes, true};
  return reinterpret_cast<Memory*>(memory);
}

void free_memory(Memory* allocated) {
  CudaMemory* memory = own(allocated);
  const Entered entered(*memory->device);
  if (!memory->is_wrapped) memory->device->api->free(memory->address);
  ::free(memory);
}

bool finish(Device* opened, char* error) {
  CudaDevice& device = *own(opened);
  const Entered entered(device);
  return check(device, device.api->finish(device.stream), "a kernel failed", error);
}

bool upload(Memory* to, uint64_t offset_bytes, const void* from, uint64_t size_bytes, char* error) {
  if (size_bytes == 0) return true;
  CudaDevice& device = *own(to)->device;
  const Entered entered(device);
  const CuAddress address = own(to)->address + offset_bytes;
  return check(device, device.api->upload(address, from, static_cast<size_t>(size_bytes), device.stream),
               "cannot copy to the device", error) &&
         finish(reinterpret_cast<Device*>(&device), error);
}

bool download(void* to, const Memory* from, uint64_t offset_bytes, uint64_t size_bytes, char* error) {
  if (size_bytes == 0) return true;
  const auto& memory = *reinterpret_cast<const CudaMemory*>(from);
  CudaDevice& device = *memory.device;
  const Entered entered(device);
  return check(device,
               device.api->download(to, memory.address + offset_bytes, static_cast<size_t>(size_bytes),
                                    device.stream),
               "cannot copy from the device", error) &&
         finish(reinterpret_cast<Device*>(&device), error);
}

bool fill(Memory* to, uint64_t offset_bytes, uint8_t value, uint64_t size_bytes, char* error) {
  if (size_bytes == 0) return true;
  CudaDevice& device = *own(to)->device;
  const Entered entered(device);
  return check(device,
               device.api->fill(own(to)->address + offset_bytes, value, static_cast<size_t>(size_bytes),
                                device.stream),
               "cannot fill memory", error);
}

bool bind(Kernel* found, const Argument* arguments, uint32_t argument_count, const int64_t* dims,
          uint32_t dim_count, char* error) {
  CudaKernel& kernel = *own(found);
  ::free(kernel.values);
  ::free(kernel.params);
  ::free(kernel.maps);
  kernel.maps = nullptr;
  const uint32_t total = argument_count + dim_count;
  kernel.values = make_zeroed<uint64_t>(total + 1);
  kernel.params = make_zeroed<void*>(total + 1);
  if (kernel.values == nullptr || kernel.params == nullptr) return no_memory(error);
  for (uint32_t i = 0; i < argument_count; ++i)
    kernel.values[i] = own(arguments[i].memory)->address + arguments[i].offset_bytes;
  for (uint32_t i = 0; i < dim_count; ++i) kernel.values[argument_count + i] = static_cast<uint64_t>(dims[i]);
  for (uint32_t i = 0; i < total; ++i) kernel.params[i] = &kernel.values[i];
  kernel.pointer_count = argument_count;
  kernel.param_count = total;
  return true;
}

bool map(Kernel* found, const TensorMap* maps, uint32_t map_count, char* error) {
  CudaKernel& kernel = *own(found);
  CudaDevice& device = *kernel.program->device;
  ::free(kernel.maps);
  kernel.maps = static_cast<CuTensorMap*>(
      aligned_alloc(alignof(CuTensorMap), (size_t{map_count} + 1) * sizeof(CuTensorMap)));
  auto** params = static_cast<void**>(
      realloc(kernel.params, (size_t{kernel.param_count} + map_count + 1) * sizeof(void*)));
  if (params != nullptr) kernel.params = params;
  if (kernel.maps == nullptr || params == nullptr) return no_memory(error);
  const Entered entered(device);
  for (uint32_t i = 0; i < map_count; ++i) {
    if (maps[i].argument >= kernel.pointer_count) {
      snprintf(error, kErrorChars, "a tensor map is of buffer %u; the kernel has %u", maps[i].argument,
               kernel.pointer_count);
      return false;
    }
    if (!make_tensor_map(device, kernel.values[maps[i].argument], maps[i], &kernel.maps[i], error))
      return false;
    kernel.params[kernel.param_count + i] = &kernel.maps[i];
  }
  return true;
}

bool is_empty(const LaunchSize& size) {
  return size.grid[0] == 0 || size.grid[1] == 0 || size.grid[2] == 0;
}

// Larger blocks of shared memory are asked for once.
bool allow_shared(CudaKernel& kernel, uint32_t shared_bytes, char* error) {
  if (shared_bytes <= kernel.shared_bytes) return true;
  CudaDevice& device = *kernel.program->device;
  char what[96];
  snprintf(what, sizeof what, "a block of the kernel cannot have %u bytes of shared memory", shared_bytes);
  if (!check(device,
             device.api->set_function(kernel.function, kCuMostSharedBytes, static_cast<int>(shared_bytes)),
             what, error))
    return false;
  kernel.shared_bytes = shared_bytes;
  return true;
}

bool launch(Kernel* found, const LaunchSize& size, char* error) {
  CudaKernel& kernel = *own(found);
  CudaDevice& device = *kernel.program->device;
  if (is_empty(size)) return true;
  const Entered entered(device);
  if (!allow_shared(kernel, size.shared_bytes, error)) return false;
  const auto grid = [&](int axis) { return static_cast<unsigned>(size.grid[axis]); };
  return check(device,
               device.api->launch(kernel.function, grid(0), grid(1), grid(2), size.block[0], size.block[1],
                                  size.block[2], size.shared_bytes, device.stream, kernel.params, nullptr),
               "cannot launch a kernel", error);
}

bool begin_time(Device* opened, char* error) {
  CudaDevice& device = *own(opened);
  const Entered entered(device);
  return check(device, device.api->record_event(device.began, device.stream),
               "cannot read the device's clock", error);
}

bool end_time(Device* opened, int64_t* total_ns, char* error) {
  CudaDevice& device = *own(opened);
  const Entered entered(device);
  float milliseconds = 0;
  const bool done = check(device, device.api->record_event(device.ended, device.stream),
                          "cannot read the device's clock", error) &&
                    check(device, device.api->wait_event(device.ended), "a kernel failed", error) &&
                    check(device, device.api->elapsed(&milliseconds, device.began, device.ended),
                          "the device does not tell its time", error);
  // By 32-bit conversions, which need no library on any processor.
  const auto whole = static_cast<int32_t>(milliseconds);
  const auto rest_ns = static_cast<int32_t>((milliseconds - static_cast<float>(whole)) * 1e6F);
  *total_ns = done ? int64_t{whole} * 1'000'000 + rest_ns : 0;
  return done;
}

void drop_graph(Graph* made) {
  CudaGraph* graph = own(made);
  const Entered entered(*graph->device);
  if (graph->instance != nullptr) graph->device->api->destroy_instance(graph->instance);
  if (graph->graph != nullptr) graph->device->api->destroy_graph(graph->graph);
  ::free(graph);
}

// Node by node: a capture would take in what other threads do.
bool add_nodes(CudaGraph& graph, const GraphLaunch* launches, uint32_t launch_count, char* error) {
  const CuApi& api = *graph.device->api;
  CuHandle last = nullptr;
  for (uint32_t i = 0; i < launch_count; ++i) {
    CudaKernel& kernel = *own(launches[i].kernel);
    const LaunchSize& size = launches[i].size;
    if (is_empty(size)) continue;
    if (!allow_shared(kernel, size.shared_bytes, error)) return false;
    CuKernelNode node = {};
    node.function = kernel.function;
    for (int axis = 0; axis < 3; ++axis) {
      node.grid[axis] = static_cast<unsigned>(size.grid[axis]);
      node.block[axis] = size.block[axis];
    }
    node.shared_bytes = size.shared_bytes;
    node.params = kernel.params;
    CuHandle added = nullptr;
    const int code = api.add_kernel(&added, graph.graph, &last, last == nullptr ? 0 : 1, &node);
    if (!check(*graph.device, code, "cannot add a kernel to a graph", error)) return false;
    last = added;
  }
  return true;
}

Graph* make_graph(Device* opened, const GraphLaunch* launches, uint32_t launch_count, char* error) {
  CudaDevice& device = *own(opened);
  const Entered entered(device);
  CudaGraph* graph = make_zeroed<CudaGraph>();
  if (graph == nullptr) {
    no_memory(error);
    return nullptr;
  }
  graph->device = &device;
  if (check(device, device.api->create_graph(&graph->graph, 0), "cannot make a graph", error) &&
      add_nodes(*graph, launches, launch_count, error) &&
      check(device, device.api->instantiate(&graph->instance, graph->graph, 0), "cannot make a graph", error))
    return reinterpret_cast<Graph*>(graph);
  drop_graph(reinterpret_cast<Graph*>(graph));
  return nullptr;
}

bool launch_graph(Graph* made, char* error) {
  CudaGraph& graph = *own(made);
  const Entered entered(*graph.device);
  return check(*graph.device, graph.device->api->launch_graph(graph.instance, graph.device->stream),
               "cannot launch a graph", error);
}

}  // namespace
}  // namespace tf::gpu::cuda

namespace tf::gpu {

const Driver& cuda_driver() {
  static const Driver driver = {
      .name = "cuda",
      .count = cuda::count,
      .open = cuda::open,
      .open_in = cuda::open_in,
      .handles = cuda::handles,
      .close = cuda::close,
      .facts = cuda::facts,
      .is_lost = cuda::is_lost,
      .load = cuda::load,
      .unload = cuda::unload,
      .find = cuda::find,
      .allocate = cuda::allocate,
      .wrap = cuda::wrap,
      .free = cuda::free_memory,
      .upload = cuda::upload,
      .download = cuda::download,
      .fill = cuda::fill,
      .bind = cuda::bind,
      .map = cuda::map,
      .launch = cuda::launch,
      .finish = cuda::finish,
      .begin_time = cuda::begin_time,
      .end_time = cuda::end_time,
      .make_graph = cuda::make_graph,
      .launch_graph = cuda::launch_graph,
      .drop_graph = cuda::drop_graph,
  };
  return driver;
}

}  // namespace tf::gpu
