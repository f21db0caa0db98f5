#include "compiler/ir/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_replace.h"
#include "compiler/ir/parse.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/ir/ir_checks.h"

namespace tf::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::tf::test::check_round_trip;
using ::tf::test::interpret_values;

using Values = std::vector<std::vector<double>>;

Function round_tripped(std::string_view text) {
  absl::StatusOr<Function> function = parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status();
  if (!function.ok()) return {"empty", {}, {}, seq({})};
  check_round_trip(*function);
  return *function;
}

// The last parameter after a run.
std::vector<double> run(std::string_view text, Values params, std::vector<int64_t> dims = {}) {
  const Function function = round_tripped(text);
  if (function.params.size() != params.size()) return {};
  absl::StatusOr<Values> out = interpret_values(function, std::move(params), dims);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? out->back() : std::vector<double>{};
}

absl::Status fault(std::string_view text, Values params, std::vector<int64_t> dims = {}) {
  return interpret_values(round_tripped(text), std::move(params), dims).status();
}

TEST(Interpret, RunsAMatrixMultiplication) {
  EXPECT_THAT(run(R"(function matmul[n](a: f32[n, 2], b: f32[2, 2], c: f32[n, 2]) {
                       for i = 0 extent n parallel {
                         allocate sum: f32[2] register
                         sum[ramp(0, 1, 2)] = broadcast(0f32, 2)
                         for k = 0 extent 2 {
                           sum[ramp(0, 1, 2)] = fma(broadcast(a[i, k], 2), b[k, ramp(0, 1, 2)], sum[ramp(0, 1, 2)])
                         }
                         c[i, ramp(0, 1, 2)] = sum[ramp(0, 1, 2)]
                       }
                     })",
                  {{1, 2, 3, 4, 5, 6}, {1, 10, 100, 1000}, std::vector<double>(6)}, {3}),
              ElementsAre(201, 2010, 403, 4030, 605, 6050));
}

TEST(Interpret, RoundsDivisionTowardsMinusInfinity) {
  EXPECT_THAT(run("function f(a: i64[4], b: i64[4], q: i64[8]) { for i = 0 extent 4 { q[i] = a[i] // b[i] "
                  "q[i + 4] = a[i] % b[i] } }",
                  {{-1, 7, -7, 7}, {4, 2, 2, -2}, std::vector<double>(8)}),
              ElementsAre(-1, 3, -4, -4, 3, 1, 1, -1));
}

TEST(Interpret, WrapsNarrowIntegers) {
  EXPECT_THAT(
      run("function f(a: i8[3]) { a[0] = a[0] + a[1] a[1] = -a[2] a[2] = abs(a[2]) }", {{127, 1, -128}}),
      ElementsAre(-128, -128, -128));
  EXPECT_THAT(run("function f(a: u8[2]) { a[0] = a[0] - a[1] a[1] = a[0] * a[1] }", {{1, 2}}),
              ElementsAre(255, 254));
  EXPECT_THAT(run("function f(a: i32[1]) { a[0] = a[0] * a[0] }", {{65537}}), ElementsAre(131073));
}

TEST(Interpret, RoundsEveryFloatFormat) {
  EXPECT_THAT(run("function f(a: f16[2]) { a[0] = a[0] + a[1] }", {{2048, 1}}), ElementsAre(2048, 1));
  EXPECT_THAT(run("function f(a: f16[2]) { a[0] = a[0] * a[1] }", {{60000, 2}}),
              ElementsAre(std::numeric_limits<double>::infinity(), 2));
  EXPECT_THAT(run("function f(a: bf16[2]) { a[0] = a[0] + a[1] }", {{256, 1}}), ElementsAre(256, 1));
  EXPECT_THAT(run("function f(a: f32[2]) { a[0] = a[0] + a[1] }", {{16777216, 1}}), ElementsAre(16777216, 1));
  EXPECT_THAT(run("function f(a: f64[2]) { a[0] = a[0] + a[1] }", {{16777216, 1}}), ElementsAre(16777217, 1));
  EXPECT_THAT(run("function f(a: f16[4], b: f16[4]) { for i = 0 extent 4 { b[i] = a[i] } }",
                  {{0x1p-24, -0x1p-14, 65504, 0.5}, std::vector<double>(4)}),
              ElementsAre(0x1p-24, -0x1p-14, 65504, 0.5));
}

