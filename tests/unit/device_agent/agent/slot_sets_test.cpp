#include "device_agent/agent/slots/slot_sets.h"

namespace tf::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SlotSets, ACommaBeginsAnotherSlotAndAPlusGoesOnWithTheSame) {
  EXPECT_THAT(*parse_slots("0-1,2-3"), ElementsAre(CpuSet{0, 1}, CpuSet{2, 3}));
  EXPECT_THAT(*parse_slots("5"), ElementsAre(CpuSet{5}));
  EXPECT_THAT(*parse_slots("8-9+0-1,2"), ElementsAre(CpuSet{0, 1, 8, 9}, CpuSet{2}));
}

TEST(SlotSets, MalformedTextIsRefusedWithAnExample) {
  for (const char* text : {"", "0-1,", "x", "1-0", "0++1", "0;1"}) {
    const absl::Status status = parse_slots(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("0-1,2-3"));
  }
}

TEST(SlotSets, OverlappingAndAbsentCpusAreNamed) {
  EXPECT_TRUE(check_slots({{0, 1}, {2, 3}}, {0, 1, 2, 3}, "--slots 0-1,2-3").ok());
  EXPECT_EQ(check_slots({{0, 1}, {1, 2}}, {0, 1, 2}, "--slots 0-1,1-2").message(),
            "--slots 0-1,1-2: CPU 1 is given twice; name each CPU once");
  EXPECT_EQ(check_slots({{0}, {7}}, {0, 1}, "--slots 0,7").message(),
            "--slots 0,7: this process may run on 0,1 only; choose from those");
}

}  // namespace
}  // namespace tf::agent
