// Which of many measurements every Store calls the best.

#include "tests/unit/database/store_contract.h"

namespace tf::database {
namespace {

class BestContract : public StoreContract {};

// Measured so often, and so evenly, that half a percent is no luck.
Measurement steady(int64_t ns, int64_t time) {
  Measurement m = measured(ns, time);
  m.samples.assign(12, {ns * 10, 10});
  return m;
}

Measurement untuned(int64_t ns, int64_t time) {
  Measurement m = steady(ns, time);
  m.schedule = "untuned";
  m.untuned = true;
  return m;
}

TEST_P(BestContract, TheUntunedScheduleStaysBestUntilAnotherIsSurelyFaster) {
  insert(untuned(1000, 1));
  insert(steady(995, 2));
  EXPECT_EQ(best({conv_problem()})->schedule, "untuned") << "a tie is no reason to change";
  Measurement unsure = measured(900, 3);
  insert(unsure);
  EXPECT_EQ(best({conv_problem()})->schedule, "untuned") << "three samples that differ by a quarter";
  insert(untuned(960, 4));
  insert(steady(950, 5));
  insert(steady(940, 6));
  Measurement again = steady(950, 7);
  again.schedule = unsure.schedule;
  insert(again);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 940) << "by the last measurement of each";
  EXPECT_EQ(store_->top({conv_problem()}, 1)->front().median_ns(), 940);
  BestQuery elsewhere{conv_problem()};
  elsewhere.device_class = "another";
  EXPECT_FALSE(best(elsewhere).has_value());
  Measurement fast = steady(100, 8);
  fast.device.device_class = "another";
  insert(fast);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 100) << "the untuned schedule has no time there";
}

// Of ten samples that differ by a tenth: nothing is sure but by interleaved trials.
Measurement interleaved_with(Measurement m, int64_t began_unix_ns, double ns, Interval interval_ns) {
  m.samples = {{800, 1}, {900, 1}, {1000, 1}, {1100, 1}, {1200, 1}};
  m.interleaved = Interleaved{.began_unix_ns = began_unix_ns, .ns = ns, .interval_ns = interval_ns};
  return m;
}

TEST_P(BestContract, AMatchDecidesWhoIsFaster) {
  insert(interleaved_with(measured(700, 1), 10, 950, {950, 950}));
  insert(interleaved_with(measured(710, 1), 10, 960, {945, 975}));
  insert(interleaved_with(untuned(990, 1), 10, 990, {970, 1010}));
  const std::vector<Measurement> top = store_->top({conv_problem()}, 3).value();
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].schedule, measured(700).schedule);
  EXPECT_EQ(top[1].schedule, measured(710).schedule);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 950) << "though their samples are the same";
  insert(interleaved_with(untuned(990, 2), 20, 990, {970, 1010}));
  EXPECT_EQ(best({conv_problem()})->schedule, "untuned") << "they have not met in those trials";
}

TEST_P(BestContract, OneThatIsUnsureHidesNoneThatIsSure) {
  insert(untuned(1000, 1));
  insert(steady(900, 2));
  Measurement unsure = measured(895, 3);
  unsure.samples = {{895, 1}, {890, 1}, {1010, 1}};
  insert(unsure);
  EXPECT_EQ(store_->top({conv_problem()}, 1)->front().median_ns(), 895);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 900);
}

TEST_P(BestContract, WhatFailedWhenItWasMeasuredAgainIsNoAnswer) {
  for (const Outcome outcome :
       {Outcome::kWrongOutput, Outcome::kImplausible, Outcome::kCrashed, Outcome::kTimedOut}) {
    const auto code = static_cast<int64_t>(outcome);
    Measurement again = measured(100 + code, 2);
    insert(measured(100 + code, 1));
    insert(measured(200, code));
    ASSERT_EQ(best({conv_problem()})->schedule, again.schedule);
    again.outcome = outcome;
    again.samples.clear();
    again.numerics = {};
    insert(again);
    EXPECT_EQ(best({conv_problem()})->median_ns(), 200) << outcome_name(outcome);
  }
  Measurement again = measured(104, 3);
  again.outcome = Outcome::kStoppedEarly;
  insert(again);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 200) << "a bound changes nothing";
  again.outcome = Outcome::kOk;
  insert(again);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 104) << "the last one counts";
}

TEST_P(BestContract, TheUntunedScheduleIsTheOneThatWasLastCalledSo) {
  Measurement old = untuned(800, 1);
  old.schedule = "the default of before";
  insert(old);
  insert(untuned(1000, 2));
  insert(steady(850, 3));
  BestQuery query{conv_problem()};
  query.of = BestQuery::Of::kUntuned;
  EXPECT_EQ(store_->top(query, 1)->front().median_ns(), 1000);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 800) << "that of before may be used, as any other";
  Measurement again = old;
  again.finished_unix_ns = 4;
  insert(again);
  EXPECT_EQ(store_->top(query, 1)->front().median_ns(), 800);
}

TEST_P(BestContract, FollowsAVerdictOnTheNetwork) {
  insert(untuned(1000, 1));
  insert(steady(995, 2));
  insert(steady(2000, 3));
  const auto choose = [&](NetworkVerdict::Takes takes) {
    BestQuery query{conv_problem()};
    query.takes = takes;
    const absl::StatusOr<std::optional<Choice>> choice = store_->choose(query);
    EXPECT_TRUE(choice.ok() && choice->has_value()) << choice.status();
    return (*choice).value();
  };
  EXPECT_EQ(best({conv_problem()})->median_ns(), 1000) << "not surely faster";
  EXPECT_EQ(choose(NetworkVerdict::Takes::kFastest).record.median_ns(), 995);
  EXPECT_EQ(choose(NetworkVerdict::Takes::kFastest).why, Why::kVerified);
  EXPECT_EQ(why_name(Why::kVerified), "verified");
  insert(steady(500, 4));
  EXPECT_EQ(choose(NetworkVerdict::Takes::kUntuned).record.median_ns(), 1000)
      << "though another is surely faster";
  EXPECT_EQ(choose(NetworkVerdict::Takes::kUntuned).why, Why::kNoGain);
  insert(untuned(400, 5));
  EXPECT_EQ(choose(NetworkVerdict::Takes::kFastest).why, Why::kFastest);
}

TEST_P(BestContract, StaysWithoutARecordWhereTheVerdictIsUntunedAndNoneIs) {
  insert(steady(900, 2));
  BestQuery query{conv_problem()};
  query.takes = NetworkVerdict::Takes::kUntuned;
  EXPECT_FALSE(best(query).has_value());
}

TEST_P(BestContract, SaysWhyABuildTakesWhatItTakes) {
  const auto why = [&]() -> std::optional<Why> {
    const absl::StatusOr<std::optional<Choice>> choice = store_->choose({conv_problem()});
    EXPECT_TRUE(choice.ok()) << choice.status();
    if (!choice->has_value()) return std::nullopt;
    EXPECT_EQ((*choice)->record.schedule, best({conv_problem()})->schedule) << "the same choice";
    return (*choice)->why;
  };
  EXPECT_EQ(why(), std::nullopt);
  insert(steady(2000, 1));
  EXPECT_EQ(why(), Why::kUnchecked);
  insert(untuned(1000, 1));
  EXPECT_EQ(why(), Why::kFastest);
  insert(steady(995, 2));
  EXPECT_EQ(why(), Why::kUnproven);
  insert(steady(900, 2));
  EXPECT_EQ(why(), Why::kFaster);
}

INSTANTIATE_TEST_SUITE_P(Kinds, BestContract, every_kind_of_store(), name_of_kind);

}  // namespace
}  // namespace tf::database
