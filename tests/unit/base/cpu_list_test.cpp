#include "base/machine/cpu_list.h"

namespace tf {
namespace {

using testing::ElementsAre;

TEST(CpuList, KeepsTheOrderOfTheText) {
  EXPECT_THAT(*parse_cpu_list("3,0-1"), ElementsAre(3, 0, 1));
  EXPECT_THAT(*parse_cpu_list("5"), ElementsAre(5));
  EXPECT_THAT(*parse_cpu_list("1,1"), ElementsAre(1, 1));
}

TEST(CpuList, RefusesWhatIsNone) {
  for (const char* text : {"", ",", "1,", "a", "2-1", "1-2-3", "-1", "99999"})
    EXPECT_TRUE(absl::IsInvalidArgument(parse_cpu_list(text).status())) << text;
}

}  // namespace
}  // namespace tf
