#pragma once
// Owns: running kernels and models for other processors than this one under qemu-user, for tests. Programs of
// our own that were cross-compiled load them (kernel_runner.cpp, model_runner.cpp), or calculate as models do
// (arithmetic_runner.cpp). Does not know: how either is made.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "tests/support/foreign_code/arithmetic.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::support {

// The programs that load and run foreign code under the emulator. They are in this build's bin/ARCH, or in
// $TF_FOREIGN_PROGRAMS/ARCH if that is set.
enum class Runner { kKernel, kModel, kArithmetic };

// Why `runner` cannot run code for the target on this machine, and what to install; nothing if it can. Both
// the emulator and the cross-compiled runner are needed.
std::optional<std::string> missing_emulator(const target::Target& target, Runner runner = Runner::kKernel);

struct ForeignKernel {
  std::string shared_object;  // its bytes
  std::string symbol;
  uint64_t workspace_bytes = 0;
  uint64_t workspace_per_thread_bytes = 0;
};

// Calls it like call_kernel does; what it wrote is then in the buffers. INTERNAL if the emulator ends
// otherwise than by handing back the buffers, a crash of the kernel for example.
absl::StatusOr<int32_t> call_foreign(const ForeignKernel& kernel, const target::Target& target,
                                     std::span<AlignedBytes* const> buffers,
                                     std::span<const int64_t> dims = {}, int threads = 1);

// Runs model.so once. Inputs and outputs are row-major bytes, in the model's order.
absl::StatusOr<std::vector<std::string>> run_foreign_model(const std::string& path,
                                                           const target::Target& target,
                                                           std::span<const std::string> inputs,
                                                           std::span<const uint64_t> output_bytes,
                                                           int threads);

// Of each pair of dividend and divisor, by the arithmetic of an armv7 model.
absl::StatusOr<std::vector<Arithmetic>> run_foreign_arithmetic(
    const target::Target& target, std::span<const std::pair<int64_t, int64_t>> pairs);

}  // namespace tf::support
