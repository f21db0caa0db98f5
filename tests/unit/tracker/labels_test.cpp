#include "tracker/leases/labels.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;

bool matches(const std::string& selector, const Labels& labels) {
  const absl::StatusOr<Selector> parsed = Selector::parse(selector);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() && parsed->matches(labels);
}

TEST(Selector, HoldsWhereAllItsRequirementsHold) {
  const Labels labels = {{"room", "lab3"}, {"board", "pi4"}, {"calibrated", ""}};
  EXPECT_TRUE(matches("", labels));
  EXPECT_TRUE(matches(" room = lab3 , board==pi4", labels));
  EXPECT_FALSE(matches("room=lab3,board=pi5", labels));
  EXPECT_TRUE(matches("calibrated,!shared", labels));
  EXPECT_FALSE(matches("shared", labels));
  EXPECT_FALSE(matches("!room", labels));
  EXPECT_TRUE(matches("board!=pi5", labels));
  EXPECT_FALSE(matches("board!=pi4", labels));
}

TEST(Selector, NotEqualHoldsWhereTheLabelIsAbsentAsInKubernetes) {
  EXPECT_TRUE(matches("board!=pi4", {}));
  EXPECT_FALSE(matches("board=", {}));
  EXPECT_TRUE(matches("board=", {{"board", ""}}));
}

TEST(Selector, IsEqualToAnotherThatAsksForTheSame) {
  EXPECT_EQ(*Selector::parse("a=1,b!=2,a==1"), *Selector::parse("b!=2, a=1"));
  EXPECT_NE(*Selector::parse("a=1"), *Selector::parse("a=2"));
}

TEST(Selector, IsReadBackFromItsText) {
  for (const std::string text : {"", "a=1", "a!=1,b,!c", "x/y.z=v-1_2", "a="}) {
    const Selector selector = *Selector::parse(text);
    EXPECT_EQ(*Selector::parse(selector.text()), selector) << text;
  }
}

TEST(Selector, NamesWhatItDoesNotUnderstand) {
  for (const std::string text : {",", "a=1,", "=1", "a=b=c", "a b", "-a", "a=-", "!", "a in (b)"}) {
    const absl::Status refused = Selector::parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << text;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("use up to 63 letters")) << text;
  }
}

TEST(Selector, NamesTheFirstRequirementThatIsNotMet) {
  EXPECT_EQ(Selector::parse("a=1,b=2")->unmet({{"a", "1"}}), "b=2");
  EXPECT_EQ(Selector::parse("a=1")->unmet({{"a", "1"}}), "");
}

TEST(Labels, AreCheckedLikeSelectors) {
  EXPECT_TRUE(check_labels({{"room", "lab-3"}, {"empty", ""}}).ok());
  EXPECT_FALSE(check_labels({{"", "x"}}).ok());
  EXPECT_FALSE(check_labels({{"a=b", "x"}}).ok());
  EXPECT_FALSE(check_labels({{"a", std::string(64, 'x')}}).ok());
}

}  // namespace
}  // namespace tf::tracker
