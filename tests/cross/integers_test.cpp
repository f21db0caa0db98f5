// Integers in code for other processors, run under qemu-user and compared with the interpreter: what a 32-bit
// processor has no instructions for, the conversions of 64-bit ones and divisions, which an older one lacks
// altogether; and the ends of their types, where some processors trap and others give what they like. Skipped
// where there is no emulator or no cross compiler.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/foreign_code/foreign_code.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"
#include "tests/unit/compiler/backends/integer_kernels.h"

namespace tf {
namespace {

using tensor::Element;

class Integers : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto missing = support::missing_emulator(*target::parse_target(GetParam()));
    if (missing.has_value()) GTEST_SKIP() << *missing;
  }

  // c = d = EXPRESSION of $a, $b, $7 and the highest number of the type, $highest, over 96 elements, by
  // scalars and by vectors of four.
  void expect_agrees(Element in, Element out, const std::string& expression,
                     backends::OracleOptions options) const {
    const std::string from(tensor::element_name(in)), to(tensor::element_name(out));
    const auto at = [&](const std::string& index, const std::string& opener, const std::string& end) {
      const auto constant = [&](int64_t value) { return absl::StrCat(opener, value, from, end); };
      return absl::StrReplaceAll(expression, {{"$a", "a[" + index + "]"},
                                              {"$b", "b[" + index + "]"},
                                              {"$7", constant(7)},
                                              {"$highest", constant(highest(in))}});
    };
    options.targets = {GetParam()};
    backends::expect_agrees(
        absl::StrCat("function kernel(a: ", from, "[96], b: ", from, "[96], c: ", to, "[96], d: ", to,
                     "[96]) {\n  for i = 0 extent 96 { c[i] = ", at("i", "", ""),
                     " }\n  for i = 0 extent 24 { d[ramp(i * 4, 1, 4)] = ",
                     at("ramp(i * 4, 1, 4)", "broadcast(", ", 4)"), " }\n}\n"),
        options);
  }

 private:
  static int64_t highest(Element element) {
    return element == Element::kUInt64 ? INT64_MAX : tensor::highest_integer(element);
  }
};

TEST_P(Integers, OfSixtyFourBitsAreConvertedFromAndToFloats) {
  for (const Element real : {Element::kFloat16, Element::kBFloat16, Element::kFloat32, Element::kFloat64}) {
    for (const double limit : {300.0, 3e10, 9e18}) {
      const backends::OracleOptions options{
          .tolerance = 0, .special_values = true, .low = -limit, .high = limit};
      const auto cast = [](Element to) {
        return absl::StrCat("cast<", std::string(tensor::element_name(to)), ">($a)");
      };
      expect_agrees(Element::kInt64, real, cast(real), options);
      expect_agrees(real, Element::kInt64, cast(Element::kInt64), options);
      expect_agrees(Element::kUInt64, real, cast(real), options);
      expect_agrees(Element::kUInt64, real,
                    absl::StrCat("cast<", std::string(tensor::element_name(real)), ">($a + $b)"), options);
      expect_agrees(real, Element::kUInt64, cast(Element::kUInt64), options);
    }
  }
}

TEST_P(Integers, AreDivided) {
  struct Range {
    Element element;
    double low, high;
    bool special_values = false;  // of i64 its ends, of the others all numbers
  };
  for (const auto& [element, low, high, special_values] :
       {Range{Element::kInt8, -100, 100, true}, Range{Element::kUInt8, 1, 255, true},
        Range{Element::kInt32, -100, 100}, Range{Element::kInt32, -2e9, 2e9, true},
        Range{Element::kInt64, -100, 100}, Range{Element::kInt64, -3e10, 3e10},
        Range{Element::kInt64, -9e18, 9e18, true}, Range{Element::kInt16, -3e4, 3e4, true},
        Range{Element::kUInt16, 1, 6e4, true}, Range{Element::kUInt32, 1, 4e9, true},
        Range{Element::kUInt64, 1, 3e10}, Range{Element::kUInt64, 1, 9e18, true}}) {
    for (const char* expression : {"$a // $b", "$a % $b", "$a // $7 + $b % $7"})
      expect_agrees(element, element, expression,
                    {.special_values = special_values, .nonzero = true, .low = low, .high = high});
  }
}

// All elements are -1, and so -1 times the highest number and -1 is the lowest.
TEST_P(Integers, WrapWhereTheLowestIsDividedByMinusOne) {
  for (const Element element : {Element::kInt8, Element::kInt16, Element::kInt32, Element::kInt64}) {
    for (const char* expression : {"($a * $highest + $a) // $b", "($a * $highest + $a) % $b"})
      expect_agrees(element, element, expression, {.low = -1, .high = -1});
  }
}

TEST_P(Integers, AreDividedByAnything) {
  for (const Element element : {Element::kInt8, Element::kUInt8, Element::kInt16, Element::kUInt16,
                                Element::kInt32, Element::kUInt32, Element::kInt64, Element::kUInt64}) {
    for (const char* expression : {"$a // $b", "$a % $b"})
      expect_agrees(element, element, expression, {.edges = true});
  }
}

TEST_P(Integers, MeanAfterPassesAndInCodeWhatTheyMeantBefore) {
  for (const test::IntegerKernel& kernel : test::integer_kernels())
    test::expect_meaning_is_kept(kernel, {GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Processors, Integers,
                         ::testing::Values("armv7:cpu=cortex-a9", "armv7:cpu=cortex-a15",
                                           "aarch64:cpu=cortex-a72"),
                         [](const auto& each) {
                           return absl::StrReplaceAll(target::parse_target(each.param)->cpu, {{"-", "_"}});
                         });

}  // namespace
}  // namespace tf
