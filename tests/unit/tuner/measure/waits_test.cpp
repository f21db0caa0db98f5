#include "tuner/measure/waits.h"

#include <gmock/gmock.h>

#include <vector>

namespace tf::measure {
namespace {

using testing::ElementsAre;

TEST(Waits, SaysEachChangeOnceWhoeverKnowsOfIt) {
  std::vector<std::string> said;
  Waits waits([&](const std::string& what) { said.push_back(what); });
  waits.set_of_stream("");
  EXPECT_THAT(said, ElementsAre()) << "who begins has all";
  waits.set_of_lease("no tracker answers");
  waits.set_of_stream("no tracker answers");
  waits.set_of_stream("no device is free");
  waits.set_of_lease("");
  waits.set_of_stream("");
  EXPECT_THAT(said, ElementsAre("no tracker answers", "no device is free", ""));
}

TEST(Waits, EndOnlyWhenNeitherKnowsOfAny) {
  std::vector<std::string> said;
  Waits waits([&](const std::string& what) { said.push_back(what); });
  waits.set_of_lease("no tracker answers");
  waits.set_of_stream("");
  EXPECT_THAT(said, ElementsAre("no tracker answers"));
  waits.set_of_lease("");
  EXPECT_THAT(said, ElementsAre("no tracker answers", ""));
}

TEST(Waits, NeedNobodyWhoListens) {
  Waits waits(nullptr);
  waits.set_of_lease("no tracker answers");
}

}  // namespace
}  // namespace tf::measure