TEST(Interpret, GivesNanFromMinAndMaxWhereOneOperandIsNan) {
  const double nan = std::nan("");
  EXPECT_THAT(
      run("function f(a: f32[2], b: f32[4]) { b[0] = min(a[0], a[1]) b[1] = max(a[0], a[1]) "
          "b[2] = min(a[1], a[0]) b[3] = select(a[0] == a[0], 1f32, select(a[0] != a[0], 2f32, 3f32)) }",
          {{nan, 1}, std::vector<double>(4)}),
      ElementsAre(IsNan(), IsNan(), IsNan(), 2));
}

TEST(Interpret, CastsByValue) {
  EXPECT_THAT(run("function f(a: f32[4], b: i32[4]) { for i = 0 extent 4 { b[i] = cast<i32>(a[i]) } }",
                  {{-1.9, 1.9, 1e20, std::nan("")}, std::vector<double>(4)}),
              ElementsAre(-1, 1, 2147483647, 0));
  EXPECT_THAT(run("function f(a: i32[3], b: i8[3]) { for i = 0 extent 3 { b[i] = cast<i8>(a[i]) } }",
                  {{300, -1, 128}, std::vector<double>(3)}),
              ElementsAre(44, -1, -128));
  EXPECT_THAT(run("function f(a: f32[3], b: bool[3]) { for i = 0 extent 3 { b[i] = cast<bool>(a[i]) } }",
                  {{0, 0.25, -3}, std::vector<double>(3)}),
              ElementsAre(0, 1, 1));
}

TEST(Interpret, ComputesIntrinsicsAndReductions) {
  const std::vector<double> out = run(
      "function f(a: f32[4], b: f32[8]) { b[0] = exp(a[0]) b[1] = tanh(a[1]) b[2] = reduce_add(a[ramp(0, 1, "
      "4)]) "
      "b[3] = reduce_max(a[ramp(0, 1, 4)]) b[4] = round(a[2]) b[5] = pow(a[1], a[3]) b[6] = sigmoid(a[0]) "
      "b[7] = reduce_min(a[ramp(3, -1, 4)]) }",
      {{0, 0.5, 2.5, 2}, std::vector<double>(8)});
  EXPECT_THAT(out, ElementsAre(1, ::testing::DoubleNear(std::tanh(0.5), 1e-7), 5, 2.5, 2, 0.25, 0.5, 0));
}

TEST(Interpret, DoesNotLoadOnTheSideThatSelectRefuses) {
  EXPECT_THAT(run("function f(a: f32[4], b: f32[8]) { for i = 0 extent 8 { "
                  "b[i] = select(2 <= i && i < 6, a[i - 2], 0f32) } }",
                  {{1, 2, 3, 4}, std::vector<double>(8)}),
              ElementsAre(0, 0, 1, 2, 3, 4, 0, 0));
  EXPECT_THAT(
      run("function f(a: f32[4], b: f32[8]) { b[ramp(0, 1, 8)] = select("
          "ramp(0, 1, 8) < broadcast(4, 8), a[ramp(0, 1, 8)], a[ramp(-4, 1, 8)] * broadcast(2f32, 8)) }",
          {{1, 2, 3, 4}, std::vector<double>(8)}),
      ElementsAre(1, 2, 3, 4, 2, 4, 6, 8));
}

