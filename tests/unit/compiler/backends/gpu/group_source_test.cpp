// Matrix instructions of four warps in CUDA C: on host threads, which read shared memory by the descriptors, against the
// interpreter; and compiled by NVRTC.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/backends/cuda/bulk_probes.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/group_probes.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/backends/gpu/group_text.h"
#include "compiler/recipes/gpu/tensor_product.h"
#include "tests/unit/compiler/backends/gpu/host_program.h"

namespace tf::backends {
namespace {

using tensor::Element;
using tensor_units::TensorUnit;
using ::testing::HasSubstr;
using ::testing::Not;

struct GroupKernel {
  Element element = Element::kFloat16;
  int64_t m = 64, n = 64, k = 64;
  bool transposed = false;  // b is [n, k]
  bool epilogue = false;
  int width = 64;
  recipes::TensorTile tile = {1, 1, 1, 1, 4, 2};
};

tensor::Workload group_workload(const GroupKernel& kernel) {
  ops::Builder b;
  const auto extents = [](int64_t rows, int64_t columns) {
    return std::vector<tensor::Expr>{tensor::imm(rows), tensor::imm(columns)};
  };
  const tensor::Buffer x = b.input("x", kernel.element, extents(kernel.m, kernel.k));
  const tensor::Buffer w = b.constant(
      "w", kernel.element, kernel.transposed ? extents(kernel.n, kernel.k) : extents(kernel.k, kernel.n));
  if (!tensor::is_float(kernel.element)) {
    const tensor::Type sum{Element::kInt32, 1};
    return *b.finish({b.reduce(
        "product", sum.element, extents(kernel.m, kernel.n), {tensor::imm(kernel.k)}, tensor::Combiner::kSum,
        [&](ops::Indices i, ops::Indices r) {
          const std::vector<tensor::Expr> right = {kernel.transposed ? i[1] : r[0],
                                                   kernel.transposed ? r[0] : i[1]};
          return tensor::cast(sum, tensor::load(x, {i[0], r[0]})) * tensor::cast(sum, tensor::load(w, right));
        })});
  }
  tensor::Buffer y = ops::matmul(b, x, w, {.transpose_b = kernel.transposed});
  if (kernel.epilogue)
    y = ops::relu(b, ops::bias_add(b, y, b.constant("bias", kernel.element, {tensor::imm(kernel.n)}), 1));
  return *b.finish({y});
}

target::Target hopper() {
  return *target::parse_target("cuda:arch=sm_90a");
}

ir::Function group_function(const GroupKernel& kernel, const std::string& name) {
  const tensor::Workload workload = group_workload(kernel);
  for (const recipes::Sketch& sketch :
       recipes::tensor_product_on_gpu({.workload = workload, .target = hopper()}, kernel.tile))
    if (sketch.family == absl::StrCat("tensor product, wgmma n", kernel.width))
      return test::lowered(workload, recipes::instantiate(sketch, sketch.default_point()), name);
  ADD_FAILURE() << "no sketch of width " << kernel.width;
  return {};
}

absl::StatusOr<GpuSource> group_source(const ir::Function& function) {
  return gpu_source(function, hopper(), cuda_dialect());
}

// --- On host threads.

// PTX ISA, "Strides": where element (line, term) of a factor is, by its descriptor alone: start, leading and stride bytes, the
// swizzle of the address; lines of terms or not.
constexpr char kHostGroups[] = R"(
#define TF_HAS_MATRICES
#include <atomic>
inline std::atomic<std::uintptr_t> tf_window;  // of shared memory, 256 KiB
inline unsigned long long tf_shared_tile(const void* place, unsigned long long how) {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  tf_window = address >> 18 << 18;
  return how | (address & 0x3ffff) / 16;
}
inline void tf_publish() {}
struct TfBFloat { unsigned short bits; operator float() const { return __uint_as_float(unsigned{bits} << 16); } };
template <typename T>
T tf_factor(unsigned long long descriptor, bool terms, int line, int term) {
  const std::uintptr_t start = (descriptor & 0x3fff) * 16, leading = (descriptor >> 16 & 0x3fff) * 16,
                       stride = (descriptor >> 32 & 0x3fff) * 16;
  const int code = int(descriptor >> 62), width = code == 1 ? 128 : code == 2 ? 64 : 32;
  std::uintptr_t at;
  if (terms)
    at = start + line / 8 * stride + line % 8 * width + term * sizeof(T);
  else
    at = start + line * sizeof(T) / width * leading + line * sizeof(T) % width + term / 8 * stride + term % 8 * width;
  at ^= (at >> 7 & (width / 16 - 1)) << 4;
  return *reinterpret_cast<const T*>(tf_window + at);
}
template <typename T, typename C, int n, int k>
void tf_multiply_group(C* c, unsigned long long a, unsigned long long b, bool a_terms, bool b_terms) {
  const int lane = threadIdx.x % 128;
  for (int e = 0; e < n / 2; ++e) {
    const int row = lane / 32 * 16 + lane / 4 % 8 + e / 2 % 2 * 8, column = lane % 4 * 2 + e % 2 + e / 4 * 8;
    for (int t = 0; t < k; ++t)
      c[e] += C(tf_factor<T>(a, a_terms, row, t)) * C(tf_factor<T>(b, b_terms, column, t));
  }
}
)";

std::string host_groups() {
  std::string text = kHostGroups;
  for (const TensorUnit& unit : tensor_units::tensor_units()) {
    if (!unit.reads_shared) continue;
    const char* type = unit.a_element == Element::kFloat16    ? "_Float16"
                       : unit.a_element == Element::kBFloat16 ? "TfBFloat"
                       : unit.a_element == Element::kInt8     ? "signed char"
                                                              : "float";
    const std::string sum(value_type(cuda_dialect(), unit.c_element));
    for (const bool a : {true, false})
      for (const bool b : {true, false})
        absl::StrAppend(&text, "inline void ", GroupMultiply{&unit, a, b}.name(), "(", sum,
                        "* c, unsigned long long a, unsigned long long b) { tf_multiply_group<", type, ", ",
                        sum, ", ", unit.n, ", ", unit.k, ">(c, a, b, ", a, ", ", b, "); }\n");
    for (const int tiles : {1, 2})
      for (const int groups : {-1, 0, 1}) {
        const GroupMeeting meeting{unit.c_element, int64_t{tiles} * unit.c.elements(), groups};
        absl::StrAppend(&text, "#ifndef ", meeting.name(), "\n#define ", meeting.name(), "(c)\n#endif\n");
      }
  }
  return text;
}

TEST(GroupSource, ComputesWhatTheInterpreterDoes) {
  const GroupKernel kernels[] = {
      {.m = 64, .n = 64, .k = 128},
      {.m = 100, .n = 72, .k = 136, .transposed = true, .epilogue = true, .tile = {2, 1, 1, 1, 4, 3}},
      {.m = 64, .n = 128, .k = 72, .width = 128, .tile = {1, 1, 1, 1, 4, 1}},
      {.element = Element::kBFloat16, .m = 64, .n = 200, .k = 64, .epilogue = true, .width = 256},
      {.element = Element::kInt8, .m = 128, .n = 64, .k = 256, .tile = {1, 1, 2, 1, 4, 2}},
      {.element = Element::kInt8, .m = 64, .n = 48, .k = 144, .transposed = true, .tile = {1, 1, 1, 1, 8, 2}},
      {.m = 100, .n = 72, .k = 264, .tile = {2, 1, 1, 1, 4, 3, 1, 1}},
      {.m = 100, .n = 72, .k = 264, .transposed = true, .epilogue = true, .tile = {1, 1, 2, 1, 8, 4, 1, 1}},
      {.element = Element::kBFloat16,
       .m = 64,
       .n = 200,
       .k = 132,
       .width = 256,
       .tile = {1, 1, 1, 1, 4, 2, 1, 1}},
      {.element = Element::kInt8,
       .m = 64,
       .n = 48,
       .k = 144,
       .transposed = true,
       .tile = {1, 1, 1, 1, 4, 4, 1, 1}},
  };
  std::vector<test::Host> all;
  for (const GroupKernel& kernel : kernels) {
    const std::string name = absl::StrCat("group_", all.size());
    const ir::Function function = group_function(kernel, name);
    absl::StatusOr<GpuSource> source = group_source(function);
    ASSERT_TRUE(source.ok()) << source.status();
    all.push_back({{name, function}, *std::move(source)});
  }
  test::expect_host_agrees(all, host_groups());
}

TEST(GroupSource, RefusesWhatTheTargetDoesNotHave) {
  EXPECT_THAT(std::string(gpu_source(group_function({.tile = {1, 1, 1, 1, 4, 2, 1, 1}}, "k"),
                                     *target::parse_target("cuda:arch=sm_90a,-tma"), cuda_dialect())
                              .status()
                              .message()),
              HasSubstr("needs tma"));
  EXPECT_THAT(std::string(gpu_source(group_function({}, "k"), *target::parse_target("cuda:arch=sm_90"),
                                     cuda_dialect())
                              .status()
                              .message()),
              HasSubstr("wgmma_m64n64k16_f16 needs wgmma, which sm_90 does not have"));
}

// The table's own maps and descriptors, on host threads that follow them: what the probes ask a GPU.
TEST(GroupSource, ProbesShowTheTable) {
  const std::vector<MatrixProbe> probes = group_probes(hopper());
  EXPECT_EQ(probes.size(), 18u);
  std::string text = host_groups();
  for (const MatrixProbe& probe : probes)
    absl::StrAppend(&text, "namespace n_", probe.entry,
                    " {\n#define __shared__ static\n#undef __align__\n#define __align__(bytes) "
                    "__attribute__((aligned(1 << 18)))\n",
                    probe.source, "#undef __shared__\n#define __shared__\n}\nextern \"C\" void launch_",
                    probe.entry, "(void** b, const long long* grid, const long long* block) { tf_launch(n_",
                    probe.entry, "::", probe.entry, ", b, grid, block); }\n");
  void* library = test::host_library(text);
  ASSERT_NE(library, nullptr);
  for (const MatrixProbe& probe : probes) {
    SCOPED_TRACE(probe.name);
    test::Bytes out(probe.expected.size() * sizeof(float), 0xff);
    test::start_on_host(library, probe.entry, {out.data()}, {1, 1, 1}, {probe.threads, 1, 1});
    for (size_t i = 0; i < probe.expected.size(); ++i) {
      const double got = probe.element == Element::kInt32 ? reinterpret_cast<const int32_t*>(out.data())[i]
                                                          : test::value_at(out, probe.element, i);
      ASSERT_EQ(got, probe.expected[i]) << i;
    }
  }
  dlclose(library);
}

TEST(GroupSource, ProbesOfTheCopyEngineShowItsRules) {
  const std::vector<BulkProbe> probes = bulk_probes(hopper());
  EXPECT_EQ(probes.size(), 5u);
  std::string text;
  for (const BulkProbe& probe : probes)
    absl::StrAppend(&text, "namespace n_", probe.entry,
                    " {\nalignas(1 << 18) unsigned char shared_memory[1 << 18];\n", probe.source,
                    "}\nextern \"C\" void launch_", probe.entry,
                    "(void** b, const long long* grid, const long long* block) { tf_launch(n_", probe.entry,
                    "::", probe.entry, ", b, grid, block); }\n");
  void* library = test::host_library(text);
  ASSERT_NE(library, nullptr);
  for (const BulkProbe& probe : probes) {
    std::string out(probe.after.size(), '\xff');
    alignas(16) static char in[1 << 17];
    ASSERT_LE(probe.before.size(), sizeof in);
    std::ranges::copy(probe.before, in);
    tf_tensor_map map = test::host_map(probe.launch.tensor_maps[0], in);
    test::start_on_host(library, probe.entry, {in, out.data(), &map}, {1, 1, 1}, {64, 1, 1});
    EXPECT_TRUE(out == probe.after) << probe.name;
  }
  dlclose(library);
}

// --- NVRTC.

int64_t times_in(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TEST(GroupSource, ProbesCompile) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const MatrixProbe& probe : group_probes(hopper())) {
    const absl::StatusOr<CudaCode> code = compile_cuda(probe.source, hopper());
    ASSERT_TRUE(code.ok()) << probe.name << ": " << code.status() << probe.source;
    EXPECT_EQ(times_in(code->ptx, "wgmma.mma_async"), 1) << probe.name;
  }
}

