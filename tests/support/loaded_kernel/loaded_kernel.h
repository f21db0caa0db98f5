#pragma once
// Owns: compiling loop IR for this machine and calling it, for tests.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/target/target.h"

namespace tf::support {

// A shared object in memory.
class LoadedKernel {
 public:
  static absl::StatusOr<std::unique_ptr<LoadedKernel>> load(const std::string& shared_object,
                                                            const std::string& symbol);
  ~LoadedKernel();
  tf_kernel entry() const { return entry_; }

 private:
  LoadedKernel(void* handle, int file) : handle_(handle), file_(file) {}
  void* handle_;
  int file_;
  tf_kernel entry_ = nullptr;
};

// Bytes aligned to TF_ALIGNMENT, between two guard zones.
class AlignedBytes {
 public:
  explicit AlignedBytes(uint64_t size, uint8_t fill = 0);
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }
  // Whether nobody wrote around the bytes.
  bool guards_intact() const;

 private:
  uint64_t size_;
  std::vector<uint8_t> storage_;
  uint8_t* data_;
};

struct CompiledKernel {
  std::unique_ptr<LoadedKernel> kernel;
  uint64_t workspace_bytes = 0;
  uint64_t workspace_per_thread_bytes = 0;
};

absl::StatusOr<CompiledKernel> compile_for(const ir::Function& function, const target::Target& target);

// Calls it on `threads` threads; the workspace is filled with ones first. The kernel's code, or -1 if it
// wrote outside its workspace.
int32_t call_kernel(const CompiledKernel& kernel, std::span<AlignedBytes* const> buffers,
                    std::span<const int64_t> dims = {}, int threads = 1);

}  // namespace tf::support
