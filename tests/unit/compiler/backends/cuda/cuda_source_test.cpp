#include "compiler/backends/cuda/cuda_source.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/ir/interpret.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/physical.h"
#include "compiler/ir/print.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/gpu/elements.h"
#include "compiler/recipes/gpu/product.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const target::Target kTarget = *target::parse_target("cuda:arch=sm_90");

tensor::Workload matmul(int64_t m, int64_t n, int64_t k, bool epilogue) {
  ops::Builder b;
  const tensor::Buffer x = test::f32_input(b, {m, k});
  tensor::Buffer y = ops::matmul(b, x, test::f32_constant(b, {k, n}));
  if (epilogue) y = ops::relu(b, ops::bias_add(b, y, test::f32_constant(b, {n}), 1));
  return *b.finish({y});
}

ir::Function lowered(const tensor::Workload& workload, const std::string& name,
                     const recipes::GpuTile& tile = {}) {
  std::vector<recipes::Sketch> sketches = recipes::product_on_gpu({.workload = workload}, tile);
  if (sketches.empty()) sketches = recipes::elements_on_gpu({.workload = workload});
  const auto result = passes::lower(workload, sketches.at(0).steps, {},
                                    {.name = name, .pipeline = passes::gpu_pipeline(), .verify_each = true});
  EXPECT_TRUE(result.ok()) << result.status();
  return result->function;
}

absl::Status error_of(std::string_view text) {
  const absl::StatusOr<ir::Function> function = ir::parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status();
  return cuda_source(*function, kTarget).status();
}

TEST(CudaSource, OfAProductSharesTilesBetweenBarriers) {
  const auto source = cuda_source(lowered(matmul(128, 192, 32, false), "product"), kTarget);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(source->grid, ElementsAre("3", "2", "1"));
  EXPECT_THAT(source->block, ElementsAre(16, 16, 1));
  EXPECT_EQ(source->shared_bytes, 2 * 64 * 16 * 4);
  EXPECT_THAT(source->text,
              HasSubstr("extern \"C\" __global__ void product(const float* __restrict__ p0_, const float* "
                        "__restrict__ p1_, float* __restrict__ t0_) {"));
  EXPECT_THAT(source->text, HasSubstr("__syncthreads();"));
  EXPECT_THAT(source->text, HasSubstr("float t0_acc_[16];"));
}

TEST(CudaSource, SaysWhyAFunctionIsNotOneLaunch) {
  EXPECT_THAT(std::string(error_of("function k(a: f32[4]) { for i = 0 extent 4 { a[i] = 1f32 } }").message()),
              HasSubstr("no loop is bound to blocks or threads"));
  EXPECT_THAT(std::string(error_of("function k(a: f32[4]) { for i = 0 extent 4 grid_x { a[i] = 1f32 }\n"
                                   "for j = 0 extent 4 grid_x { a[j] = 2f32 } }")
                              .message()),
              HasSubstr("only one nest"));
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
  EXPECT_EQ(error_of("function k(a: f16[4]) { for i = 0 extent 4 thread_x { a[i] = 1f16 } }").code(),
            absl::StatusCode::kUnimplemented);
}

// --- The CUDA C as C++, a thread for each thread of a block.

struct Case {
  std::string name;
  ir::Function function;
  CudaSource source;
};

