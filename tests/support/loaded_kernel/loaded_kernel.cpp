#include "tests/support/loaded_kernel/loaded_kernel.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/backends/llvm/link.h"
#include "compiler/runtime/thread_pool.h"

namespace tf::support {
namespace {

constexpr uint64_t kGuardBytes = 256;
constexpr uint8_t kGuard = 0xA5;

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedKernel>> LoadedKernel::load(const std::string& shared_object,
                                                                 const std::string& symbol) {
  int file = memfd_create("kernel", MFD_CLOEXEC);
  if (file < 0 ||
      write(file, shared_object.data(), shared_object.size()) != static_cast<ssize_t>(shared_object.size())) {
    return absl::InternalError("cannot write the shared object");
  }
  // The descriptor stays open as long as the object is loaded: its number names it, and dlopen returns a name
  // that it knows again.
  std::string path = absl::StrCat("/proc/", getpid(), "/fd/", file);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    close(file);
    return absl::InternalError(absl::StrCat("dlopen: ", dlerror()));
  }
  auto loaded = std::unique_ptr<LoadedKernel>(new LoadedKernel(handle, file));
  void* found = dlsym(handle, symbol.c_str());
  if (!found) return absl::InternalError(absl::StrCat("no symbol ", symbol));
  loaded->entry_ = reinterpret_cast<tf_kernel>(found);
  return loaded;
}

LoadedKernel::~LoadedKernel() {
  dlclose(handle_);
  close(file_);
}

AlignedBytes::AlignedBytes(uint64_t size, uint8_t fill)
    : size_(size), storage_(size + 2 * kGuardBytes + TF_ALIGNMENT, kGuard) {
  auto address = reinterpret_cast<uintptr_t>(storage_.data()) + kGuardBytes;
  address = (address + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
  data_ = reinterpret_cast<uint8_t*>(address);
  std::fill_n(data_, size_, fill);
}

bool AlignedBytes::guards_intact() const {
  const uint8_t* end = storage_.data() + storage_.size();
  auto is_guard = [](uint8_t byte) { return byte == kGuard; };
  return std::all_of(storage_.data(), static_cast<const uint8_t*>(data_), is_guard) &&
         std::all_of(static_cast<const uint8_t*>(data_) + size_, end, is_guard);
}

absl::StatusOr<CompiledKernel> compile_for(const ir::Function& function, const target::Target& target) {
  TF_ASSIGN_OR_RETURN(backends::KernelCode code, backends::compile(function, target));
  TF_ASSIGN_OR_RETURN(std::string shared, backends::link_shared(code.object, target));
  CompiledKernel compiled;
  TF_ASSIGN_OR_RETURN(compiled.kernel, LoadedKernel::load(shared, function.name));
  compiled.workspace_bytes = code.workspace_bytes;
  compiled.workspace_per_thread_bytes = code.workspace_per_thread_bytes;
  return compiled;
}

int32_t call_kernel(const CompiledKernel& kernel, std::span<AlignedBytes* const> buffers,
                    std::span<const int64_t> dims, int threads) {
  std::vector<void*> pointers;
  std::vector<uint64_t> sizes;
  for (AlignedBytes* buffer : buffers) {
    pointers.push_back(buffer->data());
    sizes.push_back(buffer->size());
  }
  AlignedBytes workspace(
      kernel.workspace_bytes + static_cast<uint64_t>(threads) * kernel.workspace_per_thread_bytes, 0xFF);
  tf_runtime* runtime = tf_runtime_create(threads);
  TF_CHECK(runtime != nullptr);
  tf_call call = {TF_ABI_VERSION,  static_cast<uint32_t>(buffers.size()),
                  pointers.data(), sizes.data(),
                  dims.data(),     workspace.size() > 0 ? workspace.data() : nullptr,
                  runtime};
  int32_t code = kernel.kernel->entry()(&call);
  tf_runtime_destroy(runtime);
  return workspace.guards_intact() ? code : -1;
}

}  // namespace tf::support
