// Owns: CUDA's driver functions on this processor: launches run at once, in the calling thread, and fail as they are told to.
// Does not know: kernels, beside a few by name.

#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/builtin_kernels.h"
#include "tests/support/fake_cuda/bulk_copies.h"
#include "tests/support/fake_cuda/told.h"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kInvalidDevice = 101,
              kNotSupported = 801, kInvalidContext = 201, kNoBinary = 209, kInvalidPtx = 218, kNotFound = 500,
              kIllegalAddress = 700, kTooManyResources = 701;

long long number_of(const char* variable, long long otherwise) {
  const std::string text = fake::told(variable);
  return text.empty() ? otherwise : atoll(text.c_str());
}

struct Function {
  std::string name;
  int param_count = 0;
  int (*param_bytes)(int number) = [](int) { return 8; };
  void (*run)(void** params, const unsigned* grid, const unsigned* block) = nullptr;
  unsigned most_shared_bytes = 48 << 10;
};

struct Module {
  void* library = nullptr;  // null: PTX
  int fd = -1;              // of the library: another one that is loaded meanwhile has another name
  std::string ptx;
  std::map<std::string, Function*> functions;
};

constexpr int kMostDevices = 8;

struct Context {
  int device = 0, held = 0;
};

struct alignas(64) Value {
  unsigned char bytes[128] = {};
};

struct Launch {
  Function* function = nullptr;
  unsigned grid[3] = {}, block[3] = {};
  unsigned shared_bytes = 0;
  std::vector<Value> values;

  void set_values(void* const* params) {
    for (int p = 0; p < function->param_count; ++p)
      memcpy(values.emplace_back().bytes, params[p], static_cast<size_t>(function->param_bytes(p)));
  }
};

struct Graph {
  std::vector<Launch> launches;
};

struct Event {
  long long ns = 0;
};

bool is_started = false;
int sticky = kSuccess;  // from then on every call gives it
int of_this_launch = kSuccess;
int of_events = kSuccess;  // what recording one gives
long long launches_made = 0;
std::map<uint64_t, size_t> allocations;
size_t allocated_bytes = 0;

Context primary_contexts[kMostDevices];
thread_local std::vector<void*> current_contexts;  // the last is in use

// What works only in a context.
int in_context() {
  if (current_contexts.empty() || current_contexts.back() == nullptr) return kInvalidContext;
  return sticky;
}

int device_count() {
  return static_cast<int>(number_of("CUDA_FAKE_DEVICES", 1));
}

int capability() {
  return static_cast<int>(number_of("CUDA_FAKE_CAPABILITY", 90));
}

size_t memory_bytes() {
  return static_cast<size_t>(number_of("CUDA_FAKE_MEMORY_BYTES", 256 << 20));
}

long long clock_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string factor = fake::told("CUDA_FAKE_CLOCK");
  const double ns = static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  return static_cast<long long>(factor.empty() ? ns : ns * atof(factor.c_str()));
}

// Shorter than the runtime's list, from which it is apart on purpose.
bool is_sticky(int code) {
  return code >= kIllegalAddress && code != kTooManyResources;
}

// --- A kernel that goes to a wild address ends here.

sigjmp_buf out_of_kernel;
volatile sig_atomic_t in_kernel = 0;

void on_fault(int signal) {
  if (in_kernel != 0) siglongjmp(out_of_kernel, 1);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

int run(Launch& launch) {
  if (in_context() != kSuccess) return in_context();
  if (launch.block[0] * launch.block[1] * launch.block[2] > 1024) return kInvalidValue;
  constexpr unsigned kMostAlongX = 0x7fffffff, kMostAlongYOrZ = 65535;
  if (launch.grid[0] > kMostAlongX || launch.grid[1] > kMostAlongYOrZ || launch.grid[2] > kMostAlongYOrZ)
    return kInvalidValue;
  if (launch.shared_bytes > launch.function->most_shared_bytes) return kInvalidValue;
  of_this_launch = kSuccess;
  if (++launches_made == number_of("CUDA_FAKE_FAIL_LAUNCH", 0))
    of_this_launch = static_cast<int>(number_of("CUDA_FAKE_FAIL_CODE", 719));
  std::vector<void*> params;
  for (Value& value : launch.values) params.push_back(&value);
  struct sigaction ours = {}, segv = {}, bus = {};
  ours.sa_handler = on_fault;
  ours.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &ours, &segv);
  sigaction(SIGBUS, &ours, &bus);
  if (of_this_launch == kSuccess) {
    if (sigsetjmp(out_of_kernel, 1) == 0) {
      in_kernel = 1;
      launch.function->run(params.data(), launch.grid, launch.block);
    } else {
      of_this_launch = kIllegalAddress;
    }
    in_kernel = 0;
  }
  sigaction(SIGSEGV, &segv, nullptr);
  sigaction(SIGBUS, &bus, nullptr);
  if (of_this_launch < 0) {
    of_events = -of_this_launch;
    return kSuccess;
  }
  if (!is_sticky(of_this_launch)) return of_this_launch;
  sticky = of_this_launch;
  return kSuccess;  // as a driver: it shows when somebody waits
}

