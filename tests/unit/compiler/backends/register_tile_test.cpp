// What the inner loops of register tiles look like in assembly: a spill there is a bug.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/backends/llvm/inner_loop.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {
namespace {

using tensor::Buffer;
using tensor::Element;
using tensor::Expr;
using tensor::imm;

// C[rows, 16 * vectors] = A[rows, k] · B[k, 16 * vectors], accumulated in registers.
ir::Function gemm_tile(int rows, int vectors, int64_t k) {
  constexpr int kLanes = 16;
  int columns = kLanes * vectors;
  Buffer a = tensor::buffer("a", Element::kFloat32, {imm(rows * k)});
  Buffer b = tensor::buffer("b", Element::kFloat32, {imm(k * columns)});
  Buffer c = tensor::buffer("c", Element::kFloat32, {imm(int64_t{rows} * columns)});
  Buffer acc =
      tensor::buffer("acc", Element::kFloat32, {imm(int64_t{rows} * columns)}, tensor::Scope::kRegister);
  tensor::Var r = tensor::var("r");
  auto at = [&](const Expr& start) { return tensor::ramp(start, imm(1), kLanes); };
  std::vector<ir::Stmt> clear, step, write;
  for (int row = 0; row < rows; ++row) {
    for (int v = 0; v < vectors; ++v) {
      Expr place = at(imm(row * columns + v * kLanes));
      clear.push_back(ir::store(acc, {place}, tensor::imm(tensor::Type{Element::kFloat32, kLanes}, 0.0)));
      Expr left = tensor::broadcast(tensor::load(a, {imm(row * k) + r}), kLanes);
      Expr right = tensor::load(b, {at(Expr(r) * columns + v * kLanes)});
      step.push_back(ir::store(acc, {place}, tensor::load(acc, {place}) + left * right));
      write.push_back(ir::store(c, {place}, tensor::load(acc, {place})));
    }
  }
  std::vector<ir::Stmt> body = std::move(clear);
  body.push_back(ir::make_for(r, imm(0), imm(k), ir::ForKind::kSerial, ir::seq(step)));
  body.insert(body.end(), write.begin(), write.end());
  return {"kernel", {}, {a, b, c}, ir::make_stmt<ir::Allocate>(acc, ir::seq(body))};
}

struct Tile {
  const char* target;
  int rows, vectors;
  int fma, loads;  // a step
};

std::string name_of(const Tile& tile) {
  const std::string target = absl::StrReplaceAll(tile.target, {{":cpu=", "_"}, {"-", "_"}});
  return absl::StrCat(target, "_", tile.rows, "x", tile.vectors);
}

void PrintTo(const Tile& tile, std::ostream* out) {
  *out << name_of(tile);
}

class RegisterTile : public ::testing::TestWithParam<Tile> {};

TEST_P(RegisterTile, StaysInRegistersAndLoadsEachOperandOnce) {
  const Tile& tile = GetParam();
  absl::StatusOr<target::Target> target = target::parse_target(tile.target);
  ASSERT_TRUE(target.ok()) << target.status();
  absl::StatusOr<KernelCode> code =
      compile(gemm_tile(tile.rows, tile.vectors, 384), *target, {.assembly = true});
  ASSERT_TRUE(code.ok()) << code.status();
  const std::optional<InnerLoop> counts = inner_loop(code->assembly);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->fma, tile.fma) << code->assembly;
  EXPECT_EQ(counts->stack, 0) << code->assembly;
  EXPECT_EQ(counts->moves, 0) << code->assembly;
  EXPECT_LE(counts->loads, tile.loads) << code->assembly;
  EXPECT_LE(static_cast<int>(counts->instructions.size()), tile.fma + tile.loads + 4) << code->assembly;
}

// A step loads a broadcast a row and a vector a column vector. Sixteen lanes are two AVX2 registers or four
// of NEON, where a load may fill two.
INSTANTIATE_TEST_SUITE_P(
    Tiles, RegisterTile,
    ::testing::Values(Tile{"x86_64:cpu=znver4", 6, 4, 24, 10}, Tile{"x86_64:cpu=znver5", 14, 2, 28, 16},
                      Tile{"x86_64:cpu=skylake-avx512", 12, 2, 24, 14},
                      Tile{"x86_64:cpu=znver4", 8, 3, 24, 11}, Tile{"x86_64:cpu=haswell", 6, 1, 12, 8},
                      Tile{"x86_64:cpu=znver3", 4, 1, 8, 6}, Tile{"aarch64:cpu=cortex-a72", 4, 1, 16, 8},
                      Tile{"aarch64:cpu=neoverse-n1", 5, 1, 20, 9}),
    [](const auto& each) { return name_of(each.param); });

