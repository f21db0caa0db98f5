#pragma once
// Owns: what a kernel is compiled for, as plain data: architecture, CPU and its features, vector registers,
// caches, GPU limits; the text form of a target. Does not know: anything else of the compiler, LLVM included.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tf::target {

enum class Arch : uint8_t { kX86_64, kAArch64, kArmV7, kRiscV64, kWasm32, kCuda, kOpenCl };
std::string_view arch_name(Arch arch);  // "x86_64", "aarch64", "armv7", "riscv64", "wasm32", "cuda", "opencl"

struct VectorUnit {
  int bits = 128;       // width of one vector register that code should use; 0: no vectors
  int registers = 16;   // architectural vector registers
  bool fma = false;     // a fused multiply-add instruction for fp32
  bool masked = false;  // masked loads and stores cost about what plain ones do
  bool operator==(const VectorUnit&) const = default;
};

// Data caches of one core; 0: there is none.
struct Caches {
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 0;  // shared by the cores of one cluster
  bool operator==(const Caches&) const = default;
};

// All 0 on CPUs; from `sm_threads` on 0 where it is not known. How many multiprocessors there are, and how fast they and
// their memory are, differs between devices of one architecture: agents measure that.
struct GpuLimits {
  int warp_threads = 0;
  int block_threads = 0;
  int64_t shared_bytes = 0;  // of one block, as a launch may ask for it
  int registers_per_thread = 0;
  int grid_yz_blocks = 0;  // most of a launch along y, and along z; 0: any number
  int sm_threads = 0;      // of one multiprocessor, from here on
  int sm_blocks = 0;
  int sm_registers = 0;
  int64_t sm_shared_bytes = 0;
  int register_granule = 0;            // registers are given to warps in multiples of it
  int64_t shared_granule_bytes = 0;    // shared memory is given to blocks in multiples of it
  int64_t shared_bytes_of_driver = 0;  // that each block needs beside what it asks for
  bool operator==(const GpuLimits&) const = default;
};

// All fields follow from the canonical text, so equal texts are equal targets.
struct Target {
  Arch arch = Arch::kX86_64;
  std::string os = "linux";           // "linux", "none" (wasm32, GPUs)
  std::string cpu;                    // LLVM's name of the CPU, or sm_90, or "generic"
  std::vector<std::string> features;  // sorted differences from the CPU: "+avx512fp16", "-avx512f"
  VectorUnit vector;
  Caches caches;
  GpuLimits gpu;
  int cores = 1;  // that share L3; 1 unless the text says otherwise
  bool operator==(const Target&) const = default;

  // ARCH[-OS][:key=value,…] with only what differs from the defaults of that architecture and CPU: records
  // and caches are keyed by it. parse_target(text()).text() == text().
  std::string text() const;
  // Whether programs of an operating system run there, which load shared libraries.
  bool is_hosted() const { return os != "none"; }
  // Lanes of one vector register for elements of that size; at least 1.
  int lanes(int element_bytes) const;
  int fp32_lanes() const { return lanes(4); }
  // Whether CPU and extra features together have that feature: by LLVM's name ("avx512bf16", "dotprod"), on GPUs an
  // instruction ("cp_async", "mma_bf16", "wgmma"). Only features that known_features() lists are answered.
  bool has(std::string_view feature) const;
};

// "host", or a text as above. Keys: cpu=NAME, arch=sm_NN (cuda), +FEATURE, -FEATURE, vector=BITS (at most the
// CPU's), l1=, l2=, l3=BYTES (with K or M), cores=N. "x86_64:cpu=znver4", "aarch64:cpu=cortex-a72",
// "cuda:arch=sm_90". INVALID_ARGUMENT names the unknown part and lists what is known.
absl::StatusOr<Target> parse_target(std::string_view text);

// The machine that this runs on, from cpuid or /proc/cpuinfo and /sys: the named CPU if all its features are
// there (a hypervisor may hide some), else the x86-64 level. What text() gives for it holds for every machine
// with that CPU: the number of cores and the size of a shared L3 are not part of it.
Target host_target();

// Logical CPUs that this process may use; at least 1.
int host_cores();

// CPU names and features that parse_target knows for the architecture.
std::vector<std::string> known_cpus(Arch arch);
std::vector<std::string> known_features(Arch arch);

}  // namespace tf::target
