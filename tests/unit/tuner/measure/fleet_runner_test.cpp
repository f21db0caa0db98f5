#include "tuner/measure/fleet_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using tunefarm::farm::v1::DeviceState;
using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

bool soon(const std::function<bool()>& is_true) {
  for (int i = 0; i < 2000 && !is_true(); ++i) absl::SleepFor(absl::Milliseconds(5));
  return is_true();
}

// What all fake devices share: which are free, what they do.
struct FakeFarm {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> free;
  std::map<std::string, std::string> kinds;             // of devices that are not "f1"
  std::map<std::string, std::vector<std::string>> ran;  // candidates, by device
  std::set<std::string> shut;                           // devices whose trials wait
  std::set<std::string> gone;                           // devices whose leases have ended
  std::set<std::string> broken;                         // devices that cannot measure
  std::set<std::string> away;                           // devices that the tracker has lost
  std::map<std::string, std::function<void(const std::string&)>> waits;
  std::vector<std::string> acknowledged;  // leases
  int leases = 0, running = 0, most_running = 0;

  void with_lock(const std::function<void()>& change) {
    const std::scoped_lock lock(mutex);
    change();
    changed.notify_all();
  }
};

class FakeLease final : public LeasedRunner {
 public:
  FakeLease(FakeFarm& farm, LeasedDevice device) : farm_(farm), device_(std::move(device)) {}
  ~FakeLease() override {
    farm_.with_lock([&] {
      if (!farm_.gone.contains(device_.device_id)) farm_.free.insert(device_.device_id);
    });
  }

  absl::StatusOr<TrialResult> run(const MeasureRequest& request) override {
    std::unique_lock lock(farm_.mutex);
    const std::string& id = device_.device_id;
    farm_.ran[id].push_back(request.candidate.digest);
    farm_.most_running = std::max(farm_.most_running, ++farm_.running);
    farm_.changed.notify_all();
    farm_.changed.wait(lock,
                       [&] { return cancelled_ || farm_.gone.contains(id) || !farm_.shut.contains(id); });
    --farm_.running;
    if (cancelled_) return absl::CancelledError("cancelled");
    if (farm_.gone.contains(id)) return absl::UnavailableError("the lease has ended");
    if (farm_.broken.contains(id)) return absl::UnavailableError("could not measure");
    TrialResult result;
    result.set_lease_id(device_.lease_id);
    result.set_slot(device_.slot_name());
    result.set_outcome(tunefarm::farm::v1::OUTCOME_OK);
    result.add_samples()->set_iterations(1);
    result.mutable_samples(0)->set_total_ns(1000);
    return result;
  }
  void acknowledge(const TrialResult& result) override {
    farm_.with_lock([&] { farm_.acknowledged.push_back(result.lease_id()); });
  }
  void cancel() override {
    farm_.with_lock([&] { cancelled_ = true; });
  }
  LeasedDevice leased_device() const override { return device_; }
  bool has_ended() const override {
    const std::scoped_lock lock(farm_.mutex);
    return cancelled_ || farm_.gone.contains(device_.device_id);
  }
  bool is_device_away() const override {
    const std::scoped_lock lock(farm_.mutex);
    return farm_.away.contains(device_.device_id);
  }

 private:
  FakeFarm& farm_;
  const LeasedDevice device_;
  bool cancelled_ = false;
};

