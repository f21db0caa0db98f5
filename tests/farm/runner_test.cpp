// FarmRunner::run against farms that take away what it needs.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/files/temporary_folder.h"
#include "device_agent/agent/agent.h"
#include "device_agent/agent/machine/facts.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/server.h"
#include "rpc/transfer/transfer.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/fake_executor.h"
#include "tests/farm/harness.h"
#include "tests/farm/wait_until.h"
#include "tracker/operators/operator_client.h"
#include "tracker/service/daemon.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;
using measure::FarmRunner;

// Grants every lease, "l1", "l2" and so on, and has every artifact.
class GrantingTracker : public pb::Tuners::Service {
 public:
  grpc::Status AcquireLease(grpc::ServerContext*, const pb::AcquireLeaseRequest*,
                            pb::LeaseGrant* grant) override {
    grant->set_lease_id("l" + std::to_string(++leases));
    grant->set_epoch(1);
    grant->set_device_id("a1");
    return grpc::Status::OK;
  }
  grpc::Status FindMissingArtifacts(grpc::ServerContext*, const pb::FindMissingArtifactsRequest*,
                                    pb::FindMissingArtifactsReply*) override {
    return grpc::Status::OK;
  }

  std::atomic<int> leases = 0;
};

// Takes one trial of each stream, and then ends the stream for good.
class RefusingTracker final : public GrantingTracker {
 public:
  grpc::Status Measure(grpc::ServerContext*,
                       grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>* stream) override {
    pb::MeasureRequest message;
    while (stream->Read(&message) && !message.has_assignment()) {
    }
    ++trials;
    return {grpc::StatusCode::FAILED_PRECONDITION, "this tracker measures nothing"};
  }

  std::atomic<int> trials = 0;
};

// Grants one lease, ends its stream, and says from then on that a newer run of the holder is at work.
class SupersedingTracker final : public GrantingTracker {
 public:
  grpc::Status AcquireLease(grpc::ServerContext* context, const pb::AcquireLeaseRequest* request,
                            pb::LeaseGrant* grant) override {
    if (++asked > 1) return {grpc::StatusCode::ABORTED, "a newer run of this tuner is active: stop one"};
    return GrantingTracker::AcquireLease(context, request, grant);
  }
  grpc::Status Measure(grpc::ServerContext*,
                       grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>*) override {
    return {grpc::StatusCode::NOT_FOUND, "the lease has ended"};
  }

  std::atomic<int> asked = 0;
};

// Ends its first lease at once, and has no device for a second one until it is told to.
class DrainedTracker final : public GrantingTracker {
 public:
  grpc::Status AcquireLease(grpc::ServerContext* context, const pb::AcquireLeaseRequest* request,
                            pb::LeaseGrant* grant) override {
    if (leases == 1 && is_drained) return {grpc::StatusCode::UNAVAILABLE, "no device is free"};
    return GrantingTracker::AcquireLease(context, request, grant);
  }
  grpc::Status Measure(grpc::ServerContext*,
                       grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>* stream) override {
    pb::MeasureRequest message;
    while (stream->Read(&message)) {
      if (message.hello().lease().lease_id() == "l1")
        return {grpc::StatusCode::NOT_FOUND, "the lease has ended"};
    }
    return grpc::Status::OK;
  }

  std::atomic<bool> is_drained = true;
};

// Takes all trials, and answers those of its later streams.
class SilentTracker : public GrantingTracker {
 public:
  explicit SilentTracker(int silent_streams) : silent_streams_(silent_streams) {}

  grpc::Status ReleaseLease(grpc::ServerContext*, const pb::LeaseName*, pb::ReleaseLeaseReply*) override {
    ++released;
    return grpc::Status::OK;
  }
  grpc::Status Measure(grpc::ServerContext*,
                       grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>* stream) override {
    const bool answers = ++streams > silent_streams_;
    pb::MeasureRequest message;
    while (stream->Read(&message)) {
      if (!message.has_assignment() || !answers) continue;
      pb::MeasureReply reply;
      reply.set_sequence(message.assignment().sequence());
      reply.mutable_result()->set_outcome(pb::OUTCOME_OK);
      stream->Write(reply);
    }
    return grpc::Status::OK;
  }

  std::atomic<int> released = 0, streams = 0;

 private:
  const int silent_streams_;
};

// Its device is away until it is told to be back.
class LeftTracker final : public SilentTracker {
 public:
  LeftTracker() : SilentTracker(0) {}

  grpc::Status RenewLease(grpc::ServerContext*, const pb::LeaseName*, pb::LeaseGrant* grant) override {
    grant->set_device_is_away(is_away);
    return grpc::Status::OK;
  }

