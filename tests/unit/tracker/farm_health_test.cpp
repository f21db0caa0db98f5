#include "proto/farm/v1/farm.pb.h"
#include "tests/unit/tracker/farm_fixture.h"
#include "tracker/leases/device_wire.h"

namespace tf::tracker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FarmHealthTest : public FarmTest {};

TEST_F(FarmHealthTest, CandidateThatCrashedOnTwoDevicesIsAnsweredWithoutBeingRun) {
  const auto a = attach("a");
  const auto b = attach("b");
  const TrialFacts bad{.candidate = "bad", .run_timeout = absl::Seconds(1)};
  for (const auto& [device, session] : {std::pair("a", a), std::pair("b", b)}) {
    const Lease granted = lease();
    EXPECT_EQ(granted.slot.device_id, device);
    const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
    farm_->submit(*stream, 1, "trial", bad);
    AgentReply crashed = reply(granted, 1);
    crashed.end = TrialEnd::kCrashed;
    farm_->report(session, {crashed}, false);
  }
  attach("c");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  const int wakes = holder->wakes;
  farm_->submit(*stream, 1, "trial", bad);
  EXPECT_GT(holder->wakes, wakes);
  EXPECT_EQ(farm_->take_replies(*stream).size(), 1u);
  EXPECT_EQ(devices_of(*farm_)[2].slots[0].unanswered, 0u);
  farm_->submit(*stream, 2, "trial", {.candidate = "other", .run_timeout = absl::Seconds(1)});
  EXPECT_EQ(devices_of(*farm_)[2].slots[0].unanswered, 1u);
}

TEST_F(FarmHealthTest, QuarantinedDeviceTellsSinceWhenAlsoAfterARestart) {
  absl::Time wall = absl::FromUnixSeconds(1'000'000);
  static absl::Time* shown = nullptr;
  shown = &wall;
  options_.wall_now = [] { return *shown; };
  options_.health.quarantine_after = 1;
  open();
  const auto session = attach("d");
  const Lease granted = lease();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  farm_->submit(*stream, 1, "trial", {.candidate = "c", .run_timeout = absl::Seconds(1)});
  AgentReply crashed = reply(granted, 1);
  crashed.end = TrialEnd::kCrashed;
  farm_->report(session, {crashed}, false);
  EXPECT_EQ(devices_of(*farm_).at(0).health_for, absl::ZeroDuration());
  clock_.advance(absl::Minutes(3));
  wall += absl::Minutes(3);
  farm_->save().IgnoreError();
  wall += absl::Minutes(9);  // the tracker is away
  open();
  EXPECT_EQ(devices_of(*farm_).at(0).health, Health::kQuarantined);
  EXPECT_EQ(devices_of(*farm_).at(0).health_for, absl::Minutes(12));
}

TEST_F(FarmHealthTest, DeviceOnWhichManyCandidatesCrashIsQuarantinedUntilItsGoldenKernelIsInPlace) {
  options_.health.quarantine_after = 4;
  open();
  std::vector<std::string> need_help;
  farm_->on_help_needed([&](const std::string& device, const std::string&) { need_help.push_back(device); });
  auto session = attach("a");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  for (uint64_t i = 1; i <= 4; ++i) {
    farm_->submit(*stream, i, "trial",
                  {.candidate = "c" + std::to_string(i), .run_timeout = absl::Seconds(1)});
    AgentReply crashed = reply(granted, i);
    crashed.end = TrialEnd::kCrashed;
    EXPECT_TRUE(holder->closed.ok()) << i;
    farm_->report(session, {crashed}, false);
  }
  EXPECT_TRUE(absl::IsNotFound(holder->closed)) << holder->closed;
  EXPECT_THAT(std::string(holder->closed.message()), HasSubstr("quarantined"));
  EXPECT_THAT(need_help, ElementsAre("a"));
  EXPECT_TRUE(farm_->take_desired(session).at(0).golden_wanted);
  EXPECT_THAT(std::string(acquire("box")->grant->status().message()), HasSubstr("1 quarantined"));
  open();  // remembered
  session = attach("a");
  EXPECT_TRUE(absl::IsUnavailable(acquire("box")->grant->status()));
  const auto requester = acquire("box", absl::Minutes(5), "other");
  farm_->report_golden(
      session, {{.slot = 0, .kernel = "k", .time_ns = 1'000'000, .spread = 0.01, .taken_at = clock_.now()}});
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kProbation);
  EXPECT_TRUE(requester->grant && requester->grant->ok());
}

