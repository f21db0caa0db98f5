#include "device_agent/worker/answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/runtime/model.h"

namespace {

using tf::worker::AnswerCache;
using tf::worker::check_magnitudes;
using tf::worker::compare;
using tf::worker::Expected;
using tf::worker::Tensor;
using tf::worker::Verdict;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T>
Tensor tensor(int32_t element, const std::vector<T>& values) {
  Tensor made = {.element = element, .extents = {static_cast<int64_t>(values.size())}, .bytes = {}};
  made.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return made;
}
Tensor floats(const std::vector<float>& values) {
  return tensor(TF_ELEMENT_FLOAT32, values);
}

Verdict check(const Tensor& y, const Tensor& ref, const Tensor& magnitude, double tolerance = 1e-5) {
  Expected expected;
  expected.outputs = {ref};
  expected.magnitudes = {magnitude};
  return compare({y}, expected, tolerance, {"y"});
}

TEST(Compare, ToleratesErrorsInProportionToTheMagnitude) {
  EXPECT_TRUE(check(floats({0.0009f}), floats({0}), floats({100})).right) << "cancellation of large products";
  EXPECT_FALSE(check(floats({0.0011f}), floats({0}), floats({100})).right);
  EXPECT_FALSE(check(floats({0.0009f}), floats({0}), floats({1})).right);
  EXPECT_NEAR(check(floats({0.0009f}), floats({0}), floats({100})).max_error, 9e-6, 1e-9);
}

TEST(Compare, NanAndInfinityMustBeTheReferences) {
  EXPECT_TRUE(check(floats({kNan, kInf, -kInf}), floats({kNan, kInf, -kInf}), floats({1, 1, 1})).right);
  EXPECT_FALSE(check(floats({kNan}), floats({1}), floats({1})).right);
  EXPECT_FALSE(check(floats({1}), floats({kNan}), floats({1})).right);
  EXPECT_FALSE(check(floats({kInf}), floats({-kInf}), floats({1})).right);
  EXPECT_FALSE(check(floats({kInf}), floats({1}), floats({kInf})).right);
  EXPECT_FALSE(check(floats({1}), floats({2}), floats({kNan})).right);
}

TEST(Compare, IntegersMustBeEqual) {
  const auto ints = [](const std::vector<int64_t>& values) { return tensor(TF_ELEMENT_INT64, values); };
  const int64_t large = (int64_t{1} << 60) + 1;
  EXPECT_TRUE(check(ints({large}), ints({large}), ints({large})).right);
  EXPECT_FALSE(check(ints({large}), ints({large - 1}), ints({large})).right)
      << "a double does not hold the difference";
  EXPECT_TRUE(check(tensor<int8_t>(TF_ELEMENT_INT8, {-5}), ints({-5}), ints({5})).right);
}

TEST(Compare, ReadsHalfAndBfloat) {
  const Tensor one = floats({1, -2, 0.5f}), magnitude = floats({1, 1, 1});
  EXPECT_TRUE(check(tensor<uint16_t>(TF_ELEMENT_FLOAT16, {0x3c00, 0xc000, 0x3800}), one, magnitude).right);
  EXPECT_TRUE(check(tensor<uint16_t>(TF_ELEMENT_BFLOAT16, {0x3f80, 0xc000, 0x3f00}), one, magnitude).right);
  EXPECT_FALSE(check(tensor<uint16_t>(TF_ELEMENT_FLOAT16, {0x3c00, 0xc000, 0x7e00}), one, magnitude).right);
}

TEST(Compare, DetailNamesTheFirstWrongElement) {
  const Verdict verdict = check(floats({1, 2, 9, 9}), floats({1, 2, 3, 4}), floats({1, 1, 1, 1}));
  EXPECT_THAT(verdict.detail, testing::HasSubstr("output 'y'[2] is 9, the reference gives 3"));
  EXPECT_THAT(verdict.detail, testing::HasSubstr("2 of 4 elements are wrong"));
}

TEST(Magnitudes, MustBeFiniteWhereTheAnswerIs) {
  const auto check = [](const Tensor& ref, const Tensor& magnitude) {
    Expected expected;
    expected.outputs = {floats({1}), ref};
    expected.magnitudes = {floats({1}), magnitude};
    return check_magnitudes(expected);
  };
  EXPECT_TRUE(check(floats({1, kInf, kNan, -kInf}), floats({1, kInf, kNan, kInf})).ok());
  for (const float bad : {kInf, -kInf, kNan}) {
    const absl::Status refused = check(floats({1, 2}), floats({1, bad}));
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("output 1[1] is 2"));
  }
}

TEST(Compare, ACandidateMustMatchAReferenceThatIsNotFinite) {
  EXPECT_FALSE(check(floats({1}), floats({kInf}), floats({kInf})).right);
  EXPECT_FALSE(check(floats({kNan}), floats({kInf}), floats({kInf})).right);
  EXPECT_FALSE(check(floats({1}), floats({kNan}), floats({kNan})).right);
  EXPECT_TRUE(check(floats({kInf, kNan}), floats({kInf, kNan}), floats({kInf, kNan})).right);
}

TEST(Poison, IsFoundInFloatsOnly) {
  const float poison = std::bit_cast<float>(0xffffffffu);
  EXPECT_TRUE(is_poisoned(floats({1, poison})));
  EXPECT_FALSE(is_poisoned(floats({1, kNan, -kNan})));
  EXPECT_FALSE(is_poisoned(tensor<int32_t>(TF_ELEMENT_INT32, {-1})));
}

TEST(AnswerCache, DropsTheLeastRecentlyUsedBeyondItsLimit) {
  AnswerCache cache(1000);
  auto answers = [](size_t bytes) {
    auto expected = std::make_shared<Expected>();
    expected->outputs.push_back(
        {.element = TF_ELEMENT_UINT8, .extents = {}, .bytes = std::string(bytes, 'x')});
    return expected;
  };
  cache.insert("a", 1, answers(400));
  cache.insert("a", 2, answers(400));
  EXPECT_NE(cache.find("a", 1), nullptr);
  cache.insert("b", 1, answers(400));
  EXPECT_TRUE(cache.contains("a", 1));
  EXPECT_FALSE(cache.contains("a", 2));
  cache.insert("c", 1, answers(5000));
  EXPECT_TRUE(cache.contains("c", 1)) << "the newest stays, however large";
  EXPECT_FALSE(cache.contains("a", 1));
}

}  // namespace
