// Printer, parser and equality.
#include <random>

#include "compiler/ir/equal.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "tests/support/ir/ir_checks.h"

namespace tf::ir {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::tf::test::check_round_trip;

constexpr std::string_view kMatmul =
    R"(function matmul[n in 1..512](A: f32[n, 64], B: f32[64, 32] layout "0,1,1:16", C: f32[n, 32]) {
  for i = 0 extent n parallel {
    allocate acc: f32[32] register
    for j = 0 extent 32 vectorized {
      acc[j] = 0f32
    }
    for k = 0 extent 64 {
      let a = A[i, k]
      for j_1 = 0 extent 32 {
        acc[j_1] = acc[j_1] + a * B[k, j_1]
      }
    }
    C[i, ramp(0, 1, 32)] = acc[ramp(0, 1, 32)] where broadcast(i < n, 32)
  }
}
)";

constexpr std::string_view kGpu = R"(function copy(A: f16[1024], B: f16[1024]) {
  for b = 0 extent 8 grid_x {
    allocate tile: f16[128] shared
    for t = 0 extent 16 thread_x {
      async_copy tile[t * 8] from A[b * 128 + t * 8] elements 8
      async_copy tile[0] from A[b, 0] elements 32 box 4 of 5 box 8 of 64
      async_wait 0
      barrier
      if t < 15 {
        B[ramp(b * 128 + t * 8, 1, 8)] = tile[ramp(t * 8 + 8, 1, 8)]
      } else {
        B[ramp(b * 128 + t * 8, 1, 8)] = (tile[ramp(t * 8, 1, 8)] if ramp(0, 1, 8) < broadcast(4, 8))
      }
    }
  }
}
)";

Function parsed(std::string_view text) {
  absl::StatusOr<Function> function = parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status();
  return function.ok() ? *function : Function{"empty", {}, {}, seq({})};
}

TEST(IrText, PrintsWhatItParsed) {
  EXPECT_THAT(to_string(parsed(kMatmul)), Eq(std::string(kMatmul)));
  EXPECT_THAT(to_string(parsed(kGpu)), Eq(std::string(kGpu)));
}

TEST(IrText, RoundTripsLoopsOfAllKindsAndGpuStatements) {
  check_round_trip(parsed(kMatmul));
  check_round_trip(parsed(kGpu));
}

TEST(IrText, KeepsScopesOfLetsThatEndBeforeTheirBlock) {
  const Buffer a = tensor::buffer("a", Element::kInt64, {tensor::imm(8)});
  const Var v = tensor::var("v"), w = tensor::var("v");
  const Stmt first = make_stmt<Let>(v, tensor::load(a, {tensor::imm(0)}), store(a, {tensor::imm(1)}, v));
  const Stmt second = make_stmt<Let>(w, tensor::load(a, {tensor::imm(2)}), store(a, {tensor::imm(3)}, w));
  const Function f{"f", {}, {a}, seq({first, second, store(a, {tensor::imm(4)}, tensor::imm(7))})};
  check_round_trip(f);
  EXPECT_THAT(to_string(f), HasSubstr("  {\n    let v = a[0]\n    a[1] = v\n  }\n"));
}

TEST(IrText, TellsAStoreFromTheBranchThatFollows) {
  check_round_trip(parsed("function f(a: f32[4], n: i64[1]) { a[0] = 1f32 if n[0] < 3 { a[1] = 2f32 } }"));
}

TEST(IrText, RenamesWhatTheGrammarNeeds) {
  const Buffer odd = tensor::buffer("register", Element::kFloat32, {tensor::imm(4)});
  const Buffer twice = tensor::buffer("barrier", Element::kFloat32, {tensor::imm(4)});
  const Var i = tensor::var("i0*i1.0"), j = tensor::var("extent");
  const Stmt body = store(odd, {i + j}, tensor::load(twice, {i}));
  check_round_trip({"f",
                    {},
                    {odd, twice},
                    make_for(i, tensor::imm(0), tensor::imm(2), ForKind::kSerial,
                             make_for(j, i, i + 2, ForKind::kUnrolled, body))});
}

TEST(IrText, NamesLineAndExpectationOfASyntaxError) {
  auto message = [](std::string_view text) { return std::string(parse_function(text).status().message()); };
  EXPECT_THAT(message("function f() {\n  x[0] = 1\n}"), HasSubstr("line 2, column 3"));
  EXPECT_THAT(message("function f() {\n  x[0] = 1\n}"), HasSubstr("'x' is neither a keyword nor a buffer"));
  EXPECT_THAT(message("function f(a: f99[3]) {}"), HasSubstr("'f99' is not an element type"));
  EXPECT_THAT(message("function f(a: f32[3]) { a[0] = 1 }"), HasSubstr("another type"));
  EXPECT_THAT(message("function f(a: f32[3]) { for i = 0 extent true { } }"), HasSubstr("i64"));
  EXPECT_THAT(message("function f() { "), HasSubstr("expected"));
  EXPECT_THAT(message("function f() { } }"), HasSubstr("end of the text"));
}