// Kernels of floats only; each is one launch, but for those of one element, where no axis is for threads.
std::vector<Case> cases() {
  std::vector<std::pair<std::string, ir::Function>> functions;
  const auto add = [&](const std::string& name, const tensor::Workload& workload,
                       const recipes::GpuTile& tile) {
    functions.emplace_back(name, lowered(workload, absl::StrCat("kernel_", functions.size()), tile));
  };
  for (const test::SmallWorkload& small : test::small_workloads())
    add(small.name, test::build_small(small), {.threads_m = 4, .threads_n = 4});
  add("product", matmul(64, 32, 32, false), {.threads_m = 8, .threads_n = 8});
  add("odd product", matmul(37, 41, 19, true), {.threads_m = 4, .threads_n = 8, .rows = 3, .reduce = 7});
  add("row", matmul(1, 70, 33, true), {.threads_n = 8});
  functions.emplace_back(
      "casts beyond the range, and of a NaN",
      *ir::parse_function(R"(function casts(a: f32[64], b: f32[64], c: f32[64], d: f32[64]) {
  for i = 0 extent 64 thread_x {
    b[i] = cast<f32>(cast<u8>((a[i] - 0.6f32) * 1000f32))
    c[i] = cast<f32>(cast<i8>((a[i] - 0.6f32) * 1000f32))
    d[i] = cast<f32>(cast<i32>((a[i] - a[i]) / (a[i] - a[i])))
  }
})"));
  // Of the lowest numbers by -1, 0 and 1; and their sums, which wrap.
  functions.emplace_back(
      "divisions that C leaves undefined",
      *ir::parse_function(R"(function divisions(a: f32[64], b: f32[64], c: f32[64], d: f32[64]) {
  for i = 0 extent 64 thread_x {
    b[i] = cast<f32>(cast<i32>(a[i] * -1000000000000f32) // cast<i32>((a[i] - 0.6f32) * 5f32))
    c[i] = cast<f32>(cast<i32>(a[i] * -1000000000000f32) % cast<i32>((a[i] - 0.6f32) * 5f32))
    let x = cast<i64>(a[i] * -1000000000000000000000f32)
    d[i] = cast<f32>(x // cast<i64>((a[i] - 0.6f32) * 5f32) - 9223372036854775807 + -x)
  }
})"));
  std::vector<Case> all;
  for (auto& [name, function] : functions) {
    bool floats = true;
    for (const ir::Buffer& param : function.params)
      floats = floats && param->element == tensor::Element::kFloat32;
    absl::StatusOr<CudaSource> source = cuda_source(function, kTarget);
    if (!floats || tensor::as_int(ir::physical_elements(*function.params.back())) == 1) continue;
    EXPECT_TRUE(source.ok()) << name << ": " << source.status();
    if (source.ok()) all.push_back({name, std::move(function), *std::move(source)});
  }
  return all;
}

std::string program(const std::vector<Case>& all) {
  std::string text = "#include \"" TF_SOURCE_DIR "/tests/unit/compiler/backends/cuda/cuda_on_host.h\"\n";
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string& kernel = all[i].function.name;
    absl::StrAppend(&text, "namespace n", i, " {\nalignas(16) unsigned char shared_memory[1 << 16];\n",
                    all[i].source.text, "}\nextern \"C\" void launch_", i,
                    "(void** b, const long long* grid, const long long* block) { tf_launch(n", i,
                    "::", kernel, ", b, grid, block); }\n");
  }
  return text;
}

using Buffers = std::vector<std::vector<float>>;

Buffers random_buffers(const ir::Function& function) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(0.25f, 1);
  Buffers buffers;
  for (const ir::Buffer& param : function.params) {
    buffers.emplace_back(static_cast<size_t>(tensor::as_int(ir::physical_elements(*param)).value()));
    for (float& value : buffers.back()) value = uniform(random);
  }
  return buffers;
}

std::vector<void*> pointers(Buffers& buffers) {
  std::vector<void*> all;
  for (auto& buffer : buffers) all.push_back(buffer.data());
  return all;
}

void interpret(const ir::Function& function, Buffers& buffers) {
  std::vector<ir::Memory> memory;
  for (auto& buffer : buffers) memory.push_back({buffer.data(), buffer.size() * sizeof(float)});
  const absl::Status status = ir::interpret(function, memory);
  ASSERT_TRUE(status.ok()) << status;
}

TEST(CudaSource, ComputesWhatTheInterpreterDoes) {
  const std::vector<Case> all = cases();
  EXPECT_GT(all.size(), 25u);
  const std::string base = ::testing::TempDir() + "/cuda_on_host_" + std::to_string(getpid());
  ASSERT_TRUE(write_file(base + ".cpp", program(all)).ok());
  const std::string command =
      TF_CXX_COMPILER " -std=c++20 -O0 -w -shared -fPIC -pthread -o " + base + ".so " + base + ".cpp";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  void* library = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name + "\n" + all[i].source.text);
    Buffers want = random_buffers(all[i].function), got = want;
    ASSERT_NO_FATAL_FAILURE(interpret(all[i].function, want));
    using Launch = void (*)(void**, const long long*, const long long*);
    const auto launch = reinterpret_cast<Launch>(dlsym(library, absl::StrCat("launch_", i).c_str()));
    ASSERT_NE(launch, nullptr);
    long long grid[3], block[3];
    for (size_t axis = 0; axis < 3; ++axis) {
      grid[axis] = std::stoll(all[i].source.grid[axis]);
      block[axis] = all[i].source.block[axis];
    }
    launch(pointers(got).data(), grid, block);
    for (size_t b = 0; b < got.size(); ++b)
      for (size_t k = 0; k < got[b].size(); ++k)
        ASSERT_NEAR(got[b][k], want[b][k], 1e-4 * std::max(1.0f, std::fabs(want[b][k]))) << b << " " << k;
  }
  dlclose(library);
  unlink((base + ".cpp").c_str());
  unlink((base + ".so").c_str());
}

// --- NVRTC.

#define TF_SKIP_WITHOUT_NVRTC() \
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message()

TEST(Nvrtc, CompilesEveryKernelWithoutAGpu) {
  TF_SKIP_WITHOUT_NVRTC();
  for (const Case& each : cases()) {
    const absl::StatusOr<std::string> cubin = compile_cubin(each.source.text, kTarget);
    ASSERT_TRUE(cubin.ok()) << each.name << ": " << cubin.status() << "\n" << each.source.text;
    EXPECT_EQ(cubin->substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_THAT(*cubin, HasSubstr(each.function.name));
  }
}

TEST(Nvrtc, SaysWhatIsWrongWithASource) {
  TF_SKIP_WITHOUT_NVRTC();
  const absl::Status status =
      compile_cubin("extern \"C\" __global__ void k() { nonsense; }", kTarget).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nonsense"));
}

}  // namespace
}  // namespace tf::backends