Function* function_of(Module& module, const std::string& name) {
  Function*& function = module.functions[name];
  if (function != nullptr) return function;
  Function made{.name = name};
  if (module.library != nullptr) {
    made.run = reinterpret_cast<decltype(made.run)>(dlsym(module.library, ("fake_launch_" + name).c_str()));
    if (const auto* count = static_cast<const int*>(dlsym(module.library, ("fake_params_" + name).c_str())))
      made.param_count = *count;
    if (void* bytes = dlsym(module.library, ("fake_param_bytes_" + name).c_str()))
      made.param_bytes = reinterpret_cast<decltype(made.param_bytes)>(bytes);
  } else if (module.ptx.find(".entry " + name + "(") != std::string::npos) {
    for (const fake::Builtin& builtin : fake::kBuiltins)
      if (name == builtin.name) made = {.name = name, .param_count = builtin.param_count, .run = builtin.run};
  }
  if (made.run != nullptr) function = new Function(made);
  return function;
}

int load_host_code(Module& module, const void* image) {
  // Its size is that up to the end of the section headers, which come last.
  const auto& header = *static_cast<const Elf64_Ehdr*>(image);
  constexpr int kCudaMachine = 190;
  if (header.e_machine == kCudaMachine) return kNoBinary;  // for a real device
  const size_t size = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  const int fd = module.fd = memfd_create("fake_cubin", 0);
  if (fd < 0 || write(fd, image, size) != static_cast<ssize_t>(size)) return kOutOfMemory;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  module.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module.library == nullptr) fprintf(stderr, "fake libcuda: %s\n", dlerror());
  if (module.library == nullptr) return 200;
  if (auto* hook = static_cast<void (**)(int)>(dlsym(module.library, "fake_cuda_fail_here")))
    *hook = [](int error) { of_this_launch = error; };
  const auto* built_for = static_cast<const int*>(dlsym(module.library, "fake_cuda_capability"));
  const bool fits =
      built_for == nullptr || (*built_for / 10 == capability() / 10 && *built_for <= capability());
  return fits ? kSuccess : kNoBinary;
}