TEST(Interpret, MasksLanesOfLoadsAndStores) {
  EXPECT_THAT(run("function f(a: f32[3], b: f32[4]) { b[ramp(0, 1, 4)] = "
                  "(a[ramp(0, 1, 4)] if ramp(0, 1, 4) < broadcast(3, 4)) + broadcast(1f32, 4) "
                  "where ramp(0, 1, 4) != broadcast(1, 4) }",
                  {{1, 2, 3}, {9, 9, 9, 9}}),
              ElementsAre(2, 9, 4, 1));
}

TEST(Interpret, WritesOverlappingLanesInOrder) {
  EXPECT_THAT(run("function f(a: i64[2]) { a[broadcast(1, 4)] = ramp(5, 1, 4) }", {{0, 0}}),
              ElementsAre(0, 8));
}

TEST(Interpret, FollowsBlockedLayouts) {
  const Layout layout = *Layout::parse("1,0,1:2", 2);
  const std::vector<int64_t> extents = {2, 3};
  const std::vector<double> plain = {1, 2, 3, 4, 5, 6};
  const std::vector<double> packed = ::tf::test::pack(layout, extents, plain);
  EXPECT_THAT(packed, ElementsAre(1, 2, 4, 5, 3, 0, 6, 0));
  EXPECT_THAT(run("function f(a: f32[2, 3] layout \"1,0,1:2\", b: f32[2, 3]) { for i = 0 extent 2 { for j = "
                  "0 extent 3 "
                  "{ b[i, j] = a[i, j] } } }",
                  {packed, std::vector<double>(6)}),
              ElementsAre(1, 2, 3, 4, 5, 6));
  // One index on a buffer of another rank is the physical offset.
  EXPECT_THAT(run("function f(a: f32[2, 3] layout \"1,0,1:2\", b: f32[1]) { b[0] = a[6] }", {packed, {0}}),
              ElementsAre(6));
}

TEST(Interpret, SwizzlesSharedMemoryConsistently) {
  // Row r holds its column c at c ^ r: read back through the physical offsets.
  EXPECT_THAT(
      run("function f(a: i64[16]) { allocate s: i64[4, 4] shared layout \"0,1^2:0:2\" for i = 0 extent 4 { "
          "for j = 0 extent 4 { s[i, j] = i * 10 + j } } for k = 0 extent 16 { a[k] = s[k] } }",
          {std::vector<double>(16)}),
      ElementsAre(0, 1, 2, 3, 11, 10, 13, 12, 22, 23, 20, 21, 33, 32, 31, 30));
}

TEST(Interpret, RunsThreadsInStepBetweenBarriers) {
  // Each thread reads what its neighbour wrote before the barrier, in a loop.
  EXPECT_THAT(run(R"(function f(a: i64[4], b: i64[4]) {
                       for g = 0 extent 1 grid_x {
                         allocate s: i64[4] shared
                         for t = 0 extent 4 thread_x {
                           allocate mine: i64[1] register
                           mine[0] = a[t]
                           for round = 0 extent 2 {
                             s[t] = mine[0]
                             barrier
                             mine[0] = s[(t + 1) % 4]
                             barrier
                           }
                           b[t] = mine[0]
                         }
                       }
                     })",
                  {{10, 11, 12, 13}, std::vector<double>(4)}),
              ElementsAre(12, 13, 10, 11));
}

