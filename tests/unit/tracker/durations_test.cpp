#include "tracker/operators/durations.h"

#include <gmock/gmock.h>

namespace tf::tracker {
namespace {

TEST(Durations, AreReadWithDaysToo) {
  EXPECT_EQ(parse_duration("--for", "1h30m").value(), absl::Minutes(90));
  EXPECT_EQ(parse_duration("--for", "2d").value(), absl::Hours(48));
  EXPECT_EQ(parse_duration("--for", "1d12h").value(), absl::Hours(36));
}

TEST(Durations, ThatAreNoneNameTheOptionAndWhatToGive) {
  for (const char* text : {"", "5", "d", "1d5", "x", "2d-1h"}) {
    const absl::Status refused = parse_duration("--valid", text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << text << ": " << refused;
    EXPECT_THAT(std::string(refused.message()), testing::StartsWith("--valid ")) << text;
  }
  EXPECT_THAT(std::string(parse_duration("--for", "-1h").status().message()),
              testing::HasSubstr("not above zero"));
}

}  // namespace
}  // namespace tf::tracker