class FleetTest : public testing::Test {
 protected:
  FleetOptions options(size_t slots) {
    FleetOptions made;
    made.target.slots = slots;
    made.first_wait = absl::Milliseconds(200);
    made.away_grace = grace_;
    made.open = [this](absl::Duration wait, const auto& on_wait) { return lease(wait, on_wait); };
    made.on_wait = [this](const std::string& what) { farm_.with_lock([&] { waited_for_.push_back(what); }); };
    return made;
  }
  absl::StatusOr<std::unique_ptr<LeasedRunner>> lease(
      absl::Duration wait, const std::function<void(const std::string&)>& on_wait) {
    std::unique_lock lock(farm_.mutex);
    farm_.changed.wait_for(lock, absl::ToChronoMilliseconds(std::min(wait, absl::Milliseconds(100))),
                           [&] { return !farm_.free.empty(); });
    if (farm_.free.empty()) return absl::UnavailableError("no device is free");
    const std::string id = *farm_.free.begin();
    farm_.free.erase(id);
    farm_.waits[id] = on_wait;
    const std::string kind = farm_.kinds.contains(id) ? farm_.kinds[id] : "f1";
    return std::make_unique<FakeLease>(
        farm_,
        LeasedDevice{.lease_id = absl::StrCat("l", ++farm_.leases), .device_id = id, .fingerprint = kind});
  }
  void connect(size_t slots) {
    auto fleet = FleetRunner::connect(options(slots));
    ASSERT_TRUE(fleet.ok()) << fleet.status();
    fleet_ = *std::move(fleet);
  }
  absl::StatusOr<TrialResult> measure(const std::string& candidate, uint64_t bench = 0) {
    const Trial trial;
    MeasureRequest request{.trial = &trial, .bench = bench};
    request.candidate.digest = candidate;
    return fleet_->run(request);
  }
  // A trial whose time is compared with others'.
  std::future<absl::StatusOr<TrialResult>> begin_compared(const std::string& candidate) {
    return std::async(std::launch::async, [=, this] {
      const Trial trial;
      MeasureRequest request{.trial = &trial};
      request.candidate.digest = candidate;
      request.reference.digest = "task";
      return fleet_->run(request);
    });
  }
  std::vector<std::string> ran_on(const std::string& device) {
    const std::scoped_lock lock(farm_.mutex);
    return farm_.ran[device];
  }
  std::future<absl::StatusOr<TrialResult>> begin(const std::string& candidate, uint64_t bench = 0) {
    return std::async(std::launch::async, [=, this] { return measure(candidate, bench); });
  }
  // Devices that measured any of these candidates.
  std::set<std::string> who_ran() {
    const std::scoped_lock lock(farm_.mutex);
    std::set<std::string> ids;
    for (const auto& [id, candidates] : farm_.ran) ids.insert(id);
    return ids;
  }

  FakeFarm farm_;
  absl::Duration grace_ = absl::Milliseconds(300);
  std::vector<std::string> waited_for_;
  std::unique_ptr<FleetRunner> fleet_;
};

TEST_F(FleetTest, TakesAllSlotsThatAreFreeUpToItsTargetAndSpreadsTrials) {
  farm_.free = {"a", "b", "c", "d"};
  connect(3);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 3; }));
  absl::SleepFor(absl::Milliseconds(150));
  EXPECT_EQ(fleet_->slots(), 3);
  farm_.with_lock([&] { farm_.shut = {"a", "b", "c", "d"}; });
  std::vector<std::future<absl::StatusOr<TrialResult>>> trials;
  for (int i = 0; i < 3; ++i) trials.push_back(begin(absl::StrCat("x", i)));
  ASSERT_TRUE(soon([&] { return who_ran().size() == 3; })) << "one trial on each device";
  farm_.with_lock([&] { farm_.shut.clear(); });
  for (auto& trial : trials) EXPECT_TRUE(trial.get().ok());
}

TEST_F(FleetTest, JoinsADeviceThatComesLater) {
  farm_.free = {"a"};
  connect(2);
  EXPECT_EQ(fleet_->slots(), 1);
  farm_.with_lock([&] { farm_.free.insert("b"); });
  EXPECT_TRUE(soon([&] { return fleet_->slots() == 2; }));
}

TEST_F(FleetTest, RepeatsElsewhereWhatALostDeviceWasMeasuring) {
  farm_.free = {"a", "b"};
  connect(2);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 2; }));
  farm_.with_lock([&] { farm_.shut = {"a", "b"}; });
  auto first = begin("x");
  ASSERT_TRUE(soon([&] { return who_ran().size() == 1; }));
  const std::string lost = *who_ran().begin();
  farm_.with_lock([&] { farm_.gone.insert(lost), farm_.shut.clear(); });
  const absl::StatusOr<TrialResult> result = first.get();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NE(result->slot(), lost + "/0");
  EXPECT_TRUE(soon([&] { return fleet_->slots() == 1; }));
}

TEST_F(FleetTest, RepeatsElsewhereWhatADeviceWasMeasuringThatStaysAwayWhileOthersMeasure) {
  farm_.free = {"a", "b"};
  connect(2);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 2; }));
  farm_.with_lock([&] { farm_.shut = {"a", "b"}; });
  auto first = begin("x");
  ASSERT_TRUE(soon([&] { return who_ran().size() == 1; }));
  const std::string lost = *who_ran().begin();
  farm_.with_lock([&] { farm_.shut = farm_.away = {lost}; });
  farm_.waits[lost]("device " + lost + " is away");
  EXPECT_TRUE(first.get().ok());
  EXPECT_THAT(who_ran(), SizeIs(2));
}

TEST_F(FleetTest, KeepsASlotWhoseDeviceComesBackSoon) {
  farm_.free = {"a", "b", "c"};
  grace_ = absl::Seconds(30);
  connect(2);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 2; }));
  farm_.with_lock([&] { farm_.away = {"b"}; });
  farm_.waits["b"]("device b is away");
  ASSERT_EQ(fleet_->slots(), 1);
  absl::SleepFor(absl::Milliseconds(400));
  farm_.with_lock([&] { farm_.away.clear(); });
  farm_.waits["b"]("");
  EXPECT_TRUE(soon([&] { return fleet_->slots() == 2; }));
  EXPECT_EQ(farm_.leases, 2) << "no other took its place";
}