TEST_F(FarmHealthTest, QuarantineEndsInTimeWhereNoGoldenKernelRuns) {
  options_.health.quarantine_after = 1;
  open();
  const auto session = attach("a");
  const Lease granted = lease();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  farm_->submit(*stream, 1, "trial", {.candidate = "c", .run_timeout = absl::Seconds(1)});
  AgentReply crashed = reply(granted, 1);
  crashed.end = TrialEnd::kCrashed;
  farm_->report(session, {crashed}, false);
  EXPECT_EQ(farm_->tick(), clock_.now() + options_.health.shortest_quarantine);
  clock_.advance(options_.health.shortest_quarantine);
  farm_->tick();
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kProbation);
  EXPECT_TRUE(acquire("box")->grant->ok());
}

class FarmLossTest : public FarmHealthTest {
 protected:
  void SetUp() override {
    FarmHealthTest::SetUp();
    watch();
  }

  void watch() {
    farm_->on_help_needed(
        [this](const std::string& device, const std::string&) { help_needed_.push_back(device); });
  }

  // A device that has been shown a trial of this candidate.
  Farm::SessionId measuring(const std::string& id, const std::string& candidate = "c") {
    const auto session = attach(id, id);
    submit(id, candidate);
    EXPECT_EQ(farm_->take_desired(session).at(0).window.size(), 1u);
    return session;
  }

  void submit(const std::string& key, const std::string& candidate) {
    const Lease granted = lease(key);
    const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
    farm_->submit(*stream, 1, "trial", {.candidate = candidate, .run_timeout = absl::Seconds(1)});
  }

  void pass(absl::Duration time) {
    clock_.advance(time);
    farm_->tick();
  }

  Health health_of(const std::string& id) {
    for (const DeviceStatus& device : devices_of(*farm_))
      if (device.info->id == id) return device.health;
    return Health::kHealthy;
  }

  std::vector<std::string> help_needed_;
};

TEST_F(FarmLossTest, OfADeviceThatDoesNotComeBackNeedsHelp) {
  farm_->detach(measuring("a"));
  pass(options_.agent_grace);
  EXPECT_EQ(health_of("a"), Health::kSuspect);
  EXPECT_THAT(help_needed_, IsEmpty()) << "a line that is cut is usually whole again by then";
  EXPECT_EQ(farm_->tick(), clock_.now() + options_.missing_after - options_.agent_grace);
  pass(options_.missing_after);
  EXPECT_THAT(help_needed_, ElementsAre("a"));
  pass(options_.missing_after);
  EXPECT_EQ(help_needed_.size(), 1u);
  farm_->detach(attach("a", "a"));
  pass(options_.agent_grace + options_.missing_after);
  EXPECT_EQ(help_needed_.size(), 1u) << "idle devices may come and go";
}

TEST_F(FarmLossTest, OfADeviceThatComesBackIsNone) {
  farm_->detach(measuring("a"));
  pass(options_.agent_grace + absl::Seconds(10));
  attach("a", "a");
  pass(options_.missing_after);
  EXPECT_THAT(help_needed_, IsEmpty());
}

TEST_F(FarmLossTest, OfALineSaysNothingOfDevicesAndCandidates) {
  for (const char* again : {"first", "second"}) {
    std::vector<Farm::SessionId> sessions;
    for (const char* id : {"a", "b", "c"}) sessions.push_back(measuring(id));
    for (const Farm::SessionId session : sessions) {
      farm_->detach(session);
      clock_.advance(absl::Seconds(3));  // they notice one after another
    }
    for (int i = 0; i < 40; ++i) pass(absl::Seconds(1));
    for (const char* id : {"a", "b", "c"}) EXPECT_EQ(health_of(id), Health::kHealthy) << again << " " << id;
  }
  pass(options_.missing_after);
  EXPECT_THAT(help_needed_, IsEmpty());
  measuring("d");  // is shown the candidate, and not answered with what is known
}

TEST_F(FarmLossTest, OfTwoDevicesWithTheSameCandidateBlocksItNot) {
  for (const char* id : {"a", "b"}) {
    farm_->detach(measuring(id));
    pass(absl::Minutes(1));
  }
  measuring("c");
  EXPECT_EQ(devices_of(*farm_)[2].slots[0].unanswered, 1u);
}

TEST_F(FarmLossTest, OfADeviceThatWasAwayWhenItsTrialCameIsNone) {
  const auto session = attach("a", "a");
  const Lease granted = lease("a");
  farm_->take_desired(session);
  farm_->detach(session);
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  farm_->submit(*stream, 1, "trial", {.candidate = "c", .run_timeout = absl::Seconds(1)});
  pass(options_.agent_grace + options_.missing_after);
  EXPECT_EQ(health_of("a"), Health::kHealthy);
  EXPECT_THAT(help_needed_, IsEmpty());
}