  std::atomic<bool> is_away = true;
};

// Wants its leases back before long.
class ClaimingTracker final : public SilentTracker {
 public:
  ClaimingTracker() : SilentTracker(2) {}

  grpc::Status RenewLease(grpc::ServerContext*, const pb::LeaseName*, pb::LeaseGrant*) override {
    return {grpc::StatusCode::ABORTED, "somebody else has a claim to it"};
  }
};

// Its streams break soon, and what it says on them answers nothing, until they are so many that nobody will
// give up any more.
class FlappingTracker final : public SilentTracker {
 public:
  static constexpr int kMostStreams = 100;

  FlappingTracker() : SilentTracker(0) {}

  grpc::Status Measure(grpc::ServerContext*,
                       grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>* stream) override {
    const bool answers = ++streams > kMostStreams;
    pb::MeasureRequest message;
    while (stream->Read(&message) && !message.has_assignment()) {
    }
    pb::MeasureReply reply;
    reply.set_sequence(answers ? message.assignment().sequence() : 1'000'000);
    reply.mutable_result()->set_outcome(pb::OUTCOME_OK);
    stream->Write(reply);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return {grpc::StatusCode::UNAVAILABLE, "the line is cut"};
  }
};

// Answers the first trial of the first lease, and says that again on each stream, as long as it is not
// acknowledged; nothing else, until its streams are so many that nobody will give up any more.
class RepeatingTracker final : public SilentTracker {
 public:
  static constexpr int kMostStreams = 12;

  RepeatingTracker() : SilentTracker(0) {}

  grpc::Status Measure(grpc::ServerContext*,
                       grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>* stream) override {
    const bool answers = ++streams > kMostStreams;
    bool is_first_lease = false;
    pb::MeasureRequest message;
    while (stream->Read(&message)) {
      if (message.has_hello()) is_first_lease = message.hello().lease().lease_id() == "l1";
      const bool first = is_first_lease && message.assignment().sequence() == 1;
      if (first) answered_ = true;
      if (first || (message.has_hello() && is_first_lease && answered_)) say(*stream, 1);
      if (!first && message.has_assignment() && answers) say(*stream, message.assignment().sequence());
    }
    return grpc::Status::OK;
  }

 private:
  static void say(grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>& stream, uint64_t sequence) {
    pb::MeasureReply reply;
    reply.set_sequence(sequence);
    reply.mutable_result()->set_outcome(pb::OUTCOME_OK);
    stream.Write(reply);
  }

  std::atomic<bool> answered_ = false;
};

absl::StatusOr<std::unique_ptr<FarmRunner>> connect_impatiently(const rpc::Endpoint& tracker,
                                                                absl::Duration term = absl::Seconds(60)) {
  return FarmRunner::connect(
      {.tracker = tracker,
       .device_key = "box",
       .term = term,
       .silence = {.slack = absl::Milliseconds(300), .reference = absl::Milliseconds(300)}});
}

absl::StatusOr<pb::TrialResult> run_before(SilentTracker& tracker) {
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  if (!server.ok()) return server.status();
  const auto runner = connect_impatiently((*server)->endpoint());
  if (!runner.ok()) return runner.status();
  return (*runner)->run(request(pb::Trial(), "candidate"));
}

TEST(FarmRunnerTest, ATrialOfWhichNothingIsHeardIsToldAgainUnderTheSameLease) {
  SilentTracker tracker(1);
  const absl::StatusOr<pb::TrialResult> result = run_before(tracker);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->lease_id(), "l1");
  EXPECT_EQ(tracker.streams, 2);
}

TEST(FarmRunnerTest, ATrialWhoseArtifactsMayStillBeOnTheirWayIsNotToldAgain) {
  SilentTracker tracker(1000);
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto runner = connect_impatiently((*server)->endpoint());
  ASSERT_TRUE(runner.ok()) << runner.status();
  const std::string large(rpc::kChunkBytes, 'x');
  auto running = std::async(std::launch::async, [&] { return (*runner)->run(request(pb::Trial(), large)); });
  EXPECT_EQ(running.wait_for(std::chrono::seconds(2)), std::future_status::timeout);
  EXPECT_EQ(tracker.streams, 1);
  (*runner)->cancel();
  EXPECT_TRUE(absl::IsCancelled(running.get().status()));
}

TEST(FarmRunnerTest, ATrialOfWhichNothingIsEverHeardIsGivenUp) {
  SilentTracker tracker(1000);
  const absl::Status given_up = run_before(tracker).status();
  EXPECT_TRUE(absl::IsUnavailable(given_up)) << given_up;
  EXPECT_THAT(std::string(given_up.message()), testing::HasSubstr("the lease ended 3 times"));
  EXPECT_GE(tracker.released, 3) << "of devices that others may fare better with";
  EXPECT_GE(tracker.streams, 2 * 3);
}

