// Statements of matrix instructions: text, what is legal, what they compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/ir/equal.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/ir/ir_checks.h"

namespace tf::ir {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kProduct =
    R"(function product(A: f16[16, 16], B: f16[16, 8], C: f32[16, 8]) {
  for t = 0 extent 32 thread_x {
    allocate c: f32[16, 8] fragment
    matrix zero mma_m16n8k16_f16 c[0, 0] rows 1, 0 columns 0, 1
    allocate a: f16[16, 16] fragment
    matrix load_a mma_m16n8k16_f16 a[0, 0] rows 1, 0 columns 0, 1 A[0, 0] rows 1, 0 columns 0, 1
    allocate b: f16[16, 8] fragment
    matrix load_b mma_m16n8k16_f16 b[0, 0] rows 1, 0 columns 0, 1 B[0, 0] rows 1, 0 columns 0, 1
    matrix multiply mma_m16n8k16_f16 c[0, 0] rows 1, 0 columns 0, 1 a[0, 0] rows 1, 0 columns 0, 1 b[0, 0] rows 1, 0 columns 0, 1
    for e = 0 extent 4 unrolled {
      C[t // 4 + e // 2 * 8, t % 4 * 2 + e % 2] = c[t // 4 + e // 2 * 8, t % 4 * 2 + e % 2]
    }
  }
}
)";

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kProduct);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string matrix_fault(std::string_view from, std::string_view to, const Promises& promises = {}) {
  const absl::StatusOr<Function> function = parse_function(replaced(from, to));
  return std::string(function.ok() ? verify(*function, promises).message() : function.status().message());
}

TEST(Matrix, PrintsWhatItParsed) {
  const absl::StatusOr<Function> function = parse_function(kProduct);
  ASSERT_TRUE(function.ok()) << function.status();
  EXPECT_EQ(to_string(*function), std::string(kProduct));
  tf::test::check_round_trip(*function);
}

TEST(Matrix, DiffersByUnitAndPlace) {
  const Function one = *parse_function(kProduct);
  for (const auto& [from, to] : {std::pair("A[0, 0] rows 1", "A[1, 0] rows 1"),
                                 {"A[0, 0] rows 1, 0", "A[0, 0] rows 0, 1"},
                                 {"zero mma_m16n8k16_f16", "zero mma_m16n8k8_f16"}}) {
    const Function other = *parse_function(replaced(from, to));
    EXPECT_FALSE(equal(one, other)) << to;
    EXPECT_NE(hash(one), hash(other)) << to;
  }
}

TEST(Matrix, SaysWhatIsIllegal) {
  EXPECT_EQ(matrix_fault("zero", "zero"), "");
  EXPECT_THAT(matrix_fault("zero mma_m16n8k16_f16", "zero mma_m1n1k1_f16"),
              HasSubstr("'mma_m1n1k1_f16' is not a matrix instruction"));
  EXPECT_THAT(matrix_fault("matrix zero", "matrix one"), HasSubstr("is not zero, load_a, load_b, multiply"));
  EXPECT_THAT(matrix_fault("load_a mma_m16n8k16_f16", "load_a mma_m16n8k16_bf16"),
              HasSubstr("a has other elements than mma_m16n8k16_bf16 takes there"));
  EXPECT_THAT(matrix_fault("c: f32[16, 8] fragment", "c: f32[16, 8] shared"), HasSubstr("c is shared"));
  EXPECT_THAT(matrix_fault("zero", "zero", {.for_cpu = true}), HasSubstr("for GPUs"));
}

// --- Run.

