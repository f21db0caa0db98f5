// f32 values as bf16 and f16: ties, denormals, NaN, infinities and overflow.

#include "compiler/runtime/narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/runtime/model.h"

namespace tf::runtime {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint16_t narrowed(int32_t element, float value, int64_t overflowed = 0) {
  uint16_t bits = 0;
  EXPECT_EQ(tf_narrow(element, 1, &value, &bits), overflowed) << value;
  return bits;
}

TEST(Narrow, RoundsToTheNearestBfloatAndTiesToEven) {
  const auto bf16 = [](float value) { return narrowed(TF_ELEMENT_BFLOAT16, value); };
  EXPECT_EQ(bf16(1), 0x3f80);
  EXPECT_EQ(bf16(-2.5F), 0xc020);
  EXPECT_EQ(bf16(1 + 0x1p-8F), 0x3f80);      // half way: even is below
  EXPECT_EQ(bf16(1 + 3 * 0x1p-8F), 0x3f82);  // half way: even is above
  EXPECT_EQ(bf16(1 + 0x1p-8F + 0x1p-20F), 0x3f81);
  EXPECT_EQ(bf16(0x1p-130F), 0x0008);  // a denormal
  EXPECT_EQ(bf16(-0.0F), 0x8000);
}

TEST(Narrow, RoundsToTheNearestHalfAndTiesToEven) {
  const auto f16 = [](float value) { return narrowed(TF_ELEMENT_FLOAT16, value); };
  EXPECT_EQ(f16(1), 0x3c00);
  EXPECT_EQ(f16(-2.5F), 0xc100);
  EXPECT_EQ(f16(1 + 0x1p-11F), 0x3c00);
  EXPECT_EQ(f16(1 + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(f16(65504), 0x7bff);
  EXPECT_EQ(f16(0x1p-14F), 0x0400);  // the least normal
  EXPECT_EQ(f16(0x1p-24F), 0x0001);  // the least denormal
  EXPECT_EQ(f16(3 * 0x1p-25F), 0x0002);
  EXPECT_EQ(f16(0x1p-25F), 0x0000);
  EXPECT_EQ(f16(0x1.ff8p-15F), 0x03ff);  // the largest denormal
  EXPECT_EQ(f16(-0.0F), 0x8000);
}

TEST(Narrow, KeepsNanAndInfinityAndCountsWhatOverflows) {
  for (const int32_t element : {TF_ELEMENT_BFLOAT16, TF_ELEMENT_FLOAT16}) {
    const uint16_t infinity = element == TF_ELEMENT_FLOAT16 ? 0x7c00 : 0x7f80;
    EXPECT_EQ(narrowed(element, kInfinity), infinity);
    EXPECT_EQ(narrowed(element, -kInfinity), infinity | 0x8000);
    EXPECT_GT(narrowed(element, std::nanf("1")) & 0x7fff, infinity);
    EXPECT_EQ(narrowed(element, std::numeric_limits<float>::max(), 1), infinity);
  }
  EXPECT_EQ(narrowed(TF_ELEMENT_FLOAT16, -65520, 1), 0xfc00);
  EXPECT_EQ(narrowed(TF_ELEMENT_FLOAT16, 65519), 0x7bff);
}

TEST(Narrow, KnowsNoOtherElement) {
  const float value = 1;
  uint16_t bits = 7;
  EXPECT_EQ(tf_narrow(TF_ELEMENT_FLOAT64, 1, &value, &bits), -1);
  EXPECT_EQ(bits, 7);
}

}  // namespace
}  // namespace tf::runtime