TEST(IrText, RefusesNestingThatWouldExhaustTheStack) {
  std::string deep = "function f(a: i64[1]) {";
  for (int i = 0; i < 100000; ++i) deep += "{";
  EXPECT_FALSE(parse_function(deep).ok());
  std::string lets = "function f(a: i64[1]) {";
  for (int i = 0; i < 100000; ++i) lets += "let x = 1 ";
  EXPECT_FALSE(parse_function(lets + "}").ok());
  std::string parens = "function f(a: i64[1]) { a[0] = ";
  for (int i = 0; i < 100000; ++i) parens += "(";
  EXPECT_FALSE(parse_function(parens).ok());
}

// Whatever the text is, the parser answers; what it accepts prints and parses again.
TEST(IrTextRandom, SurvivesMutatedTexts) {
  std::mt19937_64 random(1);
  auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::string seeds[] = {std::string(kMatmul), std::string(kGpu)};
  static constexpr std::string_view kPieces[] = {
      "{",    "}",         "[",        "]",    "(",      ")",
      "let ", "allocate ", "if ",      "for ", "where ", "9999999999999999999",
      "-",    "\"",        "0^3",      ",",    "=",      "//",
      "\x80", "select(",   "barrier ", "i",    "ramp(",  "register",
      "+",    "1f32",      "nan f32",  "2",    "0"};
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = seeds[pick(2)];
    for (size_t edits = 1 + pick(3); edits > 0; --edits) {
      const size_t at = pick(text.size());
      switch (pick(4)) {
        case 0:
          text.erase(at, 1 + pick(8));
          break;
        case 1:
          text.insert(at, kPieces[pick(std::size(kPieces))]);
          break;
        case 2:
          text[at] = static_cast<char>(pick(128));
          break;
        default:
          text.insert(at, text.substr(pick(text.size()), pick(40)));
      }
      if (text.empty()) text = " ";
    }
    const absl::StatusOr<Function> function = parse_function(text);
    if (!function.ok()) continue;
    ++accepted;
    const absl::Status legal = verify(*function);
    const absl::StatusOr<Function> again = parse_function(to_string(*function));
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << to_string(*function);
    EXPECT_TRUE(equal(*function, *again)) << text;
    EXPECT_THAT(verify(*again).ok(), Eq(legal.ok())) << text;
  }
  EXPECT_THAT(accepted, ::testing::Gt(100));
}

void expect_same(const Function& a, const Function& b) {
  EXPECT_TRUE(equal(a, b));
  EXPECT_EQ(hash(a), hash(b));
}
void expect_other(const Function& a, const Function& b) {
  EXPECT_FALSE(equal(a, b));
  EXPECT_NE(hash(a), hash(b));
}

TEST(IrEqual, IgnoresNamesButNotStructure) {
  const Function a = parsed("function f(a: f32[4]) { for i = 0 extent 4 { a[i] = 1f32 } }");
  expect_same(a, parsed("function f(b: f32[4]) { for k = 0 extent 4 { b[k] = 1f32 } }"));
  expect_other(a, parsed("function f(a: f32[4]) { for i = 0 extent 4 parallel { a[i] = 1f32 } }"));
  expect_other(a, parsed("function f(a: f32[4]) { for i = 0 extent 3 { a[i] = 1f32 } }"));
  expect_other(a, parsed("function f(a: f32[5]) { for i = 0 extent 4 { a[i] = 1f32 } }"));
  expect_other(a, parsed("function f(a: f32[4]) { for i = 0 extent 4 { a[i] = 2f32 } }"));
  expect_other(a, parsed("function g(a: f32[4]) { for i = 0 extent 4 { a[i] = 1f32 } }"));
}

TEST(IrEqual, DoesNotConfuseTwoVariables) {
  const char* straight = "function f(a: i64[9]) { for i = 0 extent 3 { for j = 0 extent 3 { a[i] = j } } }";
  const char* crossed = "function f(a: i64[9]) { for i = 0 extent 3 { for j = 0 extent 3 { a[j] = i } } }";
  expect_other(parsed(straight), parsed(crossed));
}

TEST(IrHash, CountsAVariableThatTwoLoopsShareAsTwo) {
  const Buffer a = tensor::buffer("a", Element::kInt64, {tensor::imm(8)});
  const Var i = tensor::var("i"), j = tensor::var("j");
  auto loop = [&](const Var& var) {
    return make_stmt<For>(var, tensor::imm(0), tensor::imm(8), ForKind::kSerial, store(a, {var}, var * 2));
  };
  EXPECT_EQ(hash({"f", {}, {a}, seq({loop(i), loop(i)})}), hash({"f", {}, {a}, seq({loop(i), loop(j)})}));
}

}  // namespace
}  // namespace tf::ir
