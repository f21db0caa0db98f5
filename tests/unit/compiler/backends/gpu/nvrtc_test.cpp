// Which instructions the table of targets gives an architecture, and which NVIDIA's assembler takes for it.

#include "compiler/backends/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

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

std::string source_of(const Probe& probe) {
  return absl::StrCat(
      "extern \"C\" __global__ void __launch_bounds__(128) probe(float* global) {\n",
      "  __shared__ __align__(1024) char shared[1024];\n",
      "  const unsigned address = (unsigned)__cvta_generic_to_shared(shared);\n  asm volatile(\"",
      probe.instruction, "\" :: \"r\"(address), \"l\"(global) : \"memory\");\n}\n");
}

TEST(Nvrtc, TakesEachInstructionForTheArchitecturesThatHaveIt) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const std::string& arch : target::known_cpus(target::Arch::kCuda)) {
    const target::Target target = *target::parse_target("cuda:arch=" + arch);
    for (const Probe& probe : kProbes) {
      const absl::StatusOr<std::string> cubin = compile_cubin(source_of(probe), target);
      EXPECT_EQ(cubin.ok(), target.has(probe.feature))
          << arch << " " << probe.feature << ": " << cubin.status();
    }
  }
}

}  // namespace
}  // namespace tf::backends
