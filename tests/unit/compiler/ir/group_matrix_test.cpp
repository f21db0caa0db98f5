// Matrix instructions of four warps, which read shared memory and run asynchronously: what they compute, and what goes wrong
// without their fences and waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/passes/passes.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/ir/ir_checks.h"

namespace tf::ir {
namespace {

using tensor_units::TensorUnit;
using ::testing::HasSubstr;

constexpr char kGroupRow[] = "t // 32 * 16 + t // 4 % 8 + e // 2 % 2 * 8",
               kGroupColumn[] = "t % 4 * 2 + e % 2 + e // 4 * 8";

struct FactorLines {
  bool a_terms = true, b_terms = false;  // else of rows of a, columns of b
};

// c = a · b, by as many instructions as there are in a line of terms, in the four warps of a block.
std::string group_product(const TensorUnit& u, const FactorLines& lines) {
  const int bytes = tensor::element_bytes(u.a_element), line = 128 / bytes, terms = line;
  const auto element = [](tensor::Element e) { return std::string(tensor::element_name(e)); };
  const auto swizzle = tensor_units::line_swizzle(u.a_element);
  const auto layout = [&](bool rows_in_lines) {
    return absl::StrCat(" shared layout \"", rows_in_lines ? "0,1,0:" : "1,0,1:", line, "^", swizzle.bits,
                        ":", swizzle.base, ":", swizzle.shift, "\"\n");
  };
  const std::string name(u.name), tile = " rows 1, 0 columns 0, 1";
  const auto copy = [&](const char* to, const char* from, int rows, int columns) {
    return absl::StrCat("for s = 0 extent ", rows * columns / 128, " { ", to, "[(s * 128 + t) // ", columns,
                        ", (s * 128 + t) % ", columns, "] = ", from, "[(s * 128 + t) // ", columns,
                        ", (s * 128 + t) % ", columns, "] }\n");
  };
  return absl::StrCat("function product(A: ", element(u.a_element), "[64, ", terms,
                      "], B: ", element(u.b_element), "[", terms, ", ", u.n, "], C: ", element(u.c_element),
                      "[64, ", u.n, "]) {\nfor t = 0 extent 128 thread_x {\n",
                      "allocate a: ", element(u.a_element), "[64, ", terms, "]", layout(!lines.a_terms),
                      "allocate b: ", element(u.b_element), "[", terms, ", ", u.n, "]", layout(lines.b_terms),
                      "allocate c: ", element(u.c_element), "[64, ", u.n, "] fragment\n",
                      copy("a", "A", 64, terms), copy("b", "B", terms, u.n), "matrix publish ", name,
                      "\nbarrier\nmatrix zero ", name, " c[0, 0]", tile, "\nmatrix fence ", name, " c[0, 0]",
                      tile, "\nfor k = 0 extent ", terms / u.k, " { matrix multiply ", name, " c[0, 0]", tile,
                      " a[0, k * ", u.k, "]", tile, " b[k * ", u.k, ", 0]", tile, " }\nmatrix wait ", name,
                      " 0 c[0, 0]", tile, "\nfor e = 0 extent ", u.c.elements(), " { C[", kGroupRow, ", ",
                      kGroupColumn, "] = c[", kGroupRow, ", ", kGroupColumn, "] }\n} }");
}

double factor_at(int row, int column) {
  return (row * 5 + column * 3) % 11 - 3;
}

std::vector<double> factor_of(int rows, int columns) {
  std::vector<double> values;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) values.push_back(factor_at(i, j));
  return values;
}

void check_group_product(const Function& function, const TensorUnit& u) {
  const int terms = 128 / tensor::element_bytes(u.a_element);
  const auto values = tf::test::interpret_values(
      function,
      {factor_of(64, terms), factor_of(terms, u.n), std::vector<double>(64 * static_cast<size_t>(u.n))});
  ASSERT_TRUE(values.ok()) << values.status();
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < u.n; ++j) {
      double want = 0;
      for (int k = 0; k < terms; ++k) want += factor_at(i, k) * factor_at(k, j);
      ASSERT_EQ((*values)[2][static_cast<size_t>(i) * static_cast<size_t>(u.n) + static_cast<size_t>(j)],
                want)
          << i << ", " << j;
    }
  }
}

TEST(GroupMatrix, ComputesTheProductOfEachUnitFromEachLayout) {
  for (const TensorUnit& u : tensor_units::tensor_units()) {
    if (!u.reads_shared || u.n == 256) continue;
    const bool any_lines = tensor::element_bytes(u.a_element) == 2;
    for (const FactorLines& lines : {FactorLines{true, true}, {true, false}, {false, false}, {false, true}}) {
      if (!any_lines && !(lines.a_terms && lines.b_terms)) continue;
      SCOPED_TRACE(absl::StrCat(std::string(u.name), lines.a_terms, lines.b_terms));
      const absl::StatusOr<Function> function = parse_function(group_product(u, lines));
      ASSERT_TRUE(function.ok()) << function.status() << group_product(u, lines);
      tf::test::check_round_trip(*function);
      ASSERT_TRUE(verify(*function).ok()) << verify(*function);
      ASSERT_NO_FATAL_FAILURE(check_group_product(*function, u));
    }
  }
}