// Its holder goes straight to the agent: the tracker sees no trial of it.
TEST_F(FarmLossTest, OfADeviceThatIsUsedDirectlyNeedsHelpAsWell) {
  const auto session = attach_listening("a", "a");
  lease("a");
  farm_->detach(session);
  pass(options_.agent_grace);
  EXPECT_EQ(health_of("a"), Health::kSuspect);
  pass(options_.missing_after);
  EXPECT_THAT(help_needed_, ElementsAre("a"));
}

TEST_F(FarmLossTest, OfADeviceThatListensAndMeasuresNothingIsNone) {
  farm_->detach(attach_listening("idle", "idle"));
  pass(absl::Minutes(1));
  const auto session = attach_listening("b", "b");
  const Lease granted = lease("b");
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  ASSERT_TRUE(stream.ok());  // its holder goes through the tracker, and has no trial under way
  farm_->detach(session);
  pass(options_.agent_grace + options_.missing_after);
  for (const char* id : {"idle", "b"}) EXPECT_EQ(health_of(id), Health::kHealthy) << id;
  EXPECT_THAT(help_needed_, IsEmpty());
}

TEST_F(FarmHealthTest, AUserWhoseCandidatesAllFailTakesNoDeviceOutThatItsGoldenKernelVindicates) {
  options_.health.quarantine_after = 4;
  open();
  const auto session = attach("a");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  const auto golden = [&] {
    clock_.advance(absl::Seconds(10));
    farm_->report_golden(
        session, {{.slot = 0, .kernel = "k", .time_ns = 1'000'000, .spread = 0, .taken_at = clock_.now()}});
  };
  golden();
  for (uint64_t i = 1; i <= 40; ++i) {
    farm_->submit(*stream, i, "trial",
                  {.candidate = "c" + std::to_string(i), .run_timeout = absl::Seconds(1)});
    AgentReply late = reply(granted, i);
    late.end = TrialEnd::kTimedOut;
    farm_->report(session, {late}, false);
    ASSERT_NE(devices_of(*farm_)[0].health, Health::kQuarantined) << i;
    if (i % 10 != 0) continue;
    EXPECT_EQ(devices_of(*farm_)[0].health, Health::kSuspect);
    golden();
    EXPECT_EQ(devices_of(*farm_)[0].health, Health::kHealthy);
  }
  EXPECT_TRUE(holder->closed.ok());
}

TEST_F(FarmHealthTest, SlotsThatAreOffAtTheSameMomentAreOneSuspicionWhichEachHasToClear) {
  const DeviceInfo info{
      .id = "a", .key = "box", .slots = {{0, 2, 0}, {1, 2, 0}}, .hello = hello_bytes("a", "box")};
  const auto session = *farm_->attach(info, "run", std::make_shared<FakeLink>());
  const auto report = [&](uint32_t slot, int64_t time_ns) {
    farm_->report_golden(
        session, {{.slot = slot, .kernel = "k", .time_ns = time_ns, .spread = 0, .taken_at = clock_.now()}});
  };
  const auto health = [&] { return devices_of(*farm_)[0].health; };
  for (int i = 0; i < 5; ++i) {
    clock_.advance(absl::Minutes(5));
    for (const uint32_t slot : {0, 1}) report(slot, 1'000'000);
  }
  clock_.advance(absl::Minutes(5));
  for (const uint32_t slot : {0, 1}) {
    report(slot, 1'500'000);
    clock_.advance(absl::Milliseconds(50));
  }
  EXPECT_EQ(health(), Health::kSuspect);
  clock_.advance(absl::Seconds(10));
  report(0, 1'000'000);
  EXPECT_EQ(health(), Health::kSuspect) << "the other one is still off";
  report(1, 1'000'000);
  EXPECT_EQ(health(), Health::kHealthy);
  report(1, 1'500'000);
  clock_.advance(absl::Seconds(10));
  report(0, 1'000'000);
  report(1, 1'500'000);
  EXPECT_EQ(health(), Health::kQuarantined);
}

TEST_F(FarmHealthTest, ReadmittedDeviceIsJudgedByWhatItIsNow) {
  auto session = attach("a");
  const auto report = [&](int64_t time_ns) {
    clock_.advance(absl::Minutes(5));
    farm_->report_golden(
        session, {{.slot = 0, .kernel = "k", .time_ns = time_ns, .spread = 0, .taken_at = clock_.now()}});
  };
  for (int i = 0; i < 5; ++i) report(1'000'000);
  for (int i = 0; i < 2; ++i) report(1'500'000);
  ASSERT_EQ(devices_of(*farm_)[0].health, Health::kQuarantined);
  ASSERT_TRUE(farm_->readmit("a").ok());
  open();  // the old baseline is gone for good
  session = attach("a");
  for (int i = 0; i < 5; ++i) report(1'500'000);
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kHealthy);
  EXPECT_EQ(devices_of(*farm_)[0].slots[0].golden.baseline().time_ns, 1.5e6);
}

