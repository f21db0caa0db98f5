#include "tracker/leases/matchmaker.h"

#include "tests/support/fake_clock.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;

class MatchmakerTest : public testing::Test {
 protected:
  void SetUp() override { remake(); }

  void remake() { matchmaker_ = std::make_unique<Matchmaker>(clock_, options_, policies_); }

  SlotKey add(const std::string& id, const std::string& key = "box", Labels labels = {}) {
    matchmaker_->describe(std::make_shared<const DeviceInfo>(
        DeviceInfo{.id = id, .key = key, .labels = std::move(labels), .slots = {{0, 2, 0}}}));
    matchmaker_->set_free({id, 0}, {});
    return {id, 0};
  }

  RequestId ask(const std::string& holder, int priority = 0, const std::string& selector = "") {
    const auto id = matchmaker_->add({.kind = {"box", {.selector = *Selector::parse(selector)}},
                                      .user = user_of(holder),
                                      .holder = holder,
                                      .holder_run = "run",
                                      .priority = priority,
                                      .wait = absl::Hours(10)});
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  }

  // The holder that gets the slot next.
  std::string next() {
    const std::optional<Match> match = matchmaker_->next();
    return match ? match->request.holder : "nobody";
  }

  void give_back(const SlotKey& slot, const std::string& holder) {
    matchmaker_->end(slot, user_of(holder));
    matchmaker_->set_free(slot, {});
  }

  absl::Status renew(const SlotKey& slot, const std::string& holder, absl::Duration held, int priority = 0) {
    return matchmaker_->may_renew({.slot = slot,
                                   .holder = holder,
                                   .holder_run = "run",
                                   .user = user_of(holder),
                                   .priority = priority,
                                   .granted_at = clock_.now() - held});
  }

  rpc::FakeClock clock_;
  MatchOptions options_;
  UserPolicies policies_;
  std::unique_ptr<Matchmaker> matchmaker_;
};

TEST_F(MatchmakerTest, GivesAFreeSlotAtOnceAndAFreedOneToWhoCameFirst) {
  const SlotKey slot = add("a");
  ask("x");
  EXPECT_EQ(next(), "x");
  ask("y");
  clock_.advance(absl::Seconds(1));
  ask("z");
  EXPECT_EQ(next(), "nobody");
  give_back(slot, "x");
  EXPECT_EQ(next(), "y");
  EXPECT_EQ(next(), "nobody");
}

TEST_F(MatchmakerTest, HigherPriorityOvertakesUntilTheLowerOneHasWaitedLongEnough) {
  const SlotKey slot = add("a");
  ask("holder");
  EXPECT_EQ(next(), "holder");
  ask("low", 0);
  clock_.advance(absl::Seconds(1));
  ask("high", 2);
  give_back(slot, "holder");
  EXPECT_EQ(next(), "high");
  clock_.advance(3 * options_.rank.ageing);
  ask("later", 2);
  give_back(slot, "high");
  EXPECT_EQ(next(), "low");
}

TEST_F(MatchmakerTest, SharesSlotsByTheUsersShares) {
  policies_.users["big"] = {.share = 3};
  policies_.users["small"] = {.share = 1};
  remake();
  const SlotKey slot = add("a");
  std::map<std::string, int> served;
  for (int i = 0; i < 50; ++i) {
    ask("big:" + std::to_string(i));
    ask("small:" + std::to_string(i));
  }
  for (int i = 0; i < 48; ++i) {
    const std::optional<Match> match = matchmaker_->next();
    ASSERT_TRUE(match);
    ++served[match->request.user];
    clock_.advance(absl::Seconds(20));
    give_back(slot, match->request.holder);
  }
  EXPECT_NEAR(served["big"], 36, 3) << "of 48, at three to one";
}

TEST_F(MatchmakerTest, SharesSlotsThatAreFreeAtOneMoment) {
  add("d0");
  matchmaker_->set_taken({"d0", 0});
  for (const std::string user : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) ask(user + ":" + std::to_string(i));
  }
  for (int i = 1; i <= 4; ++i) add("d" + std::to_string(i));
  std::map<std::string, int> served;
  while (const std::optional<Match> match = matchmaker_->next()) ++served[match->request.user];
  EXPECT_EQ(served["a"], 2);
  EXPECT_EQ(served["b"], 2);
}

TEST_F(MatchmakerTest, AQuotaHoldsBackItsUserAndNobodyElse) {
  policies_.everyone.max_slots = 1;
  remake();
  const SlotKey first = add("a");
  add("b");
  ask("x:1");
  ask("x:2");
  EXPECT_EQ(next(), "x:1");
  EXPECT_EQ(next(), "nobody");
  ask("y");
  EXPECT_EQ(next(), "y");
  add("c");
  EXPECT_EQ(next(), "nobody");
  give_back(first, "x:1");
  EXPECT_EQ(next(), "x:2");
}

