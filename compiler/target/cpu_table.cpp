#include "compiler/target/cpu_table.h"

namespace tf::target {
namespace {

constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kMiB = 1 << 20;

// Each level of x86-64 (the psABI's), in the features that matter to kernels.
#define TF_V2 "sse4.2 popcnt"
#define TF_V3 TF_V2 " avx avx2 fma f16c bmi bmi2 lzcnt movbe"
#define TF_V4 TF_V3 " avx512f avx512bw avx512cd avx512dq avx512vl"
// What Ice Lake added, and every later CPU with AVX-512 has.
#define TF_ICL TF_V4 " avx512vnni avx512vbmi avx512vbmi2 avx512ifma avx512bitalg avx512vpopcntdq gfni"

constexpr CpuEntry kX86Cpus[] = {
    {"x86-64", "", {32 * kKiB, 256 * kKiB, 0}, {}},
    {"x86-64-v2", TF_V2, {32 * kKiB, 256 * kKiB, 0}, {}},
    {"x86-64-v3", TF_V3, {32 * kKiB, 256 * kKiB, 0}, {}},
    {"x86-64-v4", TF_V4, {32 * kKiB, 1 * kMiB, 0}, {}},
    {"nehalem", TF_V2, {32 * kKiB, 256 * kKiB, 8 * kMiB}, {}},
    {"sandybridge", TF_V2 " avx", {32 * kKiB, 256 * kKiB, 8 * kMiB}, {}},
    {"ivybridge", TF_V2 " avx f16c", {32 * kKiB, 256 * kKiB, 8 * kMiB}, {}},
    {"haswell", TF_V3, {32 * kKiB, 256 * kKiB, 8 * kMiB}, {}},
    {"broadwell", TF_V3, {32 * kKiB, 256 * kKiB, 8 * kMiB}, {}},
    {"skylake", TF_V3, {32 * kKiB, 256 * kKiB, 8 * kMiB}, {}},
    {"alderlake", TF_V3 " avxvnni gfni", {48 * kKiB, 1280 * kKiB, 24 * kMiB}, {}},
    {"skylake-avx512", TF_V4, {32 * kKiB, 1 * kMiB, 16 * kMiB}, {}},
    {"cascadelake", TF_V4 " avx512vnni", {32 * kKiB, 1 * kMiB, 16 * kMiB}, {}},
    {"cooperlake", TF_V4 " avx512vnni avx512bf16", {32 * kKiB, 1 * kMiB, 16 * kMiB}, {}},
    {"icelake-client", TF_ICL, {48 * kKiB, 512 * kKiB, 8 * kMiB}, {}},
    {"tigerlake", TF_ICL, {48 * kKiB, 1280 * kKiB, 12 * kMiB}, {}},
    {"icelake-server", TF_ICL, {48 * kKiB, 1280 * kKiB, 24 * kMiB}, {}},
    {"sapphirerapids", TF_ICL " avx512bf16 avx512fp16 avxvnni", {48 * kKiB, 2 * kMiB, 32 * kMiB}, {}},
    {"emeraldrapids", TF_ICL " avx512bf16 avx512fp16 avxvnni", {48 * kKiB, 2 * kMiB, 32 * kMiB}, {}},
    {"graniterapids", TF_ICL " avx512bf16 avx512fp16 avxvnni", {48 * kKiB, 2 * kMiB, 32 * kMiB}, {}},
    {"znver1", TF_V3, {32 * kKiB, 512 * kKiB, 8 * kMiB}, {}},
    {"znver2", TF_V3, {32 * kKiB, 512 * kKiB, 16 * kMiB}, {}},
    {"znver3", TF_V3, {32 * kKiB, 512 * kKiB, 32 * kMiB}, {}},
    {"znver4", TF_ICL " avx512bf16", {32 * kKiB, 1 * kMiB, 32 * kMiB}, {}},
    {"znver5", TF_ICL " avx512bf16 avxvnni", {48 * kKiB, 1 * kMiB, 32 * kMiB}, {}},
};
#undef TF_V2
#undef TF_V3
#undef TF_V4
#undef TF_ICL

constexpr CpuEntry kAArch64Cpus[] = {
    {"generic", "neon", {32 * kKiB, 512 * kKiB, 0}, {}},
    {"cortex-a53", "neon", {32 * kKiB, 512 * kKiB, 0}, {}},
    {"cortex-a55", "neon fullfp16 dotprod", {32 * kKiB, 128 * kKiB, 1 * kMiB}, {}},
    {"cortex-a57", "neon", {32 * kKiB, 1 * kMiB, 0}, {}},
    {"cortex-a72", "neon", {32 * kKiB, 1 * kMiB, 0}, {}},
    {"cortex-a73", "neon", {32 * kKiB, 1 * kMiB, 0}, {}},
    {"cortex-a76", "neon fullfp16 dotprod", {64 * kKiB, 512 * kKiB, 2 * kMiB}, {}},
    {"cortex-a78", "neon fullfp16 dotprod", {64 * kKiB, 512 * kKiB, 4 * kMiB}, {}},
    {"neoverse-n1", "neon fullfp16 dotprod", {64 * kKiB, 1 * kMiB, 32 * kMiB}, {}},
    {"neoverse-n2", "neon fullfp16 dotprod bf16 i8mm sve", {64 * kKiB, 1 * kMiB, 32 * kMiB}, {}},
    {"neoverse-v1", "neon fullfp16 dotprod bf16 i8mm sve", {64 * kKiB, 1 * kMiB, 32 * kMiB}, {}},
    {"neoverse-v2", "neon fullfp16 dotprod bf16 i8mm sve", {64 * kKiB, 2 * kMiB, 64 * kMiB}, {}},
    {"apple-m1", "neon fullfp16 dotprod", {128 * kKiB, 4 * kMiB, 8 * kMiB}, {}},
};

constexpr CpuEntry kArmV7Cpus[] = {
    {"generic", "neon", {32 * kKiB, 256 * kKiB, 0}, {}},
    {"cortex-a7", "neon vfp4", {32 * kKiB, 512 * kKiB, 0}, {}},
    {"cortex-a9", "neon", {32 * kKiB, 512 * kKiB, 0}, {}},
    {"cortex-a15", "neon vfp4", {32 * kKiB, 1 * kMiB, 0}, {}},
};

constexpr CpuEntry kRiscV64Cpus[] = {
    {"generic-rv64", "m a f d c", {32 * kKiB, 128 * kKiB, 0}, {}},
    {"sifive-u74", "m a f d c", {32 * kKiB, 2 * kMiB, 0}, {}},
};

constexpr CpuEntry kWasmCpus[] = {
    {"generic", "simd128", {32 * kKiB, 512 * kKiB, 0}, {}},
};

// Instructions by the first architecture that has them, as NVIDIA's assembler takes them. A suffix a or f means code for
// that very architecture or its family, which alone has what stands in its row. Clusters of more than one block: not on
// sm_120 and sm_121.
#define TF_SM75 "ldmatrix mma_f16 mma_s8 dp4a"
#define TF_SM80 TF_SM75 " cp_async mbarrier redux mma_k16 mma_bf16 mma_tf32 mma_f64"
#define TF_SM89 TF_SM80 " mma_fp8"
#define TF_SM120 TF_SM89 " tma mbarrier_try_wait stmatrix elect griddepcontrol"
#define TF_SM90 TF_SM120 " clusters"
#define TF_SM90A TF_SM90 " setmaxnreg wgmma"
#define TF_SM100A TF_SM90 " setmaxnreg tcgen05"
#define TF_SM120A TF_SM120 " setmaxnreg mma_block_scaled"

// Blocks, threads and shared memory of one multiprocessor as cuda_occupancy.h and libcudacxx's arch_traits.h have them.
constexpr GpuLimits multiprocessor(int threads, int blocks, int64_t shared_kib) {
  const bool is_turing = shared_kib == 64;
  const int64_t of_driver = is_turing ? 0 : kKiB;
  return {.warp_threads = 32,
          .block_threads = 1024,
          .shared_bytes = shared_kib * kKiB - of_driver,
          .registers_per_thread = 255,
          .grid_yz_blocks = 65535,
          .sm_threads = threads,
          .sm_blocks = blocks,
          .sm_registers = 64 << 10,
          .sm_shared_bytes = shared_kib * kKiB,
          .register_granule = 256,
          .shared_granule_bytes = is_turing ? 256 : 128,
          .shared_bytes_of_driver = of_driver};
}
constexpr GpuLimits kSm75 = multiprocessor(1024, 16, 64), kSm80 = multiprocessor(2048, 32, 164),
                    kSm86 = multiprocessor(1536, 16, 100), kSm87 = multiprocessor(1536, 16, 164),
                    kSm89 = multiprocessor(1536, 24, 100), kSm90 = multiprocessor(2048, 32, 228),
                    kSm110 = multiprocessor(1536, 24, 228);

// Caches: L1 with shared memory, and an L2 that is usual for the architecture.
constexpr CpuEntry kCudaCpus[] = {
    {"sm_75", TF_SM75, {96 * kKiB, 4 * kMiB, 0}, kSm75},
    {"sm_80", TF_SM80, {192 * kKiB, 40 * kMiB, 0}, kSm80},
    {"sm_86", TF_SM80, {128 * kKiB, 6 * kMiB, 0}, kSm86},
    {"sm_87", TF_SM80, {192 * kKiB, 4 * kMiB, 0}, kSm87},
    {"sm_88", TF_SM80, {128 * kKiB, 4 * kMiB, 0}, kSm86},
    {"sm_89", TF_SM89, {128 * kKiB, 72 * kMiB, 0}, kSm89},
    {"sm_90", TF_SM90, {256 * kKiB, 50 * kMiB, 0}, kSm90},
    {"sm_90a", TF_SM90A, {256 * kKiB, 50 * kMiB, 0}, kSm90},
    {"sm_100", TF_SM90, {256 * kKiB, 126 * kMiB, 0}, kSm90},
    {"sm_100a", TF_SM100A, {256 * kKiB, 126 * kMiB, 0}, kSm90},
    {"sm_100f", TF_SM100A, {256 * kKiB, 126 * kMiB, 0}, kSm90},
    {"sm_103", TF_SM90, {256 * kKiB, 126 * kMiB, 0}, kSm90},
    {"sm_103a", TF_SM100A, {256 * kKiB, 126 * kMiB, 0}, kSm90},
    {"sm_103f", TF_SM100A, {256 * kKiB, 126 * kMiB, 0}, kSm90},
    {"sm_110", TF_SM90, {256 * kKiB, 32 * kMiB, 0}, kSm110},
    {"sm_110a", TF_SM100A, {256 * kKiB, 32 * kMiB, 0}, kSm110},
    {"sm_110f", TF_SM100A, {256 * kKiB, 32 * kMiB, 0}, kSm110},
    {"sm_120", TF_SM120, {128 * kKiB, 96 * kMiB, 0}, kSm89},
    {"sm_120a", TF_SM120A, {128 * kKiB, 96 * kMiB, 0}, kSm89},
    {"sm_120f", TF_SM120A, {128 * kKiB, 96 * kMiB, 0}, kSm89},
    {"sm_121", TF_SM120, {128 * kKiB, 24 * kMiB, 0}, kSm89},
    {"sm_121a", TF_SM120A, {128 * kKiB, 24 * kMiB, 0}, kSm89},
    {"sm_121f", TF_SM120A, {128 * kKiB, 24 * kMiB, 0}, kSm89},
};
#undef TF_SM75
#undef TF_SM80
#undef TF_SM89
#undef TF_SM90
#undef TF_SM90A
#undef TF_SM100A
#undef TF_SM120
#undef TF_SM120A

constexpr CpuEntry kOpenClCpus[] = {
    {"generic",
     "",
     {32 * kKiB, 1 * kMiB, 0},
     {.warp_threads = 32, .block_threads = 256, .shared_bytes = 32 * kKiB, .registers_per_thread = 128}},
};

constexpr ArchEntry kArchs[] = {
    {Arch::kX86_64, "x86_64", "linux", "x86-64",
     "sse4.2 popcnt avx avx2 fma f16c bmi bmi2 lzcnt movbe avxvnni avx512f avx512bw avx512cd avx512dq "
     "avx512vl avx512vnni avx512vbmi avx512vbmi2 avx512ifma avx512bitalg avx512vpopcntdq avx512bf16 "
     "avx512fp16 gfni",
     kX86Cpus},
    {Arch::kAArch64, "aarch64", "linux", "generic", "neon fullfp16 dotprod bf16 i8mm sve", kAArch64Cpus},
    {Arch::kArmV7, "armv7", "linux", "generic", "neon vfp4", kArmV7Cpus},
    {Arch::kRiscV64, "riscv64", "linux", "generic-rv64", "m a f d c v zvfh", kRiscV64Cpus},
    {Arch::kWasm32, "wasm32", "none", "generic", "simd128 relaxed-simd", kWasmCpus},
    {Arch::kCuda, "cuda", "none", "sm_80",
     "ldmatrix mma_f16 mma_s8 dp4a cp_async mbarrier redux mma_k16 mma_bf16 mma_tf32 mma_f64 mma_fp8 tma "
     "mbarrier_try_wait stmatrix elect griddepcontrol clusters setmaxnreg wgmma tcgen05 mma_block_scaled",
     kCudaCpus},
    {Arch::kOpenCl, "opencl", "none", "generic", "", kOpenClCpus},
};

}  // namespace

std::span<const ArchEntry> arch_table() {
  return kArchs;
}

const ArchEntry& arch_entry(Arch arch) {
  return kArchs[static_cast<size_t>(arch)];
}

const CpuEntry* find_cpu(const ArchEntry& arch, std::string_view name) {
  for (const CpuEntry& cpu : arch.cpus) {
    if (cpu.name == name) return &cpu;
  }
  return nullptr;
}

}  // namespace tf::target
