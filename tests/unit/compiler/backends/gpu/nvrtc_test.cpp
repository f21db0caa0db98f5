// What NVRTC makes for each architecture: which instructions it takes, and what kernels take of the device.

#include "compiler/backends/cuda/nvrtc.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "compiler/backends/cuda/cuda_backend.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/ptxas_log.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace tf::backends {
namespace {

struct Probe {
  const char* feature;
  const char* instruction;  // PTX, with shared memory at %0 and global memory at %1
};
#define TF_MMA(types, c_type)                                      \
  "{.reg .b32 a<8>; .reg " c_type " c<4>; mma.sync.aligned." types \
  " {c0,c1,c2,c3}, {a0,a1,a2,a3}, {a4,a5}, {c0,c1,c2,c3}"
constexpr Probe kProbes[] = {
    {"ldmatrix", "{.reg .b32 a; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {a}, [%0];}"},
    {"mma_f16",
     "{.reg .b32 a<3>; .reg .f32 c<4>; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
     "{c0,c1,c2,c3}, {a0,a1}, {a2}, {c0,c1,c2,c3};}"},
    {"mma_s8",
     "{.reg .b32 a<2>; .reg .s32 c<2>; mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {c0,c1}, {a0}, "
     "{a1}, {c0,c1};}"},
    {"dp4a", "{.reg .s32 a; dp4a.s32.s32 a, a, a, a;}"},
    {"cp_async", "cp.async.cg.shared.global [%0], [%1], 16;"},
    {"mbarrier", "mbarrier.init.shared.b64 [%0], 1;"},
    {"redux", "{.reg .u32 a; redux.sync.add.u32 a, a, -1;}"},
    {"mma_k16", TF_MMA("m16n8k16.row.col.f32.f16.f16.f32", ".f32") ";}"},
    {"mma_k16", TF_MMA("m16n8k32.row.col.s32.s8.s8.s32", ".s32") ";}"},
    {"mma_bf16", TF_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", ".f32") ";}"},
    {"mma_tf32", TF_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", ".f32") ";}"},
    {"mma_f64",
     "{.reg .f64 a<4>; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {a0,a1}, {a2}, {a3}, {a0,a1};}"},
    {"mma_fp8", TF_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", ".f32") ";}"},
    {"tma",
     "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], "
     "[%0+64];"},
    {"mbarrier_try_wait", "{.reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q, [%0], 0;}"},
    {"stmatrix", "{.reg .b32 a; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {a};}"},
    {"elect", "{.reg .pred q; .reg .b32 a; elect.sync a|q, -1;}"},
    {"griddepcontrol", "griddepcontrol.wait;"},
    {"setmaxnreg", "setmaxnreg.dec.sync.aligned.u32 24;"},
    {"wgmma", "wgmma.fence.sync.aligned;"},
    {"tcgen05", "tcgen05.wait::ld.sync.aligned;"},
    {"mma_block_scaled",
     TF_MMA("m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
            ".f32") ", a6, {0, 0}, a7, {0, 0};}"},
};
#undef TF_MMA

std::string source_of(const std::vector<const char*>& instructions) {
  std::string source =
      "extern \"C\" __global__ void __launch_bounds__(128) probe(float* global) {\n"
      "  __shared__ __align__(1024) char shared[1024];\n"
      "  const unsigned address = (unsigned)__cvta_generic_to_shared(shared);\n";
  for (const char* instruction : instructions)
    absl::StrAppend(&source, "  asm volatile(\"", instruction,
                    "\" :: \"r\"(address), \"l\"(global) : \"memory\");\n");
  return source + "}\n";
}

TEST(Nvrtc, TakesEachInstructionForTheArchitecturesThatHaveIt) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const std::string& arch : target::known_cpus(target::Arch::kCuda)) {
    const target::Target target = *target::parse_target("cuda:arch=" + arch);
    std::vector<const char*> all;
    for (const Probe& probe : kProbes) {
      if (target.has(probe.feature))
        all.push_back(probe.instruction);
      else
        EXPECT_FALSE(compile_cuda(source_of({probe.instruction}), target).ok())
            << arch << " " << probe.feature;
    }
    const absl::StatusOr<CudaCode> code = compile_cuda(source_of(all), target);
    EXPECT_TRUE(code.ok()) << arch << ": " << code.status();
  }
}

// --- Resources.

template <typename T>
T read_at(const std::string& bytes, size_t at) {
  T value = {};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Registers and stack as the cubin's own notes give them to the driver: section .nv.info, by kernel.
std::map<std::string, Resources> read_cubin(const std::string& cubin) {
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  std::vector<Elf64_Shdr> sections;
  for (size_t i = 0; i < header.e_shnum; ++i)
    sections.push_back(read_at<Elf64_Shdr>(cubin, header.e_shoff + i * sizeof(Elf64_Shdr)));
  const auto name_of = [&](size_t table, size_t at) {
    return std::string(cubin.c_str() + sections[table].sh_offset + at);
  };
  std::map<std::string, Resources> all;
  for (const Elf64_Shdr& info : sections) {
    if (name_of(header.e_shstrndx, info.sh_name) != ".nv.info") continue;
    const Elf64_Shdr& symbols = sections[info.sh_link];
    constexpr uint8_t kRegisters = 0x2f, kLeastStack = 0x12;
    for (size_t at = info.sh_offset; at < info.sh_offset + info.sh_size;) {
      const auto format = read_at<uint8_t>(cubin, at), attribute = read_at<uint8_t>(cubin, at + 1);
      const auto size = read_at<uint16_t>(cubin, at + 2);
      if (format == 4 && (attribute == kRegisters || attribute == kLeastStack)) {
        const auto symbol = read_at<Elf64_Sym>(
            cubin, symbols.sh_offset + read_at<uint32_t>(cubin, at + 4) * sizeof(Elf64_Sym));
        Resources& kernel = all[name_of(symbols.sh_link, symbol.st_name)];
        (attribute == kRegisters ? kernel.registers_per_thread : kernel.stack_bytes) =
            read_at<uint32_t>(cubin, at + 8);
      }
      at += 4 + (format == 4 ? size : 0);
    }
  }
  return all;
}

// More values at a time than the registers that threads of so large a block have.
constexpr char kSpilling[] = R"(extern "C" __global__ void __launch_bounds__(1024) spilling(float* p) {
  float a[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) a[i] = p[i * 1024 + threadIdx.x];
  for (int k = 0; k < (int)p[0]; ++k) {
    float x = p[k];
#pragma unroll
    for (int i = 0; i < 96; ++i) { a[i] = a[i] * x + a[(i + 7) % 96]; }
  }
#pragma unroll
  for (int i = 0; i < 96; ++i) p[i * 1024 + threadIdx.x] = a[i];
})";