absl::Status run_group(const std::string& text) {
  const absl::StatusOr<Function> function = parse_function(text);
  if (!function.ok()) return function.status();
  if (absl::Status legal = verify(*function); !legal.ok()) return legal;
  return tf::test::interpret_values(*function,
                                    {factor_of(64, 64), factor_of(64, 64), std::vector<double>(4096)})
      .status();
}

std::string group_fault(const std::string& from, const std::string& to) {
  const TensorUnit& unit = *tensor_units::find_tensor_unit("wgmma_m64n64k16_f16");
  const std::string text = group_product(unit, {}), other = absl::StrReplaceAll(text, {{from, to}});
  EXPECT_NE(text, other) << from;
  return std::string(run_group(other).message());
}

constexpr char kGroupWait[] = "matrix wait wgmma_m64n64k16_f16 0 c[0, 0] rows 1, 0 columns 0, 1\n";
constexpr char kGroupFence[] = "matrix fence wgmma_m64n64k16_f16 c[0, 0] rows 1, 0 columns 0, 1\n";

TEST(GroupMatrix, FindsWhatIsNotWaitedFor) {
  EXPECT_EQ(group_fault("barrier\n", "barrier\nbarrier\n"), "");
  EXPECT_THAT(group_fault(kGroupWait, ""),
              HasSubstr("reads element c[0], which a matrix statement still computes"));
  EXPECT_THAT(group_fault(" 0 c[0, 0]", " 1 c[0, 0]"), HasSubstr("which a matrix statement still computes"));
  EXPECT_THAT(group_fault(kGroupWait, absl::StrCat("a[t // 2, 0] = 1f16\n", kGroupWait)),
              HasSubstr("which a matrix statement still reads: wait for it first"));
  // The others may still wait for theirs.
  EXPECT_THAT(group_fault(kGroupWait, absl::StrCat(kGroupWait, "a[t // 2, t % 2] = 1f16\n")),
              HasSubstr("race"));
  EXPECT_EQ(group_fault(kGroupWait, absl::StrCat(kGroupWait, "barrier\na[t // 2, t % 2] = 1f16\n")), "");
  EXPECT_THAT(group_fault(kGroupWait, "matrix zero wgmma_m64n64k16_f16 c[0, 0] rows 1, 0 columns 0, 1\n"),
              HasSubstr("writes element c[0], which a matrix statement still computes"));
}

TEST(GroupMatrix, FindsMissingFences) {
  EXPECT_THAT(group_fault(kGroupFence, ""), HasSubstr("c[0], which others touched with no fence in between"));
  const char* written = "wrote and did not publish before a barrier";
  EXPECT_THAT(group_fault("matrix publish wgmma_m64n64k16_f16\n", ""), HasSubstr(written));
  EXPECT_THAT(group_fault("matrix publish wgmma_m64n64k16_f16\nbarrier\n",
                          "barrier\nmatrix publish wgmma_m64n64k16_f16\n"),
              HasSubstr(written));
  EXPECT_THAT(group_fault("matrix publish wgmma_m64n64k16_f16\n",
                          "if t < 127 { matrix publish wgmma_m64n64k16_f16 }\n"),
              HasSubstr("thread (127, 0, 0) wrote"));
  EXPECT_THAT(
      group_fault("matrix publish wgmma_m64n64k16_f16\nbarrier\n", "matrix publish wgmma_m64n64k16_f16\n"),
      HasSubstr(written));
}

TEST(GroupMatrix, IsOfFourWarps) {
  EXPECT_THAT(group_fault("extent 128 thread_x", "extent 96 thread_x"),
              HasSubstr("4 whole warps runs in 96 threads"));
  EXPECT_THAT(group_fault("matrix fence", "if t < 64 { barrier }\nmatrix fence"),
              HasSubstr("differs between threads"));
  EXPECT_THAT(group_fault("= c[t // 32", "= c[t // 64"), HasSubstr("which lane 0 holds"));
}

TEST(GroupMatrix, SaysWhatIsIllegal) {
  EXPECT_THAT(group_fault("matrix zero", "matrix load_a"), HasSubstr("expected"));
  EXPECT_THAT(group_fault("wgmma_m64n64k16_f16 0 c", "wgmma_m64n64k16_f16 9 c"), HasSubstr("from 0 to 7"));
  EXPECT_THAT(group_fault("publish wgmma_m64n64k16_f16", "publish mma_m16n8k16_f16"),
              HasSubstr("mma_m16n8k16_f16 does not read shared memory: it has no publish"));
  EXPECT_THAT(
      group_fault("allocate a: f16[64, 64] shared layout \"1,0,1:64^3:3:3\"", "allocate a: f16[64, 64]"),
      HasSubstr("wgmma_m64n64k16_f16 reads shared memory; a is global"));
  EXPECT_THAT(group_fault("A: f16[64, 64]", "A: f16[64, 64] layout \"0,1^3:3:3\""),
              HasSubstr("only shared memory is"));
}

}  // namespace
}  // namespace tf::ir