TEST(FarmRunnerTest, ADeviceThatIsSilentWhileItsHolderMakesRoomIsGivenBackAllTheSame) {
  ClaimingTracker tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  // It is to make room at a third of this, before the device is given back for its silence.
  const auto runner = connect_impatiently((*server)->endpoint(), absl::Milliseconds(600));
  ASSERT_TRUE(runner.ok()) << runner.status();
  auto running = std::async(std::launch::async, [&] { return (*runner)->run(request(pb::Trial(), "one")); });
  const bool ended = running.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  if (!ended) (*runner)->cancel();
  EXPECT_TRUE(ended) << "the runner waits for ever for what is under way";
  const absl::StatusOr<pb::TrialResult> result = running.get();
  EXPECT_TRUE(result.ok()) << result.status();
}

TEST(FarmRunnerTest, ADeviceThatIsSilentIsGivenBackThoughItsLineBreaksAgainAndAgain) {
  FlappingTracker tracker;
  const absl::Status given_up = run_before(tracker).status();
  EXPECT_TRUE(absl::IsUnavailable(given_up)) << given_up;
  EXPECT_LE(tracker.streams, FlappingTracker::kMostStreams);
}

TEST(FarmRunnerTest, AnAnswerThatOnlyComesAgainKeepsNoDeviceThatIsSilentOtherwise) {
  RepeatingTracker tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto runner = connect_impatiently((*server)->endpoint());
  ASSERT_TRUE(runner.ok()) << runner.status();
  const pb::Trial trial;
  ASSERT_TRUE((*runner)->run(request(trial, "kept until all are there")).ok());
  const absl::Status given_up = (*runner)->run(request(trial, "candidate")).status();
  EXPECT_TRUE(absl::IsUnavailable(given_up)) << given_up;
  EXPECT_LE(tracker.streams, RepeatingTracker::kMostStreams);
}