TEST(Nvrtc, TellsWhatKernelsTakeAsTheirCubinsDo) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  const std::vector<test::Case> cases = test::cases();
  for (const char* arch : {"sm_75", "sm_90a"}) {
    const target::Target target = *target::parse_target(absl::StrCat("cuda:arch=", arch));
    std::vector<std::string> sources = {kSpilling};
    for (const test::Case& each : cases)
      sources.push_back(gpu_source(each.function, target, cuda_dialect())->text);
    for (const std::string& source : sources) {
      const absl::StatusOr<CudaCode> code = compile_cuda(source, target);
      ASSERT_TRUE(code.ok()) << code.status();
      const std::map<std::string, Resources> cubin = read_cubin(code->cubin);
      EXPECT_EQ(cubin.size(), code->resources.size());
      for (const auto& [name, log] : code->resources) {
        ASSERT_TRUE(cubin.contains(name)) << name;
        EXPECT_EQ(log.registers_per_thread, cubin.at(name).registers_per_thread) << arch << " " << name;
        EXPECT_EQ(log.stack_bytes, cubin.at(name).stack_bytes) << arch << " " << name;
        EXPECT_EQ(log.spills(), name == "spilling") << arch << " " << name << " spills " << log.spill_bytes;
      }
      EXPECT_THAT(code->ptx, testing::HasSubstr(absl::StrCat(".target ", arch)));
    }
  }
}

TEST(CudaBackend, HasPtxForLaterDevicesUnlessItIsForOneArchitecture) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  const ir::Function kernel = test::lowered(test::matmul(64, 64, 32, false), "product");
  const auto compiled = [&](const char* target) {
    return *cuda_backend().compile(kernel, *target::parse_target(target), Use::kDevice);
  };
  const Code forward = compiled("cuda:arch=sm_90"), only = compiled("cuda:arch=sm_90a");
  ASSERT_EQ(forward.others.size(), 1u);
  EXPECT_EQ(forward.others[0].kind, tunefarm::kernel::v1::BLOB_KIND_PTX);
  EXPECT_GT(forward.launches.at(0).resources.registers_per_thread, 16u);
  EXPECT_TRUE(only.others.empty());
}

// --- PTX that the agent carries, because it has no compiler.

// Instructions, without what another version of NVRTC says otherwise.
std::vector<std::string> ptx_lines(std::string_view ptx) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(ptx.data(), ptx.size()), '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (!words.empty() && words[0] != ".version" && !words[0].starts_with("//"))
      lines.push_back(absl::StrJoin(words, " "));
  }
  return lines;
}

TEST(CarriedPtx, IsWhatNvrtcMakesOfTheSourceBesideIt) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  const std::pair<std::string, std::string> all[] = {
      {"agent/golden/golden_kernel.cu", "agent/golden/golden_ptx.cpp"},
      {"worker/gpu/peak.cu", "worker/gpu/peak_ptx.cpp"}};
  for (const auto& [source, carried] : all) {
    const std::string folder = TF_SOURCE_DIR "/device_agent/";
    const absl::StatusOr<std::string> text = read_file(folder + source), file = read_file(folder + carried);
    ASSERT_TRUE(text.ok() && file.ok());
    const size_t begin = file->find("R\"(") + 3, end = file->find(")\";");
    ASSERT_NE(end, std::string::npos);
    const absl::StatusOr<CudaCode> code = compile_cuda(*text, *target::parse_target("cuda:arch=sm_75"));
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_EQ(ptx_lines(file->substr(begin, end - begin)), ptx_lines(code->ptx))
        << carried << " must be made anew from:\n"
        << code->ptx;
  }
}

TEST(PtxasLog, IsReadByKernel) {
  const auto all = read_ptxas_log(
      "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'a' for 'sm_80'\n"
      "ptxas info    : Function properties for a\n"
      "ptxas         .     24 bytes stack frame, 48 bytes spill stores, 52 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 1 barriers, 24 bytes cumulative stack size, 1024 bytes smem, "
      "360 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_80'\n"
      "ptxas info    : Used 8 registers\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(
      all.at("a"),
      (Resources{.registers_per_thread = 64, .stack_bytes = 24, .spill_bytes = 100, .shared_bytes = 1024}));
  EXPECT_TRUE(all.at("a").spills());
  EXPECT_EQ(all.at("b"), (Resources{.registers_per_thread = 8}));
  EXPECT_TRUE(read_ptxas_log("nothing of that\n").empty());
}

}  // namespace
}  // namespace tf::backends
