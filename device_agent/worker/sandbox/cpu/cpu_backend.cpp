#include "device_agent/worker/sandbox/cpu/cpu_backend.h"

#include <dlfcn.h>

#include <cstdio>
#include <new>

#include "compiler/runtime/clock.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/peak.h"
#include "compiler/runtime/thread_pool.h"

namespace tf::worker::sandbox {
namespace {

class CpuBackend final : public DeviceBackend {
 public:
  double peak_gflops(int64_t budget_ns) override { return tf_peak_gflops(budget_ns); }

  bool open(const Job& job, char* detail) override {
    runtime_ = tf_runtime_create(static_cast<int32_t>(job.threads));
    if (runtime_ == nullptr) {
      std::snprintf(detail, kDetailChars, "cannot start %u threads", job.threads);
      return false;
    }
    // A round of nothing: when it returns, every thread has made the system calls of its start, which are
    // forbidden later.
    runtime_->parallel_for(
        runtime_, runtime_->threads, [](void*, int64_t, int32_t) { return 0; }, nullptr);
    return true;
  }

  bool load(const Job& job, const int* blob_fds, char* detail) override {
    void* blobs[kMaxBlobs] = {};
    for (uint32_t b = 0; b < job.blob_count; ++b) {
      char path[32];
      std::snprintf(path, sizeof path, "/proc/self/fd/%d", blob_fds[b]);
      blobs[b] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (blobs[b] == nullptr) {
        std::snprintf(detail, kDetailChars, "%s", dlerror());
        return false;
      }
    }
    for (uint32_t l = 0; l < job.launch_count; ++l) {
      const LaunchJob& launch = job.launches[l];
      kernels_[l] = reinterpret_cast<tf_kernel>(dlsym(blobs[launch.blob], launch.entry));
      if (kernels_[l] == nullptr) {
        std::snprintf(detail, kDetailChars, "it has no symbol %s", launch.entry);
        return false;
      }
    }
    launch_count_ = job.launch_count;
    call_ = {.abi_version = job.abi_version,
             .buffer_count = job.port_count,
             .buffers = nullptr,
             .sizes_bytes = nullptr,
             .dims = job.dims,
             .workspace = nullptr,
             .runtime = runtime_};
    return true;
  }

  RunEnd run(const RunBuffers& buffers) override { return launch_all(call_on(buffers)); }

  TimedRuns time(RunSets& sets, const RunBuffers& buffers, uint32_t runs) override {
    tf_call call = call_on(buffers);
    const int64_t start_ns = tf_monotonic_ns();
    for (uint32_t i = 0; i < runs; ++i) {
      call.buffers = sets.ports + static_cast<size_t>(sets.next) * sets.port_count;
      if (const RunEnd end = launch_all(call); end.error != 0) return {end, 0};
      if (++sets.next == sets.set_count) sets.next = 0;
    }
    return {{}, tf_monotonic_ns() - start_ns};
  }

 private:
  tf_call call_on(const RunBuffers& buffers) const {
    tf_call call = call_;
    call.buffers = buffers.ports;
    call.sizes_bytes = buffers.sizes_bytes;
    call.workspace = buffers.workspace;
    return call;
  }

  RunEnd launch_all(const tf_call& call) const {
    for (uint32_t l = 0; l < launch_count_; ++l)
      if (const int32_t error = kernels_[l](&call); error != 0) return {error, l};
    return {};
  }

  tf_runtime* runtime_ = nullptr;
  tf_kernel kernels_[kMaxLaunches] = {};
  uint32_t launch_count_ = 0;
  tf_call call_ = {};
};

}  // namespace

DeviceBackend* make_cpu_backend() {
  alignas(CpuBackend) static uint8_t storage[sizeof(CpuBackend)];
  return new (storage) CpuBackend();
}

}  // namespace tf::worker::sandbox