TEST(FarmRunnerTest, ARunThatANewerOneHasSupersededHearsItInsteadOfWaitingForEver) {
  SupersedingTracker tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  const measure::FarmRunnerOptions options = {.tracker = (*server)->endpoint(), .device_key = "box"};
  const auto runner = FarmRunner::connect(options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  for (const absl::Status& refused :
       {(*runner)->run(request(pb::Trial(), "candidate")).status(), FarmRunner::connect(options).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("a newer run of this tuner is active"));
  }
  EXPECT_EQ(tracker.asked, 3) << "and asks no more";
}

TEST(FarmRunnerTest, SaysWhatItsTrialsWaitForAndWhenThatIsOver) {
  DrainedTracker tracker;
  absl::StatusOr<std::unique_ptr<rpc::Server>> server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  const rpc::Endpoint endpoint = (*server)->endpoint();
  std::mutex mutex;
  std::vector<std::string> said;
  const auto has_said = [&](size_t count) {
    return wait_until([&] {
      const std::scoped_lock lock(mutex);
      return said.size() >= count;
    });
  };
  const auto runner =
      FarmRunner::connect({.tracker = endpoint, .device_key = "box", .on_wait = [&](const std::string& what) {
                             const std::scoped_lock lock(mutex);
                             said.push_back(what);
                           }});
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_TRUE(has_said(2));
  tracker.is_drained = false;
  EXPECT_TRUE(has_said(3));
  *server = nullptr;
  EXPECT_TRUE(has_said(4));
  (*runner)->cancel();
  const std::scoped_lock lock(mutex);
  EXPECT_THAT(said,
              testing::ElementsAre("", "no device is free", "", "no tracker answers at " + endpoint.text()));
}

TEST(FarmRunnerTest, SaysThatItsDeviceIsAwayUntilItIsBack) {
  LeftTracker tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  std::mutex mutex;
  std::string said = "nothing";
  const auto says = [&](const std::string& what) {
    return wait_until([&] {
      const std::scoped_lock lock(mutex);
      return said == what;
    });
  };
  const auto runner = FarmRunner::connect({.tracker = (*server)->endpoint(),
                                           .device_key = "box",
                                           .term = absl::Seconds(1),
                                           .on_wait = [&](const std::string& what) {
                                             const std::scoped_lock lock(mutex);
                                             said = what;
                                           }});
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_TRUE(says("device " + (*runner)->leased_device().device_id +
                   " is away: its lease ends unless it returns soon"));
  tracker.is_away = false;
  EXPECT_TRUE(says(""));
  (*runner)->cancel();
}

TEST(FarmRunnerTest, ATrialUnderWayHearsThatTheTrackerRefusesForGood) {
  RefusingTracker tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto runner = FarmRunner::connect({.tracker = (*server)->endpoint(), .device_key = "box"});
  ASSERT_TRUE(runner.ok()) << runner.status();
  const pb::Trial trial;
  const absl::Status refused = (*runner)->run(request(trial, "candidate")).status();
  EXPECT_EQ(tracker.trials, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ((*runner)->run(request(trial, "the next")).status(), refused);
}

TEST(FarmRunnerTest, ATrialThatLosesLeaseAfterLeaseIsGivenUp) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  auto tracker = tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir.path() + "/t.db"});
  ASSERT_TRUE(tracker.ok()) << tracker.status();
  const rpc::Endpoint endpoint = (*tracker)->endpoint();
  AgentThread agent({.tracker = endpoint, .state_dir = dir.path() + "/a", .slots = {{.cpus = {0}}}},
                    std::chrono::milliseconds(500));

  absl::StatusOr<std::unique_ptr<FarmRunner>> runner = absl::NotFoundError("");
  for (int i = 0; i < 100 && absl::IsNotFound(runner.status()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    runner = FarmRunner::connect({.tracker = endpoint, .device_key = "box"});
  }
  std::atomic<bool> over = false;
  std::thread releasing([&] {
    while (!over) {
      tracker::force_release({endpoint}, "a1").status().IgnoreError();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  absl::Status given_up = runner.status();
  const pb::Trial trial;
  if (runner.ok()) given_up = (*runner)->run(request(trial, "candidate")).status();
  over = true;
  releasing.join();
  EXPECT_TRUE(absl::IsUnavailable(given_up)) << given_up;
  EXPECT_NE(given_up.message().find("the lease ended 3 times during the trial"), std::string::npos)
      << given_up;
  // Nothing is wrong with the runner: it measures what the farm lets it.
  if (runner.ok()) {
    const absl::StatusOr<pb::TrialResult> result = (*runner)->run(request(trial, "candidate"));
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok()) (*runner)->acknowledge(*result);
  }
}

// Two tuners, one slot, and leases of which neither is long enough for a job.
TEST(FarmRunnerTest, TunersThatShareASlotTakeTurnsAndLoseNoTrial) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  tracker::FarmOptions farm;
  farm.match.slice = absl::Milliseconds(300);
  farm.match.shortest_slice = absl::Milliseconds(300);
  auto tracker =
      tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir.path() + "/t.db", .farm = farm});
  ASSERT_TRUE(tracker.ok()) << tracker.status();
  const rpc::Endpoint endpoint = (*tracker)->endpoint();
  FakeExecutor executor(std::chrono::milliseconds(10), dir.path() + "/runs");
  auto agent = agent::Agent::create({.tracker = endpoint,
                                     .key = "box",
                                     .id = "a1",
                                     .state_dir = dir.path() + "/a",
                                     .slots = {{.cpus = {0}, .executor = &executor}}},
                                    agent::read_facts());
  ASSERT_TRUE(agent.ok()) << agent.status();
  std::thread serving([&] { (*agent)->run().IgnoreError(); });

  constexpr int kTrials = 120;
  const auto job = [&](const std::string& holder, uint64_t& last_epoch) {
    absl::StatusOr<std::unique_ptr<FarmRunner>> runner = absl::NotFoundError("");
    for (int i = 0; i < 100 && absl::IsNotFound(runner.status()); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      runner = FarmRunner::connect(
          {.tracker = endpoint, .device_key = "box", .holder = holder, .term = absl::Seconds(1)});
    }
    ASSERT_TRUE(runner.ok()) << runner.status();
    const pb::Trial trial;
    for (int i = 0; i < kTrials; ++i) {
      const absl::StatusOr<pb::TrialResult> result =
          (*runner)->run(request(trial, holder + " candidate " + std::to_string(i)));
      ASSERT_TRUE(result.ok()) << result.status();
      (*runner)->acknowledge(*result);
      last_epoch = result->epoch();
    }
  };
  uint64_t first_epoch = 0;
  uint64_t second_epoch = 0;
  std::thread second([&] { job("bob:1", second_epoch); });
  job("alice:1", first_epoch);
  second.join();
  EXPECT_GT(std::min(first_epoch, second_epoch), 2u) << "neither had the slot at one stretch";
  EXPECT_EQ(lines_of(dir.path() + "/runs").size(), 2u * kTrials) << "no trial ran twice";
  (*agent)->stop();
  serving.join();
}

}  // namespace
}  // namespace tf::farm_test
