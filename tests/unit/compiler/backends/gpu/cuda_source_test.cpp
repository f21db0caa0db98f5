// CUDA C: its text, the text as C++ with a thread for each thread of a block, and compiled by NVRTC.

#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "tests/unit/compiler/backends/gpu/host_program.h"

namespace tf::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const target::Target kTarget = *target::parse_target("cuda:arch=sm_90");

absl::StatusOr<GpuSource> cuda_source(const ir::Function& function) {
  return gpu_source(function, kTarget, cuda_dialect());
}

absl::Status error_of(std::string_view text) {
  const absl::StatusOr<ir::Function> function = ir::parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status();
  return cuda_source(*function).status();
}

TEST(CudaSource, OfAProductSharesTilesBetweenBarriers) {
  const auto source = cuda_source(test::lowered(test::matmul(128, 192, 32, false), "product"));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(source->launches.at(0).grid, ElementsAre("3", "2", "1"));
  EXPECT_THAT(source->launches.at(0).block, ElementsAre("16", "16", "1"));
  EXPECT_EQ(source->launches.at(0).shared_bytes, "8192");
  EXPECT_THAT(source->text, HasSubstr("extern \"C\" __global__ void __launch_bounds__(256) product_0(const "
                                      "float* __restrict__ p0_, const float* "
                                      "__restrict__ p1_, float* __restrict__ t0_) {"));
  EXPECT_THAT(source->text, HasSubstr("__syncthreads();"));
  EXPECT_THAT(source->text, HasSubstr("float t0_acc_[16];"));
}

TEST(CudaSource, HasNoMoreBlocksAlongYThanLaunchesTake) {
  const auto of_rows = [](int rows) {
    return error_of(absl::StrCat("function k(a: f32[", rows, "]) { for i = 0 extent ", rows,
                                 " grid_y { a[i] = 1f32 } }"));
  };
  EXPECT_TRUE(of_rows(65535).ok());
  EXPECT_EQ(of_rows(65536).message(),
            "a grid of 65536 blocks along y; cuda:arch=sm_90 has at most 65535: bind that loop to grid_x");
}

TEST(CudaSource, SaysWhyAFunctionIsNotOneLaunch) {
  EXPECT_THAT(std::string(error_of("function k(a: f32[4]) { for i = 0 extent 4 grid_x {\n"
                                   "for j = 0 extent 4 thread_x { a[j] = 1f32 }\n"
                                   "for j = 0 extent 4 thread_x { a[j] = 2f32 } } }")
                              .message()),
              HasSubstr("only one nest"));
  EXPECT_THAT(std::string(error_of("function k(a: f32[4]) { for i = 0 extent 4 {\n"
                                   "for j = 0 extent 4 grid_x { a[j] = 1f32 } } }")
                              .message()),
              HasSubstr("a loop is around a grid loop"));
  EXPECT_THAT(
      std::string(error_of("function k(a: f32[4]) { for i = 0 extent 4 grid_x { allocate t: f32[4] {\n"
                           "for j = 0 extent 4 thread_x { t[j] = 1f32\n a[j] = t[j] } } } }")
                      .message()),
      HasSubstr("scratch memory of scope global is outside the thread loops"));
  EXPECT_THAT(std::string(error_of("function k(a: f32[4]) { for i = 0 extent 4 grid_x { a[i] = 1f32\n"
                                   "for j = 0 extent 2 thread_x { a[i] = 2f32 } } }")
                              .message()),
              HasSubstr("outside the grid and thread loops"));
  EXPECT_THAT(
      std::string(
          error_of("function k(a: f32[4]) { for i = 0 extent 4 parallel { a[i] = 1f32 } }").message()),
      HasSubstr("a parallel loop is for CPUs"));
  EXPECT_THAT(
      std::string(
          error_of("function k(a: f32[4096]) { for i = 0 extent 4096 thread_x { a[i] = 1f32 } }").message()),
      HasSubstr("a block of 4096 threads"));
}

TEST(CudaSource, HasNarrowIndicesWhereTheyFit) {
  const auto source = [](const char* text) { return cuda_source(*ir::parse_function(text))->text; };
  EXPECT_THAT(
      source("function k(a: f32[4096]) { for i = 0 extent 4 grid_x { for j = 0 extent 1024 thread_x {\n"
             "a[i * 1024 + j] = 1f32 } } }"),
      Not(HasSubstr("long long")));
  EXPECT_THAT(source("function k(a: f32[4294967296]) { for i = 0 extent 4194304 grid_x {\n"
                     "for j = 0 extent 1024 thread_x { a[i * 1024 + j] = 1f32 } } }"),
              HasSubstr("const long long i_"));
}

// --- The CUDA C as C++, a thread for each thread of a block.

using test::Host;

std::vector<Host> host_cases() {
  std::vector<Host> all;
  for (test::Case& each : test::cases()) {
    absl::StatusOr<GpuSource> source = cuda_source(each.function);
    EXPECT_TRUE(source.ok()) << each.name << ": " << source.status();
    if (source.ok()) all.push_back({std::move(each), *std::move(source)});
  }
  return all;
}

TEST(CudaSource, ComputesWhatTheInterpreterDoes) {
  const std::vector<Host> all = host_cases();
  EXPECT_GT(all.size(), 30u);
  test::expect_host_agrees(all, "");
}

// --- NVRTC.

#define TF_SKIP_WITHOUT_NVRTC() \
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message()

TEST(Nvrtc, CompilesEveryKernelWithoutAGpu) {
  TF_SKIP_WITHOUT_NVRTC();
  for (const Host& each : host_cases()) {
    const absl::StatusOr<CudaCode> code = compile_cuda(each.source.text, kTarget);
    ASSERT_TRUE(code.ok()) << each.kernel.name << ": " << code.status() << "\n" << each.source.text;
    EXPECT_EQ(code->cubin.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_THAT(code->cubin, HasSubstr(each.kernel.function.name));
  }
}

TEST(Nvrtc, SaysWhatIsWrongWithASource) {
  TF_SKIP_WITHOUT_NVRTC();
  const absl::Status status =
      compile_cuda("extern \"C\" __global__ void k() { nonsense; }", kTarget).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nonsense"));
}

}  // namespace
}  // namespace tf::backends