TEST_F(MatchmakerTest, WhoAsksAgainSoonKeepsItsPlace) {
  const SlotKey slot = add("a");
  ask("holder");
  EXPECT_EQ(next(), "holder");
  const RequestId first = ask("first");
  clock_.advance(absl::Seconds(10));
  ask("second");
  EXPECT_TRUE(matchmaker_->withdraw(first));
  EXPECT_FALSE(matchmaker_->withdraw(first));
  clock_.advance(options_.place_kept);
  ask("first");
  give_back(slot, "holder");
  EXPECT_EQ(next(), "first");
}

TEST_F(MatchmakerTest, WhoAsksAgainLateHasLostItsPlace) {
  const SlotKey slot = add("a");
  ask("holder");
  EXPECT_EQ(next(), "holder");
  const RequestId first = ask("first");
  ask("second");
  matchmaker_->withdraw(first);
  clock_.advance(options_.place_kept + absl::Nanoseconds(1));
  ask("first");
  give_back(slot, "holder");
  EXPECT_EQ(next(), "second");
}

TEST_F(MatchmakerTest, OfAUserNoMorePlacesAreKeptThanItMayHaveRequestsWaiting) {
  policies_.users["x"] = {.max_waiting = 2};
  remake();
  const SlotKey slot = add("a");
  ask("holder");
  EXPECT_EQ(next(), "holder");
  for (int i = 0; i < 100; ++i) matchmaker_->withdraw(ask("x:" + std::to_string(i)));
  EXPECT_EQ(matchmaker_->queue().places(), 2u);
  for (int i = 0; i < 100; ++i) matchmaker_->withdraw(ask("x:0"));
  EXPECT_EQ(matchmaker_->queue().places(), 2u) << "its own, which it has taken each time";
  const RequestId first = ask("y");
  clock_.advance(absl::Seconds(1));
  ask("z");
  matchmaker_->withdraw(first);
  EXPECT_EQ(matchmaker_->queue().places(), 3u);
  ask("y");
  give_back(slot, "holder");
  EXPECT_EQ(next(), "y") << "whatever x does";
  clock_.advance(options_.place_kept + absl::Nanoseconds(1));
  ask("w");
  EXPECT_EQ(matchmaker_->queue().places(), 0u);
}

TEST_F(MatchmakerTest, ReservedSlotsGoToTheirUserWhoTakesThemFirst) {
  add("a");
  add("b");
  matchmaker_->set_free({"b", 0}, {.reserved_for = "alice", .standing = 0});
  ask("alice");
  const std::optional<Match> match = matchmaker_->next();
  ASSERT_TRUE(match);
  EXPECT_EQ(match->slot.device_id, "b");
  ask("bob");
  EXPECT_EQ(matchmaker_->next()->slot.device_id, "a");
  matchmaker_->end({"b", 0}, "alice");
  matchmaker_->set_free({"b", 0}, {.reserved_for = "alice", .standing = 0});
  ask("bob");
  EXPECT_EQ(next(), "nobody");
}

TEST_F(MatchmakerTest, DevicesOfPoorStandingAreTakenLast) {
  add("a");
  matchmaker_->set_free({"a", 0}, {.reserved_for = "", .standing = 1});
  add("b");
  ask("x");
  EXPECT_EQ(matchmaker_->next()->slot.device_id, "b");
  ask("x");
  EXPECT_EQ(matchmaker_->next()->slot.device_id, "a");
}

TEST_F(MatchmakerTest, LabelsDecideWhichDevicesDo) {
  add("a", "box", {{"room", "lab1"}});
  add("b", "box", {{"room", "lab2"}});
  ask("x", 0, "room=lab2");
  EXPECT_EQ(matchmaker_->next()->slot.device_id, "b");
  ask("y", 0, "room=lab2");
  EXPECT_EQ(next(), "nobody");
  const absl::Status none =
      matchmaker_->add({.kind = {"box", {.selector = *Selector::parse("room=lab3")}}, .user = "z"}).status();
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("labels with room=lab3"));
  add("a", "box", {{"room", "lab2"}});  // it comes back with another label
  EXPECT_EQ(next(), "y");
}

TEST_F(MatchmakerTest, LeaseIsRenewedForEverWhileNobodyWaits) {
  const SlotKey slot = add("a");
  ask("x");
  next();
  EXPECT_TRUE(renew(slot, "x", absl::Hours(100)).ok());
}

TEST_F(MatchmakerTest, LeaseMakesRoomAfterItsSliceForWhoWouldBeServedBefore) {
  const SlotKey slot = add("a");
  ask("x");
  next();
  clock_.advance(options_.slice);
  ask("y");
  EXPECT_TRUE(renew(slot, "x", options_.slice - absl::Nanoseconds(1)).ok());
  EXPECT_TRUE(absl::IsAborted(renew(slot, "x", options_.slice)));
  EXPECT_TRUE(renew(slot, "x", options_.slice, 5).ok()) << "y would come after it again";
}

