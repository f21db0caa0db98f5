#include "compiler/tensor/half.h"

#include <gtest/gtest.h>

#include "compiler/runtime/model.h"
#include "compiler/runtime/narrow.h"

namespace tf::tensor {
namespace {

constexpr std::pair<Element, int32_t> kFormats[] = {{Element::kFloat16, TF_ELEMENT_FLOAT16},
                                                    {Element::kBFloat16, TF_ELEMENT_BFLOAT16}};

float value_of(Element element, uint16_t bits) {
  return element == Element::kFloat16 ? float16_value(bits) : bfloat16_value(bits);
}

TEST(Half, EveryPatternIsTheBitsOfItsValue) {
  for (const auto& [element, unused] : kFormats) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const float value = value_of(element, static_cast<uint16_t>(bits));
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(value_of(element, half_bits(element, value))));
      } else {
        ASSERT_EQ(half_bits(element, value), bits) << element_name(element);
      }
    }
  }
}

TEST(Half, NotANumberWithLowBitsAloneStaysOne) {
  EXPECT_TRUE(std::isnan(bfloat16_value(bfloat16_bits(std::bit_cast<float>(0x7f800001u)))));
}

// The runtime has a conversion of its own, because it may not depend on anything.
TEST(Half, TheRuntimeRoundsToTheSameBits) {
  for (const auto& [element, runtime_element] : kFormats) {
    for (uint32_t i = 0; i < 1u << 20; ++i) {
      const auto value = std::bit_cast<float>(i << 12 | (i * 2654435761u >> 20));
      if (std::isnan(value)) continue;
      uint16_t narrow = 0;
      tf_narrow(runtime_element, 1, &value, &narrow);
      ASSERT_EQ(narrow, half_bits(element, value)) << element_name(element) << " of " << value;
    }
  }
}

}  // namespace
}  // namespace tf::tensor