TEST(GroupSource, CopiesOfBoxesCompile) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const char* arch : {"sm_90", "sm_90a", "sm_100a", "sm_120"})
    for (const BulkProbe& probe : bulk_probes(*target::parse_target(absl::StrCat("cuda:arch=", arch)))) {
      const absl::StatusOr<CudaCode> code =
          compile_cuda(probe.source, *target::parse_target(absl::StrCat("cuda:arch=", arch)));
      ASSERT_TRUE(code.ok()) << probe.name << ": " << code.status() << probe.source;
      EXPECT_GE(times_in(code->ptx, "cp.async.bulk.tensor."), 2) << probe.name;
    }
  for (const GroupKernel& kernel :
       {GroupKernel{.width = 256, .tile = {2, 1, 1, 1, 4, 4, 1, 1}},
        {.width = 128, .tile = {2, 1, 1, 1, 4, 3, 1, 1}},
        {.transposed = true, .epilogue = true, .width = 256, .tile = {2, 1, 1, 1, 4, 4, 1, 1}}}) {
    GroupKernel large = kernel;
    large.m = large.n = large.k = 1024;
    const auto source = group_source(group_function(large, "k"));
    ASSERT_TRUE(source.ok()) << source.status();
    ASSERT_EQ(source->launches[0].tensor_maps.size(), 2u);
    EXPECT_EQ(source->launches[0].tensor_maps[0],
              (TensorMap{.buffer = 0, .element_bytes = 2, .extents = {1024, 1024}, .box = {128, 64}}));
    const absl::StatusOr<CudaCode> code = compile_cuda(source->text, hopper());
    ASSERT_TRUE(code.ok()) << code.status() << source->text;
    for (const auto& [name, resources] : code->resources) EXPECT_EQ(resources.spill_bytes, 0u) << name;
    EXPECT_FALSE(code->serializes_matrices) << source->text;
    EXPECT_GT(times_in(code->ptx, "cp.async.bulk.tensor.2d"), 0);
    EXPECT_EQ(times_in(code->ptx, "cp.async.cg"), 0);
    EXPECT_THAT(code->ptx, Not(HasSubstr(".local")));
  }
}