TEST(Interpret, RefusesABarrierThatNotAllThreadsReach) {
  const absl::Status status =
      fault("function f(a: i64[4]) { for t = 0 extent 4 thread_x { if t < 2 { barrier } } }", {{0, 0, 0, 0}});
  EXPECT_THAT(status.code(), Eq(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(status.message()), HasSubstr("differs between threads"));
}

TEST(Interpret, CopiesAsynchronouslyAtOnce) {
  EXPECT_THAT(
      run("function f(a: f16[8], b: f16[4]) { allocate s: f16[4] shared async_copy s[0] from a[2] elements 4 "
          "async_wait 0 for i = 0 extent 4 { b[i] = s[i] } }",
          {{0, 1, 2, 3, 4, 5, 6, 7}, std::vector<double>(4)}),
      ElementsAre(2, 3, 4, 5));
}

TEST(Interpret, ShowsReadsOfWhatWasNeverWritten) {
  EXPECT_THAT(run("function f(a: f32[1]) { allocate t: f32[4] a[0] = t[2] }", {{1}}), ElementsAre(IsNan()));
}

TEST(Interpret, NamesTheFirstAccessOutsideABuffer) {
  const absl::Status status = fault(
      "function f(a: f32[4, 5], b: f32[9]) { for i = 0 extent 4 { for j = 0 extent 9 { b[j] = a[i, j] } } }",
      {std::vector<double>(20), std::vector<double>(9)});
  EXPECT_THAT(status.code(), Eq(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("load of a: index 1 is 5, outside [0, 5) at i=0, j=5"));
}

TEST(Interpret, ChecksEveryLaneOfAStore) {
  const absl::Status status = fault(
      "function f(a: f32[6]) { a[ramp(-1, 1, 8)] = broadcast(1f32, 8) where ramp(0, 1, 8) != broadcast(0, 8) "
      "}",
      {std::vector<double>(6)});
  EXPECT_THAT(std::string(status.message()), HasSubstr("store to a: index 0 is 6, outside [0, 6), lane 7"));
}

TEST(Interpret, ReportsAnIndexDividedByZeroUnlessSelectRefusesIt) {
  EXPECT_THAT(fault("function f[n](a: i64[2]) { a[0] = 4 // n }", {{4, 0}}, {0}).code(),
              Eq(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(run("function f[n](a: i64[2]) { a[0] = select(n != 0, 4 // n, 7) }", {{4, 0}}, {0}),
              ElementsAre(7, 0));
}

TEST(Interpret, DividesDataByAnything) {
  const char* text =
      "function f(a: TYPE[3], q: TYPE[3], r: TYPE[3]) {\n  for i = 0 extent 3 {\n    let x = a[i]\n"
      "    r[i] = q[i] % x\n    q[i] = q[i] // x\n    r[i] = r[i] + q[i]\n  }\n}\n";
  for (const char* type : {"i8", "i32"}) {
    const double lowest = type == std::string("i8") ? -0x1p7 : -0x1p31;
    EXPECT_THAT(
        run(absl::StrReplaceAll(text, {{"TYPE", type}}), {{0, -1, 0}, {-5, lowest, lowest}, {0, 0, 0}}),
        ElementsAre(-5, lowest, lowest));
  }
  EXPECT_THAT(run(absl::StrReplaceAll(text, {{"TYPE", "u8"}}), {{0, 255, 2}, {5, 254, 255}, {0, 0, 0}}),
              ElementsAre(5, 254, 128));
}

TEST(Interpret, ChecksTheCall) {
  EXPECT_THAT(std::string(fault("function f(a: f32[4]) { }", {{1, 2, 3}}).message()),
              HasSubstr("parameter 0 (a) needs 16 bytes, but 12 bytes are given"));
  EXPECT_THAT(std::string(fault("function f[n](a: f32[n]) { }", {{1, 2, 3}}).message()),
              HasSubstr("1 buffers and 1 dimensions"));
  EXPECT_THAT(std::string(fault("function f[n](a: f32[n]) { }", {{1, 2, 3}}, {-1}).message()),
              HasSubstr("negative extent"));
}

TEST(Interpret, EvaluatesSharedSubtreesOnce) {
  const Buffer a = tensor::buffer("a", Element::kFloat32, {tensor::imm(1)});
  Expr x = tensor::load(a, {tensor::imm(0)});
  for (int i = 0; i < 60; ++i) x = x + x;
  const Function f{"f", {}, {a}, store(a, {tensor::imm(0)}, x)};
  EXPECT_THAT((*interpret_values(f, {{1}}))[0], ElementsAre(0x1p60));
}

}  // namespace
}  // namespace tf::ir