template <typename T>
T& as(void* handle) {
  return *static_cast<T*>(handle);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the library's names.
extern "C" {

int cuInit(unsigned) {
  const int code = static_cast<int>(number_of("CUDA_FAKE_INIT_ERROR", 0));
  is_started = code == kSuccess;
  return code;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuGetErrorName(int code, const char** name) {
  static std::map<int, std::string> names = {
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},     {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},  {719, "CUDA_ERROR_LAUNCH_FAILED"}};
  std::string& text = names[code];
  if (text.empty()) text = "CUDA_ERROR_" + std::to_string(code);
  *name = text.c_str();
  return kSuccess;
}
int cuGetErrorString(int, const char** text) {
  *text = "as the fake driver was told";
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = device_count();
  return is_started ? kSuccess : kNotInitialized;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return index >= 0 && index < device_count() ? kSuccess : kInvalidDevice;
}
int cuDeviceGetName(char* name, int bytes, int) {
  snprintf(name, static_cast<size_t>(bytes), "Fake GPU");
  return kSuccess;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = memory_bytes();
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  static const std::map<int, int> values = {{1, 1024},       {13, 1'000'000}, {16, 2},       {18, 0},
                                            {36, 1'000'000}, {37, 256},       {38, 1 << 20}, {97, 227 << 10}};
  const auto found = values.find(which);
  *value = found == values.end() ? 0 : found->second;
  if (which == 75) *value = capability() / 10;
  if (which == 76) *value = capability() % 10;
  return kSuccess;
}
int cuDeviceGetPCIBusId(char* text, int bytes, int) {
  snprintf(text, static_cast<size_t>(bytes), "0000:00:00.0");
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  primary_contexts[device].device = device;
  ++primary_contexts[device].held;
  *context = &primary_contexts[device];
  return sticky;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return --primary_contexts[device].held >= 0 ? kSuccess : kInvalidContext;
}
int cuCtxCreate_v2(void** context, unsigned, int device) {
  *context = new Context{.device = device};
  current_contexts.push_back(*context);
  return kSuccess;
}
int cuCtxDestroy_v2(void* context) {
  std::erase(current_contexts, context);
  delete static_cast<Context*>(context);
  return kSuccess;
}
int cuCtxGetCurrent(void** context) {
  *context = current_contexts.empty() ? nullptr : current_contexts.back();
  return kSuccess;
}
int cuCtxPushCurrent_v2(void* context) {
  if (context == nullptr) return kInvalidContext;
  current_contexts.push_back(context);
  return kSuccess;
}
int cuCtxPopCurrent_v2(void** context) {
  if (current_contexts.empty()) return kInvalidContext;
  *context = current_contexts.back();
  current_contexts.pop_back();
  return kSuccess;
}
int cuCtxGetDevice(int* device) {
  if (in_context() == kInvalidContext) return kInvalidContext;
  *device = static_cast<Context*>(current_contexts.back())->device;
  return kSuccess;
}
int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  if (in_context() != kSuccess) return in_context();
  auto* made = new Module;
  int code = kSuccess;
  if (memcmp(image, ELFMAG, SELFMAG) == 0) {
    code = load_host_code(*made, image);
  } else {
    made->ptx = static_cast<const char*>(image);
    if (made->ptx.find(".version") == std::string::npos) code = kInvalidPtx;
  }
  if (code != kSuccess) {
    if (made->library != nullptr) dlclose(made->library);
    if (made->fd >= 0) close(made->fd);
    delete made;
    return code;
  }
  *module = made;
  return kSuccess;
}
int cuModuleUnload(void* handle) {
  Module& module = as<Module>(handle);
  for (auto& [name, function] : module.functions) delete function;
  if (module.library != nullptr) dlclose(module.library);
  if (module.fd >= 0) close(module.fd);
  delete &module;
  return kSuccess;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = function_of(as<Module>(module), name);
  return *function == nullptr ? kNotFound : kSuccess;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  if (attribute != 8 || value > 227 << 10) return kInvalidValue;
  as<Function>(function).most_shared_bytes = static_cast<unsigned>(value);
  return kSuccess;
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (in_context() != kSuccess) return in_context();
  if (bytes == 0) return kInvalidValue;
  if (allocated_bytes + bytes > memory_bytes()) return kOutOfMemory;
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes) != 0) return kOutOfMemory;
  memset(memory, 0xa5, bytes);
  *address = reinterpret_cast<uint64_t>(memory);
  allocations[*address] = bytes;
  allocated_bytes += bytes;
  return kSuccess;
}
int cuMemFree_v2(uint64_t address) {
  const auto found = allocations.find(address);
  if (found == allocations.end()) return kInvalidValue;
  allocated_bytes -= found->second;
  allocations.erase(found);
  free(reinterpret_cast<void*>(address));
  return sticky;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void*) {
  if (sticky == kSuccess) memcpy(reinterpret_cast<void*>(to), from, bytes);
  return sticky;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void*) {
  if (sticky == kSuccess) memcpy(to, reinterpret_cast<void*>(from), bytes);
  return sticky;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  if (sticky == kSuccess) memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return sticky;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void*) {
  if (sticky == kSuccess) memset(reinterpret_cast<void*>(to), value, bytes);
  return sticky;
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = &launches_made;
  return in_context();
}
int cuStreamDestroy_v2(void*) {
  return kSuccess;
}
int cuStreamSynchronize(void*) {
  return sticky;
}
int cuLaunchKernel(void* handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_bytes, void*, void** params, void**) {
  Launch launch{.function = &as<Function>(handle),
                .grid = {gx, gy, gz},
                .block = {bx, by, bz},
                .shared_bytes = shared_bytes,
                .values = {}};
  launch.set_values(params);
  return run(launch);
}
int cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return in_context();
}
int cuEventDestroy_v2(void* event) {
  delete &as<Event>(event);
  return kSuccess;
}
int cuEventRecord(void* event, void*) {
  as<Event>(event).ns = clock_ns();
  return sticky != kSuccess ? sticky : of_events;
}
int cuEventSynchronize(void*) {
  return sticky;
}
int cuEventQuery(void*) {
  return sticky;
}
int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  *milliseconds = static_cast<float>(static_cast<double>(as<Event>(to).ns - as<Event>(from).ns) * 1e-6);
  return sticky;
}
// As cuda.h says of it, of what is asked for here: no interleaving, plain elements.
int cuTensorMapEncodeTiled(tf_tensor_map* map, int type, uint32_t rank, void* address,
                           const uint64_t* extents, const uint64_t* strides_bytes, const uint32_t* box,
                           const uint32_t* steps, int interleave, int swizzle, int fetch, int fill) {
  static const int bytes_of_type[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  static const uint32_t widths[] = {0, 32, 64, 128};
  if (in_context() != kSuccess) return in_context();
  if (capability() < 90) return kNotSupported;
  const auto place = reinterpret_cast<uint64_t>(address);
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || type < 0 || type > 12 || rank < 1 || rank > 5 ||
      place % 16 != 0 || interleave != 0 || swizzle < 0 || swizzle > 3 || fetch < 0 || fetch > 3 || fill != 0)
    return kInvalidValue;
  const auto bytes = static_cast<uint32_t>(bytes_of_type[type]);
  uint64_t least = bytes;
  *map = {.address = place, .rank = rank, .element_bytes = bytes, .swizzle_bytes = widths[swizzle]};
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (extents[axis] < 1 || extents[axis] > uint64_t{1} << 32 || box[axis] < 1 || box[axis] > 256 ||
        (axis > 0 && (steps[axis] < 1 || steps[axis] > 8)))
      return kInvalidValue;
    least *= extents[axis];
    map->extents[axis] = static_cast<uint32_t>(extents[axis]);
    map->box[axis] = box[axis];
    if (axis + 1 == rank) break;
    const uint64_t stride = strides_bytes[axis];
    if (stride % 16 != 0 || stride >= uint64_t{1} << 40 || stride < least) return kInvalidValue;
    least = stride;
    map->strides_bytes[axis] = stride;
  }
  const uint32_t line = box[0] * bytes;
  return line % 16 != 0 || (swizzle != 0 && line > widths[swizzle]) ? kInvalidValue : kSuccess;
}
int cuGraphCreate(void** graph, unsigned) {
  *graph = new Graph;
  return in_context();
}