TEST_F(FarmHealthTest, GoldenBaselineSurvivesARestartAndTheDriftIsAgainstIt) {
  auto session = attach("a");
  const auto report = [&](int64_t time_ns) {
    clock_.advance(absl::Minutes(1));
    farm_->report_golden(session, {{.slot = 0, .kernel = "k", .time_ns = time_ns, .taken_at = clock_.now()}});
  };
  for (int i = 0; i < 5; ++i) report(1'000'000);
  open();
  session = attach("a");
  report(1'050'000);
  EXPECT_NEAR(devices_of(*farm_)[0].slots[0].golden.drift(), 0.05, 1e-9);
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kHealthy);
  report(1'500'000);
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kSuspect);
  report(1'500'000);
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kQuarantined);
  ASSERT_TRUE(farm_->readmit("a").ok());
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kProbation);
  EXPECT_TRUE(absl::IsNotFound(farm_->readmit("nobody")));
}

// Without a golden kernel anywhere.
TEST_F(FarmHealthTest, UserWhoseCandidatesAllTimeOutTakesOutOneDeviceAtMost) {
  options_.health.quarantine_after = 4;
  open();
  std::map<std::string, Farm::SessionId> sessions;
  for (const char* id : {"a", "b", "c", "d"}) sessions[id] = attach(id);
  int candidate = 0;
  for (int i = 0; i < 12; ++i) {
    const Lease granted = lease();
    const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
    for (uint64_t sequence = 1; sequence <= 8; ++sequence) {
      farm_->submit(*stream, sequence, "trial",
                    {.candidate = std::to_string(++candidate), .run_timeout = absl::Seconds(1)});
      AgentReply slow = reply(granted, sequence);
      slow.end = TrialEnd::kTimedOut;
      farm_->report(sessions.at(granted.slot.device_id), {slow}, false);
    }
    farm_->release(granted.id, granted.epoch);
  }
  const auto devices = devices_of(*farm_);
  EXPECT_EQ(std::ranges::count(devices, Health::kQuarantined, &DeviceStatus::health), 1);
  EXPECT_EQ(std::ranges::count(devices, Health::kHealthy, &DeviceStatus::health), 3);
}

TEST_F(FarmHealthTest, QuarantineByTheGoldenKernelIsNotEndedByTimeAfterARestart) {
  for (const bool says_so : {true, false}) {
    remove_files();
    open();
    tunefarm::farm::v1::AgentHello hello;
    hello.set_agent_id("a");
    hello.set_device_key("box");
    hello.add_slots()->add_cpus(0);
    if (says_so) hello.mutable_facts()->add_capabilities(tunefarm::farm::v1::CAPABILITY_GOLDEN_KERNEL);
    const auto session = *farm_->attach(*device_from_proto(hello), "run", std::make_shared<FakeLink>());
    for (int i = 0; i < 2; ++i) {
      clock_.advance(absl::Minutes(1));
      farm_->report_golden(session, {{.slot = 0, .kernel = "k", .time_ns = 0, .taken_at = clock_.now()}});
    }
    ASSERT_EQ(devices_of(*farm_)[0].health, Health::kQuarantined);
    open();  // while its agent is away
    clock_.advance(options_.health.longest_quarantine);
    farm_->tick();
    EXPECT_EQ(devices_of(*farm_)[0].health, says_so ? Health::kQuarantined : Health::kProbation);
  }
}

TEST_F(FarmHealthTest, TimesThatMeanNothingEndNoQuarantine) {
  auto session = attach("a");
  const auto report = [&](int64_t time_ns, double spread) {
    clock_.advance(absl::Minutes(1));
    farm_->report_golden(
        session,
        {{.slot = 0, .kernel = "k", .time_ns = time_ns, .spread = spread, .taken_at = clock_.now()}});
  };
  for (int i = 0; i < 2; ++i) report(0, 0);
  ASSERT_EQ(devices_of(*farm_)[0].health, Health::kQuarantined);
  for (int i = 0; i < 6; ++i) report(3'000'000, 3);
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kQuarantined);
  report(1'000'000, 0.01);
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kProbation);
}

}  // namespace
}  // namespace tf::tracker
