// Runs one kernel of a shared object: kernel_runner FILE SYMBOL. Standard input: int64 numbers (threads,
// workspace bytes, workspace bytes a thread, count of dims, count of buffers), the dims, the buffers' sizes,
// the buffers' bytes. Standard output: the kernel's code as int64 (-1 if it wrote around a buffer), then the
// buffers' bytes. It is cross-compiled without libstdc++ and knows the runtime only.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/thread_pool.h"

namespace {

constexpr size_t kGuardBytes = 256;
constexpr int kGuard = 0xA5;

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "kernel_runner: %s\n", what);
  exit(3);
}

void read_all(void* to, size_t bytes) {
  if (fread(to, 1, bytes, stdin) != bytes) fail("standard input ends too early");
}

int64_t* read_numbers(int64_t count) {
  auto* numbers = static_cast<int64_t*>(malloc(static_cast<size_t>(count) * 8 + 1));
  read_all(numbers, static_cast<size_t>(count) * 8);
  return numbers;
}

// Between two guard zones.
uint8_t* make_buffer(size_t bytes, int fill) {
  const size_t rounded = (bytes + 2 * kGuardBytes + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
  auto* storage = static_cast<uint8_t*>(aligned_alloc(TF_ALIGNMENT, rounded));
  if (storage == nullptr) fail("no memory");
  memset(storage, kGuard, rounded);
  memset(storage + kGuardBytes, fill, bytes);
  return storage + kGuardBytes;
}

bool guards_intact(const uint8_t* buffer, size_t bytes) {
  for (size_t i = 0; i < kGuardBytes; ++i) {
    if (*(buffer - kGuardBytes + i) != kGuard || buffer[bytes + i] != kGuard) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("want FILE SYMBOL");
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) fail(dlerror());
  const auto kernel = reinterpret_cast<tf_kernel>(dlsym(library, argv[2]));
  if (kernel == nullptr) fail("no such symbol");

  const int64_t* head = read_numbers(5);
  const auto threads = static_cast<int32_t>(head[0]);
  const int64_t* dims = read_numbers(head[3]);
  const auto count = static_cast<size_t>(head[4]);
  const auto* sizes = reinterpret_cast<const uint64_t*>(read_numbers(head[4]));
  auto* buffers = static_cast<void**>(malloc((count + 1) * sizeof(void*)));
  for (size_t i = 0; i < count; ++i) {
    buffers[i] = make_buffer(sizes[i], 0);
    read_all(buffers[i], sizes[i]);
  }
  const size_t workspace_bytes = static_cast<size_t>(head[1] + threads * head[2]);
  uint8_t* workspace = make_buffer(workspace_bytes, 0xFF);
  tf_runtime* runtime = tf_runtime_create(threads);
  if (runtime == nullptr) fail("no runtime");
  const tf_call call = {TF_ABI_VERSION, static_cast<uint32_t>(count), buffers, sizes, dims, workspace,
                        runtime};
  int64_t code = kernel(&call);
  tf_runtime_destroy(runtime);
  if (!guards_intact(workspace, workspace_bytes)) code = -1;
  for (size_t i = 0; i < count; ++i) {
    if (!guards_intact(static_cast<const uint8_t*>(buffers[i]), sizes[i])) code = -1;
  }
  fwrite(&code, sizeof code, 1, stdout);
  for (size_t i = 0; i < count; ++i) fwrite(buffers[i], 1, sizes[i], stdout);
  return fflush(stdout) == 0 ? 0 : 3;
}