struct FakeKernelNode {
  void* function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void** params;
  void** extra;
};
int cuGraphAddKernelNode(void** node, void* graph, void* const*, size_t, const FakeKernelNode* given) {
  Launch launch{
      .function = &as<Function>(given->function), .shared_bytes = given->shared_bytes, .values = {}};
  std::copy(given->grid, given->grid + 3, launch.grid);
  std::copy(given->block, given->block + 3, launch.block);
  launch.set_values(given->params);
  as<Graph>(graph).launches.push_back(launch);
  *node = given->function;
  return kSuccess;
}
int cuGraphInstantiateWithFlags(void** instance, void* graph, unsigned long long) {
  if (const auto code = static_cast<int>(number_of("CUDA_FAKE_GRAPH_ERROR", kSuccess)); code != kSuccess)
    return code;
  *instance = new Graph(as<Graph>(graph));
  return sticky;
}
int cuGraphLaunch(void* instance, void*) {
  for (Launch& launch : as<Graph>(instance).launches)
    if (const int code = run(launch); code != kSuccess) return code;
  return sticky == kSuccess ? kSuccess : sticky;
}
int cuGraphDestroy(void* graph) {
  delete &as<Graph>(graph);
  return kSuccess;
}
int cuGraphExecDestroy(void* instance) {
  delete &as<Graph>(instance);
  return kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
