// What one candidate costs before it runs (lowering, code generation, linking), and what kernels of the
// default schedule reach on one thread of this machine, as a share of its measured peak.
//
//   build/release/bin/backends_bench [--benchmark_format=json]

#include <benchmark/benchmark.h>

#include <algorithm>

#include "compiler/backends/llvm/codegen.h"
#include "compiler/backends/llvm/link.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "compiler/runtime/peak.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf {
namespace {

using tensor::Buffer;
using tensor::Element;
using tensor::imm;

tensor::Workload matmul(int64_t size, Element activations = Element::kFloat32,
                        Element weights = Element::kFloat32) {
  ops::Builder b;
  Buffer x = b.input("x", activations, {imm(size), imm(size)});
  Buffer w = b.constant("w", weights, {imm(size), imm(size)});
  return *b.finish({ops::matmul(b, x, w)});
}

// channels → channels, square, with bias and relu.
tensor::Workload conv(int64_t in, int64_t out, int64_t extent, int64_t kernel, int64_t stride) {
  ops::Builder b;
  Buffer x = b.input("x", Element::kFloat32, {imm(1), imm(in), imm(extent), imm(extent)});
  Buffer w = b.constant("w", Element::kFloat32, {imm(out), imm(in), imm(kernel), imm(kernel)});
  Buffer bias = b.constant("bias", Element::kFloat32, {imm(out)});
  int64_t pad = kernel / 2;
  Buffer y =
      ops::conv(b, x, w, {.strides = {stride, stride}, .pads_begin = {pad, pad}, .pads_end = {pad, pad}});
  return *b.finish({ops::relu(b, ops::bias_add(b, y, bias))});
}

struct Case {
  const char* name;
  tensor::Workload workload;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"matmul_512", matmul(512)},
      {"matmul_1024", matmul(1024)},
      {"matmul_1024_bf16", matmul(1024, Element::kBFloat16, Element::kBFloat16)},
      {"matmul_1024_u8_i8", matmul(1024, Element::kUInt8, Element::kInt8)},
      {"matmul_1024_i8", matmul(1024, Element::kInt8, Element::kInt8)},
      {"conv3x3_64_56", conv(64, 64, 56, 3, 1)},
      {"conv1x1_128_512_28", conv(128, 512, 28, 1, 1)},
      {"conv3x3_256_14", conv(256, 256, 14, 3, 1)},
      {"conv7x7_3_64_224_stride2", conv(3, 64, 224, 7, 2)}};
  return all;
}

passes::Lowered lowered(const tensor::Workload& workload) {
  schedule::Schedule schedule =
      recipes::default_schedule({.workload = workload, .target = target::host_target()});
  return *passes::lower(workload, schedule, {});
}

void lower(benchmark::State& state, const tensor::Workload* workload) {
  schedule::Schedule schedule =
      recipes::default_schedule({.workload = *workload, .target = target::host_target()});
  for (auto _ : state) benchmark::DoNotOptimize(passes::lower(*workload, schedule, {}));
}

void generate(benchmark::State& state, const tensor::Workload* workload) {
  passes::Lowered kernel = lowered(*workload);
  std::map<std::string, double> phases;
  for (auto _ : state) {
    absl::StatusOr<backends::KernelCode> code = backends::compile(kernel.function, target::host_target());
    if (!code.ok()) return state.SkipWithError(code.status().ToString().c_str());
    for (const backends::Phase& phase : code->phases)
      phases[phase.name] += static_cast<double>(phase.duration_ns) * 1e-6;
  }
  for (const auto& [name, ms] : phases) {
    state.counters[name + "_ms"] = benchmark::Counter(ms, benchmark::Counter::kAvgIterations);
  }
}

void link(benchmark::State& state, const tensor::Workload* workload) {
  absl::StatusOr<backends::KernelCode> code =
      backends::compile(lowered(*workload).function, target::host_target());
  for (auto _ : state) benchmark::DoNotOptimize(backends::link_shared(code->object, target::host_target()));
}

void run(benchmark::State& state, const tensor::Workload* workload) {
  passes::Lowered kernel = lowered(*workload);
  absl::StatusOr<support::CompiledKernel> compiled =
      support::compile_for(kernel.function, target::host_target());
  if (!compiled.ok()) return state.SkipWithError(compiled.status().ToString().c_str());
  std::vector<std::unique_ptr<support::AlignedBytes>> buffers;
  std::vector<void*> pointers;
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < kernel.param_elements.size(); ++i) {
    const auto elements = static_cast<uint64_t>(kernel.param_elements[i]);
    const auto width = static_cast<uint64_t>(tensor::element_bytes(kernel.function.params[i]->element));
    buffers.push_back(std::make_unique<support::AlignedBytes>(elements * width));
    // 0.5 in f32, near it in bf16: no denormals, no infinities.
    if (width == 2)
      std::ranges::fill(buffers.back()->as<uint16_t>(), uint16_t{0x3f00});
    else
      std::ranges::fill(buffers.back()->as<uint8_t>(), uint8_t{0x3f});
    pointers.push_back(buffers.back()->data());
    sizes.push_back(buffers.back()->size());
  }
  support::AlignedBytes workspace(compiled->workspace_bytes + compiled->workspace_per_thread_bytes);
  tf_runtime* runtime = tf_runtime_create(1);
  tf_call call = {TF_ABI_VERSION,  static_cast<uint32_t>(pointers.size()),
                  pointers.data(), sizes.data(),
                  nullptr,         workspace.data(),
                  runtime};
  for (auto _ : state) compiled->kernel->entry()(&call);
  tf_runtime_destroy(runtime);
  double gflop = tensor::count_flops(*workload) * static_cast<double>(state.iterations()) * 1e-9;
  state.counters["gflops"] = benchmark::Counter(gflop, benchmark::Counter::kIsRate);
  static const double peak = tf_peak_gflops(200'000'000);
  state.counters["share_of_peak"] = benchmark::Counter(gflop / peak, benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace tf

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const tf::Case& each : tf::cases()) {
    std::string name = each.name;
    benchmark::RegisterBenchmark(("lower/" + name).c_str(), tf::lower, &each.workload)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("generate/" + name).c_str(), tf::generate, &each.workload)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("link/" + name).c_str(), tf::link, &each.workload)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("run/" + name).c_str(), tf::run, &each.workload)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