TEST(GroupSource, CompilesWithoutSpills) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const GroupKernel& kernel :
       {GroupKernel{.width = 256, .tile = {2, 1, 1, 1, 4, 4}},
        {.width = 128, .tile = {2, 1, 1, 1, 4, 3}},
        {.transposed = true, .epilogue = true, .width = 128, .tile = {1, 1, 2, 1, 4, 3}},
        {.transposed = true, .epilogue = true, .width = 256, .tile = {2, 1, 1, 1, 4, 4}},
        {.element = Element::kBFloat16, .width = 128, .tile = {2, 2, 1, 1, 4, 3}},
        {.element = Element::kInt8, .transposed = true, .width = 256, .tile = {2, 1, 1, 1, 4, 4}}}) {
    GroupKernel large = kernel;
    large.m = large.n = large.k = 1024;
    const auto source = group_source(group_function(large, "k"));
    ASSERT_TRUE(source.ok()) << source.status();
    const absl::StatusOr<CudaCode> code = compile_cuda(source->text, hopper());
    ASSERT_TRUE(code.ok()) << code.status() << source->text;
    for (const auto& [name, resources] : code->resources) EXPECT_EQ(resources.spill_bytes, 0u) << name;
    EXPECT_FALSE(code->serializes_matrices);
    EXPECT_EQ(times_in(code->ptx, "wgmma.mma_async.sync.aligned"), kernel.tile.tiles_m * kernel.tile.steps);
    EXPECT_EQ(times_in(code->ptx, "wgmma.fence"), 1);
    EXPECT_EQ(times_in(code->ptx, "fence.proxy.async"), 1);
    EXPECT_EQ(times_in(code->ptx, "bar.sync"), 2);
    EXPECT_THAT(code->ptx, Not(HasSubstr(".local")));
  }
}

}  // namespace
}  // namespace tf::backends