// One tile, each lane storing what it holds of c; the fragments as the lanes' own registers, or as the warp's tiles.
std::string one_tile(const tensor_units::TensorUnit& u, bool in_registers) {
  const auto fragment = [&](const char* name, const tensor_units::LaneMap& map, tensor::Element element) {
    return absl::StrCat(
        "allocate ", name, ": ", std::string(tensor::element_name(element)), "[",
        in_registers ? absl::StrCat(map.elements()) : absl::StrCat(map.rows, ", ", map.columns), "] ",
        in_registers ? "register" : "fragment", "\n");
  };
  const auto tile = [&](const char* name) {
    return absl::StrCat(name, in_registers ? "[0] rows 0 columns 0" : "[0, 0] rows 1, 0 columns 0, 1");
  };
  const auto matrix = [&](const char* action) {
    return absl::StrCat("matrix ", action, " ", std::string(u.name), " ");
  };
  const auto param = [](const char* name, tensor::Element element, int rows, int columns) {
    return absl::StrCat(name, ": ", std::string(tensor::element_name(element)), "[", rows, ", ", columns,
                        "]");
  };
  const std::string row = u.m == 16 ? "t // 4 + e // 2 * 8" : "t // 4", column = "t % 4 * 2 + e % 2";
  return absl::StrCat(
      "function product(", param("A", u.a_element, u.m, u.k), ", ", param("B", u.b_element, u.k, u.n), ", ",
      param("C", u.c_element, u.m, u.n), ") {\nfor t = 0 extent 32 thread_x {\n",
      fragment("c", u.c, u.c_element), fragment("a", u.a, u.a_element), fragment("b", u.b, u.b_element),
      matrix("zero"), tile("c"), "\n", matrix("load_a"), tile("a"), " A[0, 0] rows 1, 0 columns 0, 1\n",
      matrix("load_b"), tile("b"), " B[0, 0] rows 1, 0 columns 0, 1\n", matrix("multiply"), tile("c"), " ",
      tile("a"), " ", tile("b"), "\nfor e = 0 extent ", u.c.elements(), " { C[", row, ", ", column, "] = c[",
      in_registers ? "e" : absl::StrCat(row, ", ", column), "] } } }");
}

// Small numbers, exact in each type; 17 distinct rows and columns would not hide a transposed tile.
double number_at(int row, int column) {
  return (row * 5 + column * 3) % 11;
}

std::vector<double> matrix_of(int rows, int columns) {
  std::vector<double> values;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) values.push_back(number_at(i, j));
  return values;
}

TEST(Matrix, ComputesTheProductOfEachUnit) {
  for (const tensor_units::TensorUnit& u : tensor_units::tensor_units()) {
    if (u.reads_shared) continue;  // group_matrix_test.cpp
    for (const bool in_registers : {false, true}) {
      SCOPED_TRACE(u.name);
      const absl::StatusOr<Function> function = parse_function(one_tile(u, in_registers));
      ASSERT_TRUE(function.ok()) << function.status() << one_tile(u, in_registers);
      tf::test::check_round_trip(*function);
      const auto values = tf::test::interpret_values(
          *function, {matrix_of(u.m, u.k), matrix_of(u.k, u.n), matrix_of(u.m, u.n)});
      ASSERT_TRUE(values.ok()) << values.status();
      for (int i = 0; i < u.m; ++i) {
        for (int j = 0; j < u.n; ++j) {
          double want = 0;
          for (int k = 0; k < u.k; ++k) want += number_at(i, k) * number_at(k, j);
          EXPECT_EQ((*values)[2][static_cast<size_t>(i * u.n + j)], want) << i << ", " << j;
        }
      }
    }
  }
}

absl::Status run_product(const std::string& text) {
  const absl::StatusOr<Function> function = parse_function(text);
  if (!function.ok()) return function.status();
  return tf::test::interpret_values(*function, {matrix_of(16, 16), matrix_of(16, 8), matrix_of(16, 8)})
      .status();
}

TEST(Matrix, FindsMistakesOfLanes) {
  EXPECT_TRUE(run_product(std::string(kProduct)).ok()) << run_product(std::string(kProduct));
  EXPECT_THAT(std::string(run_product(replaced("= c[t // 4", "= c[t // 8")).message()),
              HasSubstr("lane 4 touches row 0 and column 0 of fragment c, which lane 0 holds"));
  EXPECT_THAT(std::string(run_product(replaced("a[0, 0] rows 1, 0 columns 0, 1 A[0, 0]",
                                               "a[0, 0] rows 1, 0 columns 0, 1 A[t // 16, 0]"))
                              .message()),
              HasSubstr("lanes of a warp give different places of a tile of A"));
  EXPECT_THAT(std::string(run_product(replaced("extent 32 thread_x", "extent 16 thread_x")).message()),
              HasSubstr("a warp has 32"));
  EXPECT_THAT(
      std::string(
          run_product(replaced("  for t = 0 extent 32 thread_x {", "  for t = 0 extent 32 {")).message()),
      HasSubstr("outside of thread loops"));
}

}  // namespace
}  // namespace tf::ir
