#include "device_agent/worker/sandbox/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "compiler/runtime/model.h"

namespace {

using tf::worker::sandbox::fill_input;
using tf::worker::sandbox::PortJob;

template <typename T>
std::vector<T> fill(int32_t element, double low, double high, uint64_t seed, uint64_t stream,
                    size_t count = 10000) {
  PortJob port = {};
  port.element = element;
  port.low = low;
  port.high = high;
  port.logical_bytes = count * sizeof(T);
  std::vector<T> values(count);
  fill_input(port, seed, stream, values.data());
  return values;
}

TEST(Inputs, AreUniformInTheirDomain) {
  const auto values = fill<float>(TF_ELEMENT_FLOAT32, -1, 3, 1, 0);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 3);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 10000, 1.0, 0.05);
  EXPECT_LT(std::count(values.begin(), values.end(), 0.0f), 3);
}

TEST(Inputs, DependOnSeedStreamAndIndexAlone) {
  const auto values = fill<float>(TF_ELEMENT_FLOAT32, -1, 1, 1, 0);
  EXPECT_EQ(fill<float>(TF_ELEMENT_FLOAT32, -1, 1, 1, 0), values);
  const auto prefix = fill<float>(TF_ELEMENT_FLOAT32, -1, 1, 1, 0, 100);
  EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), values.begin()));
  EXPECT_NE(fill<float>(TF_ELEMENT_FLOAT32, -1, 1, 2, 0), values);
  EXPECT_NE(fill<float>(TF_ELEMENT_FLOAT32, -1, 1, 1, 1), values);
}

TEST(Inputs, IntegersReachBothEndsAndNothingBeyond) {
  const auto values = fill<int8_t>(TF_ELEMENT_INT8, -3, 4, 5, 0);
  for (int value = -3; value <= 4; ++value)
    EXPECT_NEAR(std::count(values.begin(), values.end(), value), 1250, 250);
  const auto wide = fill<int64_t>(TF_ELEMENT_INT64, -2147483648.0, 2147483647.0, 5, 0);
  EXPECT_LT(*std::min_element(wide.begin(), wide.end()), -2000000000);
  EXPECT_GT(*std::max_element(wide.begin(), wide.end()), 2000000000);
}

TEST(Inputs, HalfAndBfloatHoldTheRoundedValue) {
  const auto exact = fill<float>(TF_ELEMENT_FLOAT32, 1, 2, 9, 0);
  const auto half = fill<uint16_t>(TF_ELEMENT_FLOAT16, 1, 2, 9, 0);
  const auto bfloat = fill<uint16_t>(TF_ELEMENT_BFLOAT16, 1, 2, 9, 0);
  for (size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(1 + (half[i] - 0x3c00) / 1024.0, exact[i], 0.5 / 1024) << i;
    ASSERT_NEAR(1 + (bfloat[i] - 0x3f80) / 128.0, exact[i], 0.5 / 128) << i;
  }
}

}  // namespace
