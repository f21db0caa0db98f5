#include "device_agent/agent/slots/slot_runner.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <thread>

#include "base/digest.h"
#include "base/files/temporary_folder.h"
#include "device_agent/agent/golden/golden_kernel.h"
#include "device_agent/agent/slots/exclusive_execution.h"
#include "device_agent/agent/trials/artifact_fetcher.h"
#include "device_agent/agent/trials/executor.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/connection/channel.h"
#include "tests/unit/device_agent/agent/cached_candidate.h"

namespace tf::agent {
namespace {

using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

// What runs on all slots of a device.
struct Seen {
  std::atomic<int> trials_now = 0;
  std::atomic<int> most_trials = 0;  // at a time
  std::atomic<int> trials = 0;
  std::atomic<int> goldens = 0;
  std::atomic<int> goldens_beside_trials = 0;
};

class CountingExecutor final : public TrialExecutor {
 public:
  explicit CountingExecutor(Seen& seen) : seen_(seen) {}
  size_t trials_at_once() const override { return at_once; }
  absl::Status begin_lease(std::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<TrialResult> run(const Trial& trial, std::string_view candidate, std::string_view,
                                  std::stop_token) override {
    const bool golden = candidate != kCandidate;
    if (golden) {
      ++seen_.goldens;
      if (seen_.trials_now > 0) ++seen_.goldens_beside_trials;
    } else {
      seen_.most_trials = std::max<int>(seen_.most_trials, ++seen_.trials_now);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(golden ? 2 : 10));
    if (golden && seen_.trials_now > 0) ++seen_.goldens_beside_trials;
    if (!golden) {
      --seen_.trials_now;
      ++seen_.trials;
    }
    TrialResult result;
    result.set_outcome(tunefarm::farm::v1::OUTCOME_OK);
    result.set_artifact_digest(trial.artifact_digest());
    result.add_samples()->set_total_ns(1000);
    return result;
  }
  bool has_reference(std::string_view, uint64_t) const override { return false; }

  size_t at_once = 1;

 private:
  Seen& seen_;
};

// Its golden kernel runs until it is ended, or for as long as no test should take.
class EndlessExecutor final : public TrialExecutor {
 public:
  absl::Status begin_lease(std::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<TrialResult> run(const Trial&, std::string_view, std::string_view,
                                  std::stop_token end) override {
    runs = true;
    for (int i = 0; i < 3000 && !end.stop_requested(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    was_ended = end.stop_requested();
    return absl::CancelledError("ended");
  }
  bool has_reference(std::string_view, uint64_t) const override { return false; }

  std::atomic<bool> runs = false, was_ended = false;
};

// Notes the leases that it is told of.
class LeaseExecutor final : public TrialExecutor {
 public:
  absl::Status begin_lease(std::string_view lease_id) override {
    if (leases.empty() || leases.back() != lease_id) leases.emplace_back(lease_id);
    return lease_id == "bad" ? absl::ResourceExhaustedError("no new sandbox") : absl::OkStatus();
  }
  absl::StatusOr<TrialResult> run(const Trial& trial, std::string_view, std::string_view,
                                  std::stop_token) override {
    ++trials;
    TrialResult result;
    result.set_artifact_digest(trial.artifact_digest());
    return result;
  }
  bool has_reference(std::string_view, uint64_t) const override { return false; }

  std::vector<std::string> leases;
  std::atomic<int> trials = 0;
};

class SlotRunnerTest : public testing::Test {
 protected:
  std::unique_ptr<SlotRunner> make(
      uint32_t slot, absl::Duration golden_every,
      SlotState::SaveLease save = [](const LeaseRef&) { return absl::OkStatus(); }) {
    return std::make_unique<SlotRunner>(
        SlotSettings{.slot = slot, .golden_every = golden_every},
        SlotState(rpc::real_clock(), {}, std::move(save), executor_.at_once),
        TrialMeans{.fetcher = fetcher_, .executor = executor_, .exclusive_execution = exclusive_execution_},
        &golden_);
  }

  static Desired desired(uint64_t trials) {
    Trial trial;
    trial.set_artifact_digest(sha256(kCandidate).hex());
    Desired desired{
        .lease = LeaseRef{"L", 1}, .remaining = absl::Minutes(10), .window = {}, .acknowledged = {}};
    for (uint64_t i = 1; i <= trials; ++i) desired.window.push_back({i, trial.SerializeAsString()});
    return desired;
  }

  void wait_for_trials(int count) {
    for (int i = 0; i < 3000 && seen_.trials < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_GE(seen_.trials, count);
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  ArtifactFetcher fetcher_{rpc::make_channel({"127.0.0.1", 1}), cache_with_candidate(dir_.path())};
  ExclusiveExecution exclusive_execution_;
  Seen seen_;
  CountingExecutor executor_{seen_};
  const GoldenKernel golden_;
};

TEST_F(SlotRunnerTest, RunsTrialsAtOnceWhereItsExecutorTakesThemAndTheGoldenKernelAlone) {
  executor_.at_once = 3;
  const auto slot = make(0, absl::Milliseconds(5));
  ASSERT_TRUE(slot->apply(desired(60)).ok());
  slot->start([] {});
  wait_for_trials(60);
  slot->stop();
  EXPECT_GE(seen_.most_trials, 2);
  EXPECT_LE(seen_.most_trials, 3);
  EXPECT_GE(seen_.goldens, 2);
  EXPECT_EQ(seen_.goldens_beside_trials, 0);
  std::set<uint64_t> answered;
  for (const UnsentReply& reply : slot->take_unsent()) answered.insert(reply.sequence);
  EXPECT_EQ(answered.size(), 60u);
}

TEST_F(SlotRunnerTest, RunsTheGoldenKernelFirstAndBetweenTrialsThoughTheyNeverEnd) {
  const auto slot = make(0, absl::Milliseconds(5));
  ASSERT_TRUE(slot->apply(desired(100)).ok());
  slot->start([] {});
  wait_for_trials(1);
  EXPECT_GE(seen_.goldens, 1) << "before the first trial";
  wait_for_trials(50);
  EXPECT_GE(seen_.goldens, 3) << "and while 50 are queued";
}

TEST_F(SlotRunnerTest, NoGoldenKernelRunsBesideATrialOfAnotherSlot) {
  const auto busy = make(0, absl::Hours(1)), idle = make(1, absl::Milliseconds(5));
  busy->start([] {});
  idle->start([] {});
  for (int i = 0; i < 3000 && seen_.goldens < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(busy->apply(desired(250)).ok());
  wait_for_trials(1);
  const int before = seen_.goldens;
  while (seen_.goldens == before && seen_.trials < 250)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(seen_.goldens, before) << "an overdue one holds the other slot back for a moment";
  EXPECT_EQ(seen_.goldens_beside_trials, 0);
}

TEST_F(SlotRunnerTest, StoppingEndsAGoldenKernelThatRuns) {
  EndlessExecutor executor;
  SlotRunner slot({}, SlotState(rpc::real_clock(), {}, [](const LeaseRef&) { return absl::OkStatus(); }),
                  {.fetcher = fetcher_, .executor = executor, .exclusive_execution = exclusive_execution_},
                  &golden_);
  slot.start([] {});
  while (!executor.runs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  slot.stop();
  EXPECT_TRUE(executor.was_ended);
  EXPECT_FALSE(slot.take_golden()) << "what it said then says nothing of the device";
}

TEST_F(SlotRunnerTest, TellsTheExecutorWhoseTrialsFollow) {
  LeaseExecutor executor;
  SlotRunner slot({}, SlotState(rpc::real_clock(), {}, [](const LeaseRef&) { return absl::OkStatus(); }),
                  {.fetcher = fetcher_, .executor = executor, .exclusive_execution = exclusive_execution_},
                  nullptr);
  slot.start([] {});
  const auto answers_of = [&](LeaseRef lease) {
    Desired wanted = desired(2);
    wanted.lease = std::move(lease);
    EXPECT_TRUE(slot.apply(wanted).ok());
    std::vector<tunefarm::farm::v1::MeasureReply> replies;
    while (replies.size() < 2) {
      for (const UnsentReply& unsent : slot.take_unsent())
        replies.emplace_back().ParseFromString(unsent.reply);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return replies;
  };
  EXPECT_TRUE(answers_of({"first", 1}).front().has_result());
  EXPECT_EQ(answers_of({"bad", 2}).front().failure().message(), "no new sandbox");
  EXPECT_TRUE(answers_of({"last", 3}).front().has_result());
  slot.stop();
  EXPECT_THAT(executor.leases, testing::ElementsAre("first", "bad", "last"));
  EXPECT_EQ(executor.trials, 4);
}

// A holder's stream whose answers nobody looks at.
class SilentLink final : public DirectLink {
 public:
  bool write(const std::string&) override { return true; }
  void cancel() override {}
};

TEST_F(SlotRunnerTest, TellsOnceASessionWhatGoesStraightAndNumbersWhatItTells) {
  LeaseExecutor executor;
  SlotRunner slot({}, SlotState(rpc::real_clock(), {}, [](const LeaseRef&) { return absl::OkStatus(); }),
                  {.fetcher = fetcher_, .executor = executor, .exclusive_execution = exclusive_execution_},
                  nullptr);
  std::atomic<int> asked = 0;
  slot.start([&] { ++asked; });
  const Desired wanted = desired(1);
  ASSERT_TRUE(slot.apply({.lease = wanted.lease, .remaining = wanted.remaining}).ok());
  EXPECT_FALSE(slot.take_direct_work()) << "its holder has not come straight";
  slot.drain();  // so that what is submitted stays in the queue
  const auto link = std::make_shared<SilentLink>();
  ASSERT_TRUE(slot.open_direct(*wanted.lease, link).ok());
  const int before = asked;
  ASSERT_TRUE(slot.submit_direct(*wanted.lease, link.get(), wanted.window.front()));
  ASSERT_TRUE(slot.submit_direct(*wanted.lease, link.get(), {2, wanted.window.front().trial}));
  EXPECT_EQ(asked, before) << "a submission is no message of its own";
  const auto told = slot.take_direct_work();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->work.lease, *wanted.lease);
  EXPECT_EQ(told->work.queued, 2u);
  EXPECT_EQ(told->number, 1u);
  EXPECT_FALSE(slot.take_direct_work()) << "it is told";
  slot.rewind();
  const auto again = slot.take_direct_work();
  ASSERT_TRUE(again) << "but not to the next session";
  EXPECT_EQ(again->work, told->work);
  EXPECT_EQ(again->number, 2u);
}

TEST_F(SlotRunnerTest, AStreamThatWaitsForRoomEndsWhenANewerOneTakesItsPlace) {
  LeaseExecutor executor;
  SlotRunner slot({}, SlotState(rpc::real_clock(), {}, [](const LeaseRef&) { return absl::OkStatus(); }),
                  {.fetcher = fetcher_, .executor = executor, .exclusive_execution = exclusive_execution_},
                  nullptr);
  slot.start([] {});
  const Desired wanted = desired(1);
  ASSERT_TRUE(slot.apply({.lease = wanted.lease, .remaining = wanted.remaining}).ok());
  slot.drain();  // so that what is submitted stays in the queue
  const auto older = std::make_shared<SilentLink>(), newer = std::make_shared<SilentLink>();
  ASSERT_TRUE(slot.open_direct(*wanted.lease, older).ok());
  const uint64_t full = rpc::FlowLimits().trials;
  for (uint64_t i = 1; i <= full; ++i)
    ASSERT_TRUE(slot.submit_direct(*wanted.lease, older.get(), {i, wanted.window.front().trial}));
  auto waiting = std::async(std::launch::async, [&] {
    return slot.submit_direct(*wanted.lease, older.get(), {full + 1, wanted.window.front().trial});
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  ASSERT_TRUE(slot.open_direct(*wanted.lease, newer).ok());
  const bool has_ended = waiting.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(has_ended);
  if (!has_ended) slot.stop();  // which ends it
  EXPECT_FALSE(waiting.get());
}

TEST_F(SlotRunnerTest, AnswersOnlyOnceItsLeaseIsOnTheDisk) {
  std::promise<void> entered, disk;
  const auto slot = make(0, absl::Hours(1), [&](const LeaseRef&) {
    entered.set_value();
    disk.get_future().wait();
    return absl::OkStatus();
  });
  std::thread applying([&] { EXPECT_TRUE(slot->apply(desired(0)).ok()); });
  entered.get_future().wait();
  std::future<void> answer = std::async(std::launch::async, [&] { slot->answer(); });
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  disk.set_value();
  applying.join();
  answer.get();
}

}  // namespace
}  // namespace tf::agent
