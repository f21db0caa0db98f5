#include "device_agent/agent/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tf::agent {
namespace {

using testing::HasSubstr;

TEST(GoldenText, TellsAWideSpreadAsAMultiple) {
  EXPECT_EQ(golden_text(1.218, 0.043),
            "the golden kernel takes 1.218 ms, 4.3% between its fastest and slowest run");
  EXPECT_THAT(golden_text(1.218, 64.967), HasSubstr("takes 1.218 ms, and its runs differ 65 times as much"));
}

}  // namespace
}  // namespace tf::agent
