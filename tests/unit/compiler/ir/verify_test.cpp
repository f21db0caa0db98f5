#include "compiler/ir/verify.h"

#include "compiler/ir/parse.h"

namespace tf::ir {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;

std::string fault_of(std::string_view text, const Promises& promises = {}) {
  absl::StatusOr<Function> function = parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status();
  return function.ok() ? std::string(verify(*function, promises).message()) : "";
}

std::string fault_of(const Buffer& param, const Stmt& body) {
  return std::string(verify(Function{"f", {}, {param}, body}).message());
}

class Verify : public ::testing::Test {
 protected:
  Buffer a = tensor::buffer("a", Element::kFloat32, {tensor::imm(8)});
  Var i = tensor::var("i");
  Expr one = tensor::imm({Element::kFloat32, 1}, 1);
};

TEST_F(Verify, AcceptsWellFormedFunctions) {
  EXPECT_THAT(fault_of("function f(a: f32[8]) { for i = 0 extent 8 { a[i] = 1f32 } }"), Eq(""));
}

TEST_F(Verify, RejectsVariablesOutsideTheirScope) {
  EXPECT_THAT(fault_of(a, store(a, {i}, one)),
              HasSubstr("variable i is used outside its scope, in: a[i] = 1f32"));
  const Stmt loop = make_for(i, tensor::imm(0), tensor::imm(8), ForKind::kSerial, store(a, {i}, one));
  EXPECT_THAT(fault_of(a, seq({loop, store(a, {i}, one)})), HasSubstr("outside its scope"));
  EXPECT_THAT(fault_of(a, make_for(i, tensor::imm(0), tensor::imm(8), ForKind::kSerial, loop)),
              HasSubstr("variable i is defined again"));
  EXPECT_THAT(fault_of(a, seq({loop, loop})), Eq(""));
}

TEST_F(Verify, RejectsBuffersOutsideTheirScope) {
  const Buffer other = tensor::buffer("other", Element::kFloat32, {tensor::imm(8)});
  EXPECT_THAT(fault_of(a, store(other, {tensor::imm(0)}, one)),
              HasSubstr("buffer other is used outside its scope"));
}

TEST_F(Verify, RejectsTypesThatDoNotAgree) {
  EXPECT_THAT(fault_of(a, store(a, {tensor::imm(0)}, tensor::imm(1))),
              HasSubstr("i64 is stored to a of f32"));
  EXPECT_THAT(fault_of(a, store(a, {tensor::imm({Element::kInt32, 1}, 0)}, one)),
              HasSubstr("an index of a is i32"));
  EXPECT_THAT(
      fault_of(a, make_stmt<Store>(a, std::vector<Expr>{tensor::ramp(tensor::imm(0), tensor::imm(1), 4)},
                                   tensor::broadcast(one, 8))),
      HasSubstr("i64x4"));
  EXPECT_THAT(fault_of(a, make_stmt<If>(tensor::imm(1), store(a, {tensor::imm(0)}, one))),
              HasSubstr("scalar bool"));
  EXPECT_THAT(fault_of(a, make_stmt<Store>(a, std::vector<Expr>{tensor::imm(0), tensor::imm(0)}, one)),
              HasSubstr("a of rank 1 has 2 indices"));
}

TEST_F(Verify, RejectsDivisionByTheConstantZero) {
  EXPECT_THAT(
      fault_of(a, store(a, {tensor::make<Binary>(BinaryOp::kFloorDiv, tensor::imm(4), tensor::imm(0))}, one)),
      HasSubstr("division by the constant 0"));
}

TEST_F(Verify, AsksForPromisesOfLaterPassesOnlyWhenTold) {
  const char* loops = "function f(a: f32[8]) { for i = 0 extent 8 unrolled { a[i] = 1f32 } }";
  EXPECT_THAT(fault_of(loops), Eq(""));
  EXPECT_THAT(fault_of(loops, {.explicit_vectors = true}), HasSubstr("a loop is still unrolled"));
  const char* deep = "function f(a: f32[2, 4]) { a[0, 0] = 1f32 }";
  EXPECT_THAT(fault_of(deep), Eq(""));
  EXPECT_THAT(fault_of(deep, {.flat = true}), HasSubstr("buffer a is not flat"));
  const char* registers =
      "function f(a: f32[8]) { allocate r: f32[4] register for i = 0 extent 4 { r[i] = a[i] } a[0] = r[1] }";
  EXPECT_THAT(fault_of(registers), Eq(""));
  EXPECT_THAT(fault_of(registers, {.constant_registers = true}),
              HasSubstr("register buffer r is accessed at i"));
  EXPECT_THAT(fault_of("function f(a: f32[8]) { barrier }", {.for_cpu = true}),
              HasSubstr("a barrier is for GPUs"));
}

TEST_F(Verify, ChecksTheGpuNest) {
  EXPECT_THAT(
      fault_of("function f(a: f32[8]) { for t = 0 extent 8 thread_x { for u = 0 extent 1 thread_x { } } }"),
      HasSubstr("thread_x is inside another one"));
  EXPECT_THAT(
      fault_of("function f(a: f32[8]) { for t = 0 extent 8 thread_x { for u = 0 extent 1 grid_x { } } }"),
      HasSubstr("grid loop is inside a thread loop"));
  EXPECT_THAT(fault_of("function f(a: f32[8]) { allocate s: f32[8] async_copy s[0] from a[0] elements 4 }"),
              HasSubstr("from global to shared"));
}

}  // namespace
}  // namespace tf::ir
