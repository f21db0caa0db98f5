#include "device_agent/agent/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tf::agent {
namespace {

using testing::HasSubstr;

TEST(GoldenText, TellsAWideSpreadAsAMultiple) {
  EXPECT_EQ(golden_text(1.218, 0.043),
            "the golden kernel takes 1.218 ms; its fastest and slowest run differ by 4.3% of that");
  EXPECT_THAT(golden_text(1.218, 64.967), HasSubstr("its fastest and slowest run differ by 65 times that"));
}

}  // namespace
}  // namespace tf::agent