TEST(InnerLoop, IsTheOneWithTheMostMultiplyAdds) {
  const std::optional<InnerLoop> loop = inner_loop(
      ".LBB0_1:\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n\tjl\t.LBB0_1\n"
      ".LBB0_2:\n\tvmovups\t(%rax), %zmm1\n\tvfmadd231ps\t(%rcx){1to16}, %zmm1, %zmm2\n"
      "\tvfmadd231ps\t-64(%rsp), %zmm1, %zmm3\n\tvmovaps\t%zmm4, %zmm5\n\tjl\t.LBB0_2\n");
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->summary(), "2 FMAs, 3 loads (1.50 per FMA), 0 stores, 1 spills, 5 instructions");
  EXPECT_EQ(loop->moves, 1);
  EXPECT_FALSE(inner_loop("\tret\n"));
}

TEST(InnerLoop, IsNoRunOfInstructionsUpToAForwardBranch) {
  const std::string straight =
      ".LBB0_1:\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm3\n\tjl\t.LBB0_3\n";
  EXPECT_FALSE(inner_loop(straight + ".LBB0_3:\n\tret\n"));
  const std::optional<InnerLoop> loop =
      inner_loop(straight + ".LBB0_2:\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n\tjl\t.LBB0_2\n.LBB0_3:\n\tret\n");
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->fma, 1);
}

TEST(InnerLoop, MayHaveABranchInsideButNoLoop) {
  const std::optional<InnerLoop> loop = inner_loop(
      ".LBB0_1:\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n"
      ".LBB0_2:\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n\tje\t.LBB0_3\n\tvmovaps\t%zmm4, %zmm5\n"
      ".LBB0_3:\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n\tjl\t.LBB0_2\n"
      "\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n\tjl\t.LBB0_1\n");
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->summary(), "2 FMAs, 0 loads (0.00 per FMA), 0 stores, 0 spills, 5 instructions");
  EXPECT_EQ(loop->moves, 1);
}

TEST(InnerLoop, CountsDotProductsAndStoresApartFromLoads) {
  const std::optional<InnerLoop> x86 = inner_loop(
      ".LBB0_1:\n\tvpdpbusd\t(%rcx){1to16}, %zmm1, %zmm2\n\tvdpbf16ps\t%zmm0, %zmm1, %zmm2\n"
      "\tvmovups\t%zmm0, (%rax)\n\tvmovups\t%zmm0, 64(%rax) {%k1}\n\tvmovups\t(%rax), %zmm0 {%k1} {z}\n"
      "\tcmpq\t$8, (%rax)\n\tprefetcht0\t(%rax)\n\tjl\t.LBB0_1\n");
  ASSERT_TRUE(x86);
  EXPECT_EQ(x86->summary(), "2 FMAs, 3 loads (1.50 per FMA), 2 stores, 0 spills, 8 instructions");
  const std::optional<InnerLoop> arm = inner_loop(
      ".LBB0_1:\n\tldr\tq0, [x1, #16]\n\tsdot\tv0.4s, v1.16b, v2.4b[0]\n\tfmla\tv0.4s, v1.4s, v2.s[1]\n"
      "\tstp\tq0, q1, [x2]\n\ttbnz\tw0, #3, .LBB0_1\n");
  ASSERT_TRUE(arm);
  EXPECT_EQ(arm->summary(), "2 FMAs, 1 loads (0.50 per FMA), 1 stores, 0 spills, 5 instructions");
}

TEST(RegisterTileCode, HasTheSameDigestUnderAnotherNameAndAnotherForOtherCode) {
  absl::StatusOr<target::Target> target = target::parse_target("x86_64:cpu=znver4");
  ASSERT_TRUE(target.ok());
  ir::Function function = gemm_tile(4, 2, 100);
  absl::StatusOr<KernelCode> first = compile(function, *target);
  function.name = "another_name_of_it";
  absl::StatusOr<KernelCode> second = compile(function, *target);
  absl::StatusOr<KernelCode> third = compile(gemm_tile(4, 2, 101), *target);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_EQ(first->code_digest, second->code_digest);
  EXPECT_NE(first->code_digest, third->code_digest);
}

}  // namespace
}  // namespace tf::backends
