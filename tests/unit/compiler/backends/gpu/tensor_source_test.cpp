// Matrix instructions in CUDA C: on host threads against the interpreter, and compiled by NVRTC for each architecture.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/matrix_probes.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/backends/gpu/matrix_text.h"
#include "compiler/backends/opencl/opencl_dialect.h"
#include "compiler/recipes/gpu/tensor_product.h"
#include "tests/unit/compiler/backends/gpu/host_program.h"

namespace tf::backends {
namespace {

using tensor::Element;
using tensor_units::LaneMap;
using tensor_units::TensorUnit;
using ::testing::HasSubstr;

struct TensorKernel {
  const char* arch;
  Element a, b;
  int64_t m, n, k;
  bool transposed = false;
  recipes::TensorTile tile = {};
};

tensor::Workload tensor_workload(const TensorKernel& kernel) {
  ops::Builder b;
  const auto extents = [](int64_t rows, int64_t columns) {
    return std::vector<tensor::Expr>{tensor::imm(rows), tensor::imm(columns)};
  };
  const tensor::Buffer x = b.input("x", kernel.a, extents(kernel.m, kernel.k));
  const tensor::Buffer w = b.constant(
      "w", kernel.b, kernel.transposed ? extents(kernel.n, kernel.k) : extents(kernel.k, kernel.n));
  if (kernel.a == kernel.b) return *b.finish({ops::matmul(b, x, w, {.transpose_b = kernel.transposed})});
  const tensor::Type sum{Element::kInt32, 1};
  return *b.finish({b.reduce(
      "product", sum.element, extents(kernel.m, kernel.n), {tensor::imm(kernel.k)}, tensor::Combiner::kSum,
      [&](ops::Indices i, ops::Indices r) {
        const std::vector<tensor::Expr> right = {kernel.transposed ? i[1] : r[0],
                                                 kernel.transposed ? r[0] : i[1]};
        return tensor::cast(sum, tensor::load(x, {i[0], r[0]})) * tensor::cast(sum, tensor::load(w, right));
      })});
}

test::Case tensor_case(const TensorKernel& kernel, const std::string& name) {
  const tensor::Workload workload = tensor_workload(kernel);
  auto sketches = recipes::tensor_product_on_gpu(
      {.workload = workload, .target = *target::parse_target(absl::StrCat("cuda:arch=", kernel.arch))},
      kernel.tile);
  std::erase_if(sketches, [](const recipes::Sketch& sketch) { return sketch.family != "tensor product"; });
  EXPECT_EQ(sketches.size(), 1u);
  return {
      absl::StrCat(kernel.arch, " ", kernel.m, "x", kernel.n, "x", kernel.k),
      test::lowered(workload, recipes::instantiate(sketches.at(0), sketches.at(0).default_point()), name)};
}

absl::StatusOr<GpuSource> source_for(const ir::Function& function, const std::string& arch) {
  return gpu_source(function, *target::parse_target("cuda:arch=" + arch), cuda_dialect());
}

// --- On host threads.

std::string table_of(const LaneMap& map, const char* name) {
  std::string lanes, elements;
  for (int row = 0; row < map.rows; ++row) {
    for (int column = 0; column < map.columns; ++column) {
      absl::StrAppend(&lanes, map.lane_of(row, column), ", ");
      absl::StrAppend(&elements, map.element_of(row, column), ", ");
    }
  }
  return absl::StrCat("  static const int ", name, "_lane[] = {", lanes, "}, ", name, "_element[] = {",
                      elements, "};\n");
}

// What a lane's registers hold, as the C type of an element of that size.
std::string host_value(Element element, const std::string& registers, const std::string& index) {
  const char* type = element == Element::kFloat16    ? "_Float16"
                     : element == Element::kBFloat16 ? "TfBFloat"
                     : element == Element::kInt8     ? "signed char"
                     : element == Element::kUInt8    ? "unsigned char"
                     : element == Element::kFloat64  ? "double"
                                                     : "float";
  return absl::StrCat("((const ", type, "*)", registers, ")[", index, "]");
}

std::string host_matrices() {
  std::string text =
      "#define TF_HAS_MATRICES\n"
      "struct TfBFloat { unsigned short bits; operator float() const { return __uint_as_float(unsigned{bits} "
      "<< 16); } };\n";
  for (const int count : {1, 2, 4})
    for (const bool transposed : {false, true})
      absl::StrAppend(&text, "inline void tf_ldmatrix_x", count, transposed ? "_trans" : "",
                      "(unsigned* r, const void* line) { tf_load_matrices<", count, ", ",
                      transposed ? "true" : "false", ">(r, line); }\n");
  for (const TensorUnit& unit : tensor_units::tensor_units()) {
    if (unit.reads_shared) continue;
    const std::string c_type(value_type(cuda_dialect(), unit.c_element));
    const char *a_type = register_type(unit.a_element), *b_type = register_type(unit.b_element);
    absl::StrAppend(&text, "inline void tf_", std::string(unit.name), "(", c_type, "* c, const ", a_type,
                    "* a, const ", b_type, "* b) {\n", table_of(unit.a, "a"), table_of(unit.b, "b"),
                    table_of(unit.c, "c"), "  tf_show(a, b);\n", "  for (int i = 0; i < ", unit.m,
                    "; ++i) for (int j = 0; j < ", unit.n, "; ++j) {\n    const int at = i * ", unit.n,
                    " + j;\n    if (c_lane[at] != tf_lane()) continue;\n    for (int k = 0; k < ", unit.k,
                    "; ++k) {\n      const int p = i * ", unit.k, " + k, q = k * ", unit.n,
                    " + j;\n      c[c_element[at]] += ", c_type, "(",
                    host_value(unit.a_element, "tf_warp->shown[0][a_lane[p]]", "a_element[p]"), ") * ",
                    host_value(unit.b_element, "tf_warp->shown[1][b_lane[q]]", "b_element[q]"),
                    ";\n    }\n  }\n  tf_warp->meeting.arrive_and_wait();\n}\n");
  }
  return text;
}

const TensorKernel kHostKernels[] = {
    {"sm_80", Element::kFloat16, Element::kFloat16, 32, 32, 64, false, {1, 2, 2, 2, 2}},
    {"sm_80", Element::kFloat16, Element::kFloat16, 33, 17, 37, true, {2, 1, 1, 2, 1}},
    {"sm_75", Element::kFloat16, Element::kFloat16, 17, 24, 40, false, {1, 1, 2, 2, 2}},
    {"sm_89", Element::kBFloat16, Element::kBFloat16, 32, 16, 48, true, {1, 1, 2, 2, 1}},
    {"sm_80", Element::kInt8, Element::kInt8, 32, 16, 64, false, {1, 1, 2, 2, 2}},
    {"sm_75", Element::kInt8, Element::kInt8, 19, 21, 45, true, {1, 1, 2, 2, 2}},
    {"sm_80", Element::kUInt8, Element::kInt8, 16, 16, 96, true, {1, 1, 1, 1, 1}},
};

TEST(TensorSource, ComputesWhatTheInterpreterDoes) {
  std::vector<test::Host> all;
  for (const TensorKernel& kernel : kHostKernels) {
    test::Case each = tensor_case(kernel, absl::StrCat("tensor_", all.size()));
    absl::StatusOr<GpuSource> source = source_for(each.function, kernel.arch);
    ASSERT_TRUE(source.ok()) << source.status();
    all.push_back({std::move(each), *std::move(source)});
  }
  test::expect_host_agrees(all, host_matrices());
}

TEST(TensorSource, LoadsWholeLinesWhereTheyLieSo) {
  const auto text = [](const TensorKernel& kernel) {
    return source_for(tensor_case(kernel, "k").function, kernel.arch)->text;
  };
  const std::string plain = text({"sm_80", Element::kFloat16, Element::kFloat16, 64, 64, 64});
  EXPECT_THAT(plain, HasSubstr("tf_ldmatrix_x4("));
  EXPECT_THAT(plain, HasSubstr("tf_ldmatrix_x4_trans("));
  EXPECT_THAT(plain, HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"));
  EXPECT_THAT(text({"sm_80", Element::kFloat16, Element::kFloat16, 64, 64, 64, true}),
              HasSubstr("tf_ldmatrix_x4(p1_pack_pack_"));
  EXPECT_THAT(text({"sm_80", Element::kInt8, Element::kInt8, 64, 64, 64, false}),
              HasSubstr("tf_ldmatrix_x4(p1_pack_pack_"));
  EXPECT_THAT(text({"sm_75", Element::kFloat16, Element::kFloat16, 64, 64, 64}),
              HasSubstr("mma.sync.aligned.m16n8k8"));
}

TEST(TensorSource, RefusesWhatTheTargetDoesNotHave) {
  const test::Case newer = tensor_case(kHostKernels[0], "k");
  EXPECT_THAT(std::string(source_for(newer.function, "sm_75").status().message()),
              HasSubstr("mma_m16n8k16_f16 needs mma_k16, which sm_75 does not have"));
  EXPECT_THAT(
      std::string(
          gpu_source(newer.function, *target::parse_target("opencl"), opencl_dialect()).status().message()),
      HasSubstr("OpenCL C has no matrix instructions"));
}

// The table's own maps, on host threads that follow them: what the probes ask a GPU.
TEST(TensorSource, ProbesShowTheTable) {
  const std::vector<MatrixProbe> probes = matrix_probes(*target::parse_target("cuda:arch=sm_120"));
  const auto units = std::ranges::count(tensor_units::tensor_units(), false, &TensorUnit::reads_shared);
  EXPECT_EQ(probes.size(), static_cast<size_t>(units) + 6);
  std::string text = host_matrices();
  for (const MatrixProbe& probe : probes)
    absl::StrAppend(&text, "namespace n_", probe.entry, " {\n#define __shared__ static\n", probe.source,
                    "#undef __shared__\n#define __shared__\n}\nextern \"C\" void launch_", probe.entry,
                    "(void** b, const long long* grid, const long long* block) { tf_launch(n_", probe.entry,
                    "::", probe.entry, ", b, grid, block); }\n");
  void* library = test::host_library(text);
  ASSERT_NE(library, nullptr);
  for (const MatrixProbe& probe : probes) {
    SCOPED_TRACE(probe.name);
    test::Bytes out(probe.expected.size() * static_cast<size_t>(tensor::element_bytes(probe.element)), 0xff);
    test::start_on_host(library, probe.entry, {out.data()}, {1, 1, 1}, {32, 1, 1});
    for (size_t i = 0; i < probe.expected.size(); ++i) {
      const double got = probe.element == Element::kInt32 ? reinterpret_cast<const int32_t*>(out.data())[i]
                                                          : test::value_at(out, probe.element, i);
      ASSERT_EQ(got, probe.expected[i]) << i;
    }
  }
  dlclose(library);
}

// --- NVRTC.

int64_t count_of(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TEST(TensorSource, ProbesCompileForEachArchitecture) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const char* arch : {"sm_75", "sm_90a"}) {
    const target::Target target = *target::parse_target(absl::StrCat("cuda:arch=", arch));
    for (const MatrixProbe& probe : matrix_probes(target)) {
      const absl::StatusOr<CudaCode> code = compile_cuda(probe.source, target);
      ASSERT_TRUE(code.ok()) << probe.name << " for " << arch << ": " << code.status() << probe.source;
      EXPECT_GE(count_of(code->ptx, "ldmatrix.sync") + count_of(code->ptx, "mma.sync"), 1) << probe.name;
    }
  }
}

TEST(TensorSource, CompilesForEachArchitecture) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const char* arch : {"sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_120"}) {
    for (const auto& [element, transposed] :
         {std::pair(Element::kFloat16, false), {Element::kBFloat16, true}, {Element::kInt8, true}}) {
      const target::Target target = *target::parse_target(absl::StrCat("cuda:arch=", arch));
      if (element == Element::kBFloat16 && !target.has("mma_bf16")) continue;
      SCOPED_TRACE(absl::StrCat(arch, " ", std::string(tensor::element_name(element))));
      const test::Case kernel = tensor_case({arch, element, element, 1024, 1024, 256, transposed}, "k");
      const auto source = source_for(kernel.function, arch);
      ASSERT_TRUE(source.ok()) << source.status();
      const absl::StatusOr<CudaCode> code = compile_cuda(source->text, target);
      ASSERT_TRUE(code.ok()) << code.status() << source->text;
      for (const auto& [name, resources] : code->resources) EXPECT_EQ(resources.spill_bytes, 0u) << name;
      // 2 steps of 4 x 8 tiles of a warp; a load for each line of tiles, or for two that fill no more than 4 registers.
      const bool bytes = element == Element::kInt8;
      const TensorUnit& unit = *tensor_units::find_tensor_unit(
          target.has("mma_k16") ? (bytes ? "mma_m16n8k32_i8" : "mma_m16n8k16_f16")
                                : (bytes ? "mma_m8n8k16_i8" : "mma_m16n8k8_f16"));
      const auto loads = [type = element](const LaneMap& map, int tiles) {
        return map.elements() / tensor_units::elements_in_register(type) == 4 ? tiles : tiles / 2;
      };
      EXPECT_EQ(count_of(code->ptx, "mma.sync.aligned"), 2 * 4 * 8);
      EXPECT_EQ(count_of(code->ptx, "ldmatrix.sync.aligned"), 2 * (loads(unit.a, 4) + loads(unit.b, 8)));
      EXPECT_EQ(count_of(code->ptx, "bar.sync"), 2);
    }
  }
}

}  // namespace
}  // namespace tf::backends