TEST_F(MatchmakerTest, HigherPriorityShortensTheSliceDownToTheShortest) {
  const SlotKey slot = add("a");
  ask("x");
  next();
  clock_.advance(options_.slice);
  ask("y", 1);
  EXPECT_TRUE(renew(slot, "x", options_.slice / 2 - absl::Nanoseconds(1)).ok());
  EXPECT_TRUE(absl::IsAborted(renew(slot, "x", options_.slice / 2)));
  ask("z", 10);
  EXPECT_TRUE(renew(slot, "x", options_.shortest_slice - absl::Nanoseconds(1)).ok());
  EXPECT_TRUE(absl::IsAborted(renew(slot, "x", options_.shortest_slice)));
}

TEST_F(MatchmakerTest, OneRequestEndsOneLease) {
  const SlotKey first = add("a");
  const SlotKey second = add("b");
  ask("x");
  ask("x");
  next();
  next();
  clock_.advance(options_.slice);
  const RequestId id = ask("y");
  EXPECT_TRUE(absl::IsAborted(renew(first, "x", options_.slice)));
  EXPECT_TRUE(renew(second, "x", options_.slice).ok());
  EXPECT_TRUE(absl::IsAborted(renew(first, "x", options_.slice))) << "told once, told again";
  matchmaker_->withdraw(id);
  EXPECT_TRUE(renew(first, "x", options_.slice).ok()) << "nobody waits any more";
}

TEST_F(MatchmakerTest, AHolderMakesNoRoomForItself) {
  const SlotKey slot = add("a");
  ask("x:1");
  next();
  ask("x:1");
  clock_.advance(options_.slice);
  EXPECT_TRUE(renew(slot, "x:1", options_.slice).ok());
  ask("x:2");
  clock_.advance(options_.rank.ageing);
  EXPECT_TRUE(absl::IsAborted(renew(slot, "x:1", options_.slice))) << "another one of the same user waits";
}

TEST_F(MatchmakerTest, PriorityIsCutToWhatTheUserMayAskFor) {
  policies_.everyone.highest_priority = 0;
  remake();
  const SlotKey slot = add("a");
  ask("holder");
  next();
  ask("first", 0);
  clock_.advance(absl::Seconds(1));
  ask("second", 10);
  give_back(slot, "holder");
  EXPECT_EQ(next(), "first");
}

TEST_F(MatchmakerTest, ForgetsDemandsThatNobodyAsksFor) {
  add("a", "box", {{"n", "1"}});
  matchmaker_->set_taken({"a", 0});
  for (int i = 0; i < 1000; ++i) {
    matchmaker_->withdraw(ask("x", 0, "n!=" + std::to_string(i + 2)));
  }
  EXPECT_LE(matchmaker_->slots().met_by({"a", 0}).size(), 256u);
  matchmaker_->set_free({"a", 0}, {});
  ask("x", 0, "n!=2");
  EXPECT_EQ(next(), "x");
}

TEST_F(MatchmakerTest, LimitsHowManyDifferentThingsAUserWaitsFor) {
  policies_.everyone.max_demands = 3;
  remake();
  const SlotKey slot = add("a");
  ask("holder");
  ASSERT_EQ(next(), "holder");
  for (const char* selector : {"", "!x", "!y"}) ask("alice", 0, selector);
  ask("alice", 0, "!x");  // nothing new
  const auto ask_more = [&](const std::string& user) {
    return matchmaker_->add({.kind = {"box", {.selector = *Selector::parse("!z")}},
                             .user = user,
                             .holder = user,
                             .holder_run = "run",
                             .priority = 0,
                             .wait = absl::Hours(1)});
  };
  EXPECT_TRUE(absl::IsResourceExhausted(ask_more("alice").status())) << ask_more("alice").status();
  EXPECT_TRUE(ask_more("bob").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(ask_more("alice").status())) << "also if another has asked for it";
  give_back(slot, "holder");
  ASSERT_EQ(next(), "alice");
  EXPECT_TRUE(ask_more("alice").ok());
}

TEST_F(MatchmakerTest, UnknownKeyNamesTenOfTheKnownOnesAndThoseFirstThatAreLikeIt) {
  for (int i = 0; i < 1000; ++i) add("d" + std::to_string(i), "key" + std::to_string(i));
  add("pi", "raspberry-pi-4");
  const auto refused = matchmaker_->add({.kind = {"raspberry-pi4", {}},
                                         .user = "alice",
                                         .holder = "alice",
                                         .holder_run = "run",
                                         .priority = 0,
                                         .wait = absl::Hours(1)});
  EXPECT_TRUE(absl::IsNotFound(refused.status()));
  const std::string message(refused.status().message());
  EXPECT_THAT(message, HasSubstr("known keys: raspberry-pi-4, key0, key1, key10, "));
  EXPECT_THAT(message, HasSubstr("and 991 others"));
  EXPECT_LT(message.size(), 200u) << "a status travels in 8 KiB";
}

}  // namespace
}  // namespace tf::tracker