// Each slot notices by itself that the tracker is away, and that it is back.
TEST_F(FleetTest, KeepsItsSlotsThoughSomeMissTheTrackerBeforeOthersDo) {
  farm_.free = {"a", "b", "c", "d"};
  grace_ = absl::ZeroDuration();
  connect(3);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 3; }));
  farm_.with_lock([&] { farm_.shut = {"a", "b", "c"}; });
  std::vector<std::future<absl::StatusOr<TrialResult>>> trials;
  for (int i = 0; i < 3; ++i) trials.push_back(begin(absl::StrCat("x", i)));
  ASSERT_TRUE(soon([&] { return who_ran().size() == 3; }));
  for (const std::string what : {"no tracker answers", ""}) {
    for (const std::string id : {"a", "b", "c"}) {
      farm_.waits[id](what);
      absl::SleepFor(absl::Milliseconds(250));
    }
  }
  farm_.with_lock([&] { farm_.shut.clear(); });
  for (auto& trial : trials) EXPECT_TRUE(trial.get().ok());
  EXPECT_EQ(fleet_->slots(), 3);
  EXPECT_EQ(farm_.leases, 3);
  for (const auto& [id, candidates] : farm_.ran) EXPECT_THAT(candidates, SizeIs(1)) << "measured once";
}

// Else a candidate that takes devices down took down all of the farm.
TEST_F(FleetTest, GivesUpATrialUnderWhichThreeDevicesWereLost) {
  farm_.free = {"a", "b", "c", "d", "e"};
  connect(5);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 5; }));
  farm_.with_lock([&] { farm_.shut = {"a", "b", "c", "d", "e"}; });
  auto trial = begin("killer");
  for (size_t lost = 1; lost <= 3; ++lost) {
    ASSERT_TRUE(soon([&] { return who_ran().size() == lost; }));
    const std::set<std::string> ids = who_ran();
    farm_.with_lock([&] { farm_.gone.insert(ids.begin(), ids.end()); });
  }
  const absl::Status status = trial.get().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("3 devices"));
  EXPECT_TRUE(soon([&] { return fleet_->slots() == 2; }));
}

TEST_F(FleetTest, GivesASlotBackOnlyAfterItsResultsAreAcknowledged) {
  farm_.free = {"a", "b"};
  connect(2);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 2; }));
  const absl::StatusOr<TrialResult> result = measure("x");
  ASSERT_TRUE(result.ok());
  const std::string device = result->slot().substr(0, 1);
  fleet_->set_target({.slots = 2, .give_back = {result->slot()}});
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 1; }));
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_THAT(farm_.free, IsEmpty()) << "another holder's results would fence this one off";
  fleet_->set_target({.slots = 1});
  fleet_->acknowledge(*result);
  EXPECT_TRUE(soon([&] {
    const std::scoped_lock lock(farm_.mutex);
    return farm_.free == std::set{device};
  }));
  EXPECT_THAT(farm_.acknowledged, ElementsAre(result->lease_id()));
}

TEST_F(FleetTest, ShrinksToItsTargetAndGrowsAgain) {
  farm_.free = {"a", "b", "c"};
  connect(3);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 3; }));
  fleet_->set_target({.slots = 1});
  EXPECT_TRUE(soon([&] {
    const std::scoped_lock lock(farm_.mutex);
    return farm_.free.size() == 2;
  }));
  EXPECT_EQ(fleet_->slots(), 1);
  fleet_->set_target({.slots = 2});
  EXPECT_TRUE(soon([&] { return fleet_->slots() == 2; }));
}

TEST_F(FleetTest, LeavesDevicesOfAnotherKindAlone) {
  farm_.free = {"a", "b"};
  farm_.kinds = {{"b", "differs in kind"}};
  connect(2);
  ASSERT_TRUE(soon([&] {
    const std::scoped_lock lock(farm_.mutex);
    return farm_.leases >= 2 && farm_.free.contains("b");
  }));
  EXPECT_EQ(fleet_->slots(), 1);
}

// The tracker gives the first device that is free, however often it came back.
TEST_F(FleetTest, FindsDevicesOfItsKindBehindOthers) {
  farm_.free = {"a", "b", "c", "d", "e"};
  farm_.kinds = {{"b", "differs in kind"}, {"c", "differs in kind"}};
  connect(3);
  EXPECT_TRUE(soon([&] { return fleet_->slots() == 3; }));
  EXPECT_TRUE(soon([&] {
    const std::scoped_lock lock(farm_.mutex);
    return farm_.free == std::set<std::string>{"b", "c"};
  }));
}

