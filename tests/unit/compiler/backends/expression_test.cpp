// Every operator on every element type, scalar and vector, against the interpreter.

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/ir/parse.h"
#include "compiler/passes/passes.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"

namespace tf::tensor {

static void PrintTo(Element element, std::ostream* out) {
  *out << element_name(element);
}

}  // namespace tf::tensor

namespace tf::backends {
namespace {

using tensor::Element;

constexpr Element kElements[] = {Element::kBool,    Element::kInt8,    Element::kUInt8,    Element::kInt32,
                                 Element::kInt64,   Element::kFloat16, Element::kBFloat16, Element::kFloat32,
                                 Element::kFloat64, Element::kInt16,   Element::kUInt16,   Element::kUInt32,
                                 Element::kUInt64};
constexpr const char* kVector = "ramp(i * 8, 1, 8)";

// c = EXPRESSION of $a, $b and $7 over 72 elements: by scalars, then by vectors of eight.
std::string element_wise(Element in, Element out, const std::string& expression) {
  std::string from(tensor::element_name(in)), to(tensor::element_name(out));
  const std::string seven = absl::StrCat("7", from);
  auto at = [&](const std::string& index, const std::string& constant) {
    return absl::StrReplaceAll(expression,
                               {{"$a", "a[" + index + "]"}, {"$b", "b[" + index + "]"}, {"$7", constant}});
  };
  return absl::StrCat("function kernel(a: ", from, "[72], b: ", from, "[72], c: ", to, "[72], d: ", to,
                      "[72]) {\n  for i = 0 extent 72 { c[i] = ", at("i", seven),
                      " }\n  for i = 0 extent 9 { d[", kVector,
                      "] = ", at(kVector, absl::StrCat("broadcast(", seven, ", 8)")), " }\n}\n");
}

class Expressions : public ::testing::TestWithParam<Element> {};

TEST_P(Expressions, ArithmeticAgrees) {
  Element element = GetParam();
  if (element == Element::kBool) {
    for (const char* e : {"$a && $b", "$a || $b", "!$a", "$a == $b", "$a != $b"}) {
      expect_agrees(element_wise(element, element, e));
    }
    return;
  }
  for (const char* e : {"$a + $b", "$a - $b", "$a * $b", "-$a", "abs($a)", "$a * $b + $a"}) {
    expect_agrees(element_wise(element, element, e), {.low = -9, .high = 9});
  }
}

TEST_P(Expressions, MinMaxAndComparisonsAgreeOnSpecialValues) {
  Element element = GetParam();
  if (element == Element::kBool) return;
  for (const char* e : {"min($a, $b)", "max($a, $b)"}) {
    expect_agrees(element_wise(element, element, e), {.special_values = true});
  }
  for (const char* e : {"$a < $b", "$a <= $b", "$a == $b", "$a != $b"}) {
    expect_agrees(element_wise(element, Element::kBool, e), {.special_values = true});
  }
  expect_agrees(element_wise(element, element, "select($a < $b, $b, $a)"), {.special_values = true});
}

TEST_P(Expressions, DivisionAgrees) {
  Element element = GetParam();
  if (element == Element::kBool) return;
  if (tensor::is_float(element)) {
    expect_agrees(element_wise(element, element, "$a / $b"), {.low = 1, .high = 9});
    return;
  }
  const double low = tensor::is_unsigned(element) ? 1 : -100;
  expect_agrees(element_wise(element, element, "$a // $b"), {.nonzero = true, .low = low});
  expect_agrees(element_wise(element, element, "$a % $b"), {.nonzero = true, .low = low});
  for (const char* e : {"$a // $b", "$a % $b", "$a // max($b, $7)", "$a // $7", "$a % $7", "$7 // $b"})
    expect_agrees(element_wise(element, element, e), {.edges = true});
}

TEST_P(Expressions, CastsToEveryElementAgree) {
  Element from = GetParam();
  for (Element to : kElements) {
    expect_agrees(
        element_wise(from, to, absl::StrCat("cast<", std::string(tensor::element_name(to)), ">($a)")),
        {.tolerance = 0, .special_values = true, .low = -300, .high = 300});
  }
}

// Floats of all magnitudes, those beyond the type among them, and numbers of u64 that are none of i64.
TEST_P(Expressions, CastsOfLargeNumbersAgree) {
  const Element element = GetParam();
  for (const Element real : {Element::kFloat32, Element::kFloat64}) {
    for (const double limit : {7e4, 5e9, 4e19}) {
      const OracleOptions options{.tolerance = 0, .special_values = true, .low = -limit, .high = limit};
      const std::string to(tensor::element_name(element)), back(tensor::element_name(real));
      expect_agrees(element_wise(real, element, absl::StrCat("cast<", to, ">($a)")), options);
      if (element == Element::kUInt64) {
        expect_agrees(element_wise(element, real,
                                   absl::StrCat("cast<", back, ">($a + ", back == "f32" ? "$b" : "$a", ")")),
                      options);
      }
    }
  }
}

TEST_P(Expressions, BitsAgree) {
  const Element element = GetParam();
  if (tensor::is_float(element) || element == Element::kBool) return;
  for (const char* e : {"bit_and($a, $b)", "bit_or($a, $b)", "bit_xor($a, $b)"})
    expect_agrees(element_wise(element, element, e), {.edges = true});
}

// By way of f32 each of these would be rounded to the middle of two halves, and then to the wrong one.
TEST(ExpressionCode, CastsToHalvesRoundOnce) {
  for (const auto& [from, to, value] :
       {std::tuple{Element::kInt32, Element::kBFloat16, "16842753"},
        std::tuple{Element::kInt32, Element::kBFloat16, "-16842753"},
        std::tuple{Element::kInt64, Element::kBFloat16, "16842753"},
        std::tuple{Element::kFloat64, Element::kFloat16, "1.0004882812509095"},
        std::tuple{Element::kFloat64, Element::kFloat16, "-1.0014648437490905"},
        std::tuple{Element::kFloat64, Element::kBFloat16, "1.0039062500000002"}}) {
    const std::string type(tensor::element_name(from)), half(tensor::element_name(to));
    const std::string number = absl::StrCat(value, type);
    expect_agrees(absl::StrCat("function kernel(a: ", type, "[8], c: ", half, "[8], d: ", half,
                               "[8]) {\n  for i = 0 extent 8 { c[i] = cast<", half, ">(a[i] - a[i] + ",
                               number, ") }\n  d[ramp(0, 1, 8)] = cast<", half,
                               ">(a[ramp(0, 1, 8)] - a[ramp(0, 1, 8)] + broadcast(", number, ", 8))\n}\n"),
                  {.tolerance = 0});
  }
}

TEST_P(Expressions, RoundingAndRootsAgree) {
  Element element = GetParam();
  if (!tensor::is_float(element)) return;
  for (const char* e : {"floor($a)", "ceil($a)", "round($a)"}) {
    expect_agrees(element_wise(element, element, e), {.special_values = true, .low = -5, .high = 5});
  }
  for (const char* e : {"sqrt($a)", "rsqrt($a)"}) {
    expect_agrees(element_wise(element, element, e), {.low = 0.5, .high = 9});
  }
}

INSTANTIATE_TEST_SUITE_P(Elements, Expressions, ::testing::ValuesIn(kElements),
                         [](const auto& test) { return std::string(tensor::element_name(test.param)); });

TEST(ExpressionCode, FmaRoundsOnceWithAndWithoutTheInstruction) {
  for (Element element : {Element::kFloat32, Element::kFloat16}) {
    expect_agrees(element_wise(element, element, "fma($a, $b, $a)"), {.tolerance = 1e-7});
  }
  // What the product's rounding loses, exactly.
  const std::string lost = element_wise(Element::kFloat64, Element::kFloat64, "fma($a, $b, -($a * $b))");
  expect_agrees(lost, {.tolerance = 0});
  expect_agrees(element_wise(Element::kFloat64, Element::kFloat64, "fma($a, $b, $a)"),
                {.tolerance = 1e-15, .special_values = true});
}

TEST(ExpressionCode, SignsAndSignificandsAreTakenFromTheirBits) {
  for (const Element element : {Element::kFloat32, Element::kFloat64})
    for (const char* e : {"$7 / copysign($a, $b)", "significand($a)", "logb($a)"})
      expect_agrees(element_wise(element, element, e), {.tolerance = 0, .special_values = true});
}

TEST(ExpressionCode, ReductionsOverLanesAgreeForEvenAndOddCounts) {
  for (int lanes : {2, 3, 7, 8, 16}) {
    expect_agrees(absl::StrCat("function kernel(a: f32[64], c: f32[3]) {\n c[0] = reduce_add(a[ramp(5, 1, ",
                               lanes, ")])\n c[1] = reduce_max(a[ramp(5, 1, ", lanes,
                               ")])\n c[2] = reduce_min(a[ramp(5, 1, ", lanes, ")])\n}\n"));
  }
}

TEST(ExpressionCode, IndexArithmeticRoundsTowardsMinusInfinity) {
  // $i is the index, $(n) a constant of as many lanes.
  for (const char* e :
       {"($i - $(40)) // $(7)", "($i - $(40)) % $(7)", "($i - $(40)) // $(8)", "($i - $(40)) % $(8)",
        "$i // $(5) * $(5) + $i % $(5)", "($i * $i) % $(13)", "min($i, $(9)) // $(3)",
        "($(40) - $i) // ($(0) - $(3))", "($(40) - $i) % ($(0) - $(3))"}) {
    std::string scalar = absl::StrReplaceAll(e, {{"$i", "i"}, {"$(", "("}});
    std::string vector;
    for (const char* p = e; *p; ++p) {
      if (p[0] == '$' && p[1] == 'i') {
        vector += kVector;
        ++p;
      } else if (p[0] == '$') {
        const char* end = strchr(p, ')');
        vector += "broadcast(" + std::string(p + 2, end) + ", 8)";
        p = end;
      } else {
        vector += *p;
      }
    }
    expect_agrees(absl::StrCat("function kernel(c: i64[80], d: i64[80]) {\n for i = 0 extent 80 { c[i] = ",
                               scalar, " }\n for i = 0 extent 10 { d[", kVector, "] = ", vector, " }\n}\n"));
  }
}

TEST(ExpressionCode, IndicesThatFitBecomeFloatsBy32Bits) {
  for (const auto& [index, wide] : {std::pair{"i - 40", false}, std::pair{"i * 4294967296", true}}) {
    const std::string text = absl::StrCat(
        "function kernel(c: f32[80]) {\n  for i = 0 extent 80 { c[i] = cast<f32>(", index, ") }\n}\n");
    expect_agrees(text, {.tolerance = 0});
    const absl::StatusOr<KernelCode> code =
        compile(*ir::parse_function(text), *target::parse_target("x86_64"), {.llvm_ir = true});
    ASSERT_TRUE(code.ok()) << code.status();
    const bool converts_wide = code->llvm_ir.find("itofp i64") != std::string::npos ||
                               code->llvm_ir.find("itofp nneg i64") != std::string::npos;
    EXPECT_EQ(converts_wide, wide) << code->llvm_ir;
  }
}

// Taken for whole numbers without end these would lie between -7 and 7, and fit into 32 bits.
TEST(ExpressionCode, DataThatOverflowsWraps) {
  for (const char* e : {"min(abs($a), $7)", "min(max($a, $7) + $7, $7)", "min(max($a, $7) * $7, $7)",
                        "max(min($a, $7) - $7, -$7)", "min(-min($a, $7), $7)"}) {
    const OracleOptions options{.tolerance = 0, .special_values = true, .low = -9e18, .high = 9e18};
    expect_agrees(element_wise(Element::kInt64, Element::kFloat32, absl::StrCat("cast<f32>(", e, ")")),
                  options);
    expect_agrees(element_wise(Element::kInt64, Element::kInt64, absl::StrCat("(", e, ") // $7")), options);
    expect_agrees(element_wise(Element::kInt64, Element::kInt64, absl::StrCat("(", e, ") % $7")), options);
  }
}

// As loads that stand in a select's side are, before code is made.
TEST(ExpressionCode, NamedDataWrapsToo) {
  const OracleOptions options{.edges = true};
  for (const char* e :
       {"select(x < x + 1, 1, 0)", "min(abs(x), 100) // 7", "x // y", "x % y", "select(x + y < 5, i, 0)"}) {
    expect_agrees(absl::StrCat("function kernel(a: i64[72], b: i64[72], c: i64[72]) {\n  for i = 0 extent 72 "
                               "{\n    let x = a[i]\n    let y = b[i] * 2 - x\n    c[i] = ",
                               e, "\n  }\n}\n"),
                  options);
  }
}

// limit - first would wrap.
TEST(ExpressionCode, MasksUpToALimitInMemoryAgree) {
  expect_agrees(
      "function kernel(a: i64[36], b: i64[36], c: bool[36, 8]) {\n  for i = 0 extent 36 {\n"
      "    c[i, ramp(0, 1, 8)] = ramp(a[i], 1, 8) < broadcast(b[i], 8)\n  }\n}\n",
      {.edges = true});
}

TEST(ExpressionCode, OddDivisorsAreTakenOutOnlyWhereBoundsDoNotExcludeThem) {
  const auto guards = [](const std::string& value) {
    const absl::StatusOr<ir::Function> function = ir::parse_function(
        "function kernel[n](a: i64[80], c: i64[80]) { for i = 0 extent 80 { c[i] = " + value + " } }");
    EXPECT_TRUE(function.ok()) << function.status();
    const absl::StatusOr<KernelCode> code =
        compile(*function, *target::parse_target("x86_64"), {.llvm_ir = true});
    EXPECT_TRUE(code.ok()) << code.status();
    const auto has = [&](const char* part) {
      return code.ok() && code->llvm_ir.find(part) != std::string::npos;
    };
    return has("select i1") || has("llvm.umax");
  };
  EXPECT_TRUE(guards("a[i] // c[i]"));
  EXPECT_TRUE(guards("i // a[i]"));
  EXPECT_FALSE(guards("a[i] // max(a[i], 3)"));
  EXPECT_FALSE(guards("a[i] // 7"));
  EXPECT_FALSE(guards("a[i] // (i + 1)"));
  EXPECT_FALSE(guards("(i * 3) // (n + 1)"));
}

TEST(ExpressionCode, SharedSubexpressionsAreEmittedOnce) {
  // Doubling 60 times by sharing: as a tree this would be 2^60 nodes.
  tensor::Buffer a = tensor::buffer("a", Element::kFloat32, {tensor::imm(1)});
  tensor::Expr sum = tensor::load(a, {tensor::imm(0)});
  for (int i = 0; i < 60; ++i) sum = sum + sum;
  ir::Function function = {"kernel", {}, {a}, ir::store(a, {tensor::imm(0)}, sum)};
  absl::StatusOr<KernelCode> code = compile(function, target::host_target());
  EXPECT_TRUE(code.ok()) << code.status();
}

TEST(ExpressionCode, WhatPassesMustTakeOutIsRefused) {
  for (const auto& [value, word] : {std::pair{"exp(a[0])", "exp"},
                                    std::pair{"select(a[0] < 0f32, a[1], 0f32)", "select between loads"}}) {
    absl::StatusOr<ir::Function> function =
        ir::parse_function(absl::StrCat("function kernel(a: f32[2]) { a[0] = ", value, " }"));
    ASSERT_TRUE(function.ok()) << function.status();
    absl::StatusOr<KernelCode> code = compile(*function, target::host_target());
    EXPECT_EQ(code.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_NE(code.status().message().find(word), std::string::npos) << code.status();
  }
}

// What LLVM has no instructions for it calls: conversions and divisions above all.
std::vector<std::string> operations(Element element) {
  std::vector<std::string> all = {"select($a < $b, $a, $b)"};
  for (const Element to : kElements)
    all.push_back(absl::StrCat("cast<", std::string(tensor::element_name(to)), ">($a)"));
  if (element == Element::kBool) return all;
  if (tensor::is_float(element)) {
    all.push_back("sqrt(max($a, $b)) + floor($a) / round($b) - ceil(-$b) * rsqrt(abs($a))");
    all.push_back("ldexp($a, logb($b))");
    all.push_back("fma($a, $b, copysign($a, significand($b)))");
  } else {
    all.insert(all.end(), {"min($a, $b) * $a + abs($b)", "$a // $b", "$a % $b", "$a // $7", "$a % $7"});
  }
  return all;
}

class EveryArchitecture : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryArchitecture, CompilesWithoutLibraryCalls) {
  const absl::StatusOr<target::Target> target = target::parse_target(GetParam());
  ASSERT_TRUE(target.ok()) << target.status();
  for (const Element element : kElements) {
    for (const std::string& operation : operations(element)) {
      Element to = element;
      if (operation.starts_with("cast<"))
        to = *tensor::element_from_name(operation.substr(5, operation.find('>') - 5));
      const absl::StatusOr<ir::Function> function = ir::parse_function(element_wise(element, to, operation));
      ASSERT_TRUE(function.ok()) << function.status();
      const absl::StatusOr<KernelCode> code = compile(passes::hoist_loads(*function), *target);
      EXPECT_TRUE(code.ok()) << operation << " of " << tensor::element_name(element) << ": " << code.status();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, EveryArchitecture,
    ::testing::Values("x86_64", "x86_64:cpu=znver5", "aarch64", "aarch64:cpu=cortex-a72", "armv7",
                      "armv7:cpu=cortex-a15", "armv7:-neon", "riscv64", "wasm32"),
    [](const auto& each) {
      return absl::StrReplaceAll(each.param, {{":cpu=", "_"}, {":-", "_without_"}, {"-", "_"}});
    });

}  // namespace
}  // namespace tf::backends