TEST_F(FleetTest, MeasuresOneBenchOnOneDeviceUntilThatIsLost) {
  farm_.free = {"a", "b", "c"};
  connect(3);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 3; }));
  std::set<std::string> slots[2];
  for (int i = 0; i < 6; ++i)
    for (const uint64_t bench : {1, 2}) slots[bench - 1].insert(measure("x", bench)->slot());
  ASSERT_THAT(slots[0], SizeIs(1));
  ASSERT_THAT(slots[1], SizeIs(1));
  EXPECT_NE(slots[0], slots[1]);
  farm_.with_lock([&] { farm_.gone.insert(slots[0].begin()->substr(0, 1)); });
  const absl::StatusOr<TrialResult> again = measure("x", 1);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_NE(again->slot(), *slots[0].begin());
}

// Else times of devices whose paces are not known were stored side by side.
TEST_F(FleetTest, MeasuresWhatIsComparedOnOneDeviceUntilThereIsAGaugeWhichOthersThenTimeAlone) {
  farm_.free = {"a", "b"};
  connect(2);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 2; }));
  farm_.with_lock([&] { farm_.shut = {"a", "b"}; });
  std::vector<std::future<absl::StatusOr<TrialResult>>> trials;
  for (int i = 0; i < 4; ++i) trials.push_back(begin_compared(absl::StrCat("x", i)));
  ASSERT_TRUE(soon([&] { return ran_on("a").size() == 2; }));
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_THAT(ran_on("a"), SizeIs(2));
  EXPECT_THAT(ran_on("b"), IsEmpty()) << "there is no gauge yet";
  farm_.with_lock([&] { farm_.shut = {"b"}; });
  for (int i = 4; i < 12; ++i) trials.push_back(begin_compared(absl::StrCat("x", i)));
  ASSERT_TRUE(soon([&] { return ran_on("b").size() == 1; }));
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_THAT(ran_on("b"), SizeIs(1)) << "its pace is not known yet";
  farm_.with_lock([&] { farm_.shut.clear(); });
  for (auto& trial : trials) EXPECT_TRUE(trial.get().ok());
  const std::vector<std::string> on_a = ran_on("a"), on_b = ran_on("b");
  ASSERT_THAT(on_b, SizeIs(testing::Ge(3)));
  EXPECT_EQ(on_b[0], on_b[1]);
  EXPECT_THAT(on_a, testing::Contains(on_b[0])) << "the gauge is what the first device ran";
}

TEST_F(FleetTest, ADeviceThatCannotMeasureRestsWhileTheOthersMeasure) {
  farm_.free = {"a", "b"};
  connect(2);
  ASSERT_TRUE(soon([&] { return fleet_->slots() == 2; }));
  farm_.with_lock([&] { farm_.broken = {"a"}; });
  int failures = 0;
  for (int i = 0; i < 40; ++i) failures += !measure(absl::StrCat("x", i)).ok();
  EXPECT_LE(failures, 2);
}

TEST_F(FleetTest, SaysWhatItWaitsForOnlyWhileNoDeviceMeasures) {
  farm_.free = {"a"};
  connect(2);
  const auto waits_for = [&](const std::string& what) {
    const std::scoped_lock lock(farm_.mutex);
    return waited_for_.back() == what;
  };
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_THAT(waited_for_, ElementsAre("")) << "one measures";
  farm_.with_lock([&] { farm_.gone.insert("a"); });
  EXPECT_TRUE(soon([&] { return waits_for("no device is free"); }));
  EXPECT_EQ(fleet_->slots(), 0);
  farm_.with_lock([&] { farm_.free.insert("b"); });
  EXPECT_TRUE(soon([&] { return waits_for("") && fleet_->slots() == 1; }));
}

TEST_F(FleetTest, EndsAtOnceWithoutItsFirstDevice) {
  const absl::Status status = FleetRunner::connect(options(1)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(FleetTest, CancelEndsWhatRunsAndWhatWaits) {
  farm_.free = {"a"};
  connect(1);
  farm_.with_lock([&] { farm_.shut = {"a"}; });
  std::vector<std::future<absl::StatusOr<TrialResult>>> trials;
  for (int i = 0; i < 4; ++i) trials.push_back(begin(absl::StrCat("x", i)));
  ASSERT_TRUE(soon([&] { return who_ran().size() == 1; }));
  fleet_->cancel();
  for (auto& trial : trials) EXPECT_TRUE(absl::IsCancelled(trial.get().status()));
}

}  // namespace
}  // namespace tf::measure
