// A supervisor of runners and the worker's end of it: turns, pauses and time limits, with runners that have no device.

#include "device_agent/worker/gpu/supervisor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "device_agent/worker/zygote_client.h"
#include "tests/unit/device_agent/worker/fake_gpu_worker.h"

namespace tf::worker {
namespace {

class SupervisorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const int fd = memfd_create("run", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, sizeof(FakeRun)), 0);
    void* memory = mmap(nullptr, sizeof(FakeRun), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_NE(memory, MAP_FAILED);
    run_ = new (memory) FakeRun();
    blobs_.emplace_back(fd);
    CapabilitySet none;
    for (uint32_t i = 0; i < sandbox::kCapabilityCount; ++i) none.add(static_cast<Capability>(i));
    std::vector<CapabilityState> missing;
    absl::StatusOr<std::unique_ptr<ZygoteClient>> started =
        ZygoteClient::start({.path = TF_FAKE_GPU_WORKER, .has_driver = true}, none, &missing);
    ASSERT_TRUE(started.ok()) << started.status();
    client_ = *std::move(started);
  }
  void TearDown() override {
    client_.reset();
    if (run_ != nullptr) munmap(run_, sizeof(FakeRun));
  }

  void prepare(std::chrono::milliseconds timeout, size_t at_once = 1) {
    const auto job = std::make_unique<sandbox::Job>();
    std::strcpy(job->device, "fake:0");
    job->timeout_ns = std::chrono::nanoseconds(timeout).count();
    job->memory_bytes = 64 << 20;
    const absl::Status status = client_->prepare(*job, blobs_, sizeof(sandbox::Result), at_once);
    ASSERT_TRUE(status.ok()) << status;
  }
  void wait_for_work(uint64_t beyond = 0) const {
    for (int i = 0; i < 6000 && run_->work <= beyond; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_GT(run_->work, beyond);
  }
  // In a time in which it would.
  bool works() const {
    const uint64_t before = run_->work;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return run_->work != before;
  }
  bool is_ready() const {
    const absl::StatusOr<bool> ready = client_->wait_until_ready(0);
    EXPECT_TRUE(ready.ok()) << ready.status();
    return ready.value_or(false);
  }
  ChildRun end() const {
    run_->ends = 1;
    absl::StatusOr<ChildRun> run = client_->run({}, 0);
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *std::move(run) : ChildRun();
  }

  FakeRun* run_ = nullptr;
  std::vector<OwnedFd> blobs_;
  std::unique_ptr<ZygoteClient> client_;
};

constexpr std::chrono::seconds kLong(60);

TEST_F(SupervisorTest, SaysWhenAJobIsReadyWhichThenWaitsForItsTurn) {
  for (int job = 0; job < 2; ++job) {
    run_->may_be_ready = 0;
    run_->ends = 0;
    prepare(kLong);
    wait_for_work(run_->work);
    run_->may_be_ready = 1;
    EXPECT_TRUE(is_ready());
    EXPECT_FALSE(works());
    EXPECT_EQ(end().reply.timed_out, 0u);
  }
}

TEST_F(SupervisorTest, HasItsRunnerStandStillOnceAPauseIsAcknowledged) {
  prepare(kLong);
  wait_for_work();
  for (int i = 0; i < 3; ++i) {
    client_->pause(true);
    EXPECT_FALSE(works());
    const uint64_t before = run_->work;
    client_->pause(false);
    wait_for_work(before);
  }
  run_->may_be_ready = 1;
  EXPECT_TRUE(is_ready());
  EXPECT_EQ(end().reply.timed_out, 0u);
}

TEST_F(SupervisorTest, StartsARunnerThatStandsStillDuringAPause) {
  client_->pause(true);
  prepare(kLong);
  EXPECT_FALSE(works());
  client_->pause(false);
  wait_for_work();
}

TEST_F(SupervisorTest, CountsNoPauseForATimeLimit) {
  constexpr std::chrono::seconds kLimit(3);
  prepare(kLimit);
  wait_for_work();
  client_->pause(true);
  std::this_thread::sleep_for(kLimit + std::chrono::milliseconds(200));
  run_->may_be_ready = 1;
  client_->pause(false);
  EXPECT_TRUE(is_ready());
  EXPECT_EQ(end().reply.timed_out, 0u);
}

TEST_F(SupervisorTest, GivesAJobLongerToBeReadyWhereOthersCompileToo) {
  prepare(std::chrono::milliseconds(20), /*at_once=*/3);
  EXPECT_FALSE(is_ready());
  const ChildRun run = end();
  EXPECT_EQ(run.reply.timed_out, 1u);
  EXPECT_EQ(run.ready_timeout_ns, 60'000'000);
}

TEST_F(SupervisorTest, HearsPausesAfterAJobThatDiedWhileItsTurnCame) {
  run_->dies = 1;
  prepare(kLong);
  run_->may_be_ready = 1;
  EXPECT_TRUE(is_ready());
  EXPECT_NE(end().reply.wait_status, 0);
  EXPECT_TRUE(client_->pause(true));
  client_->pause(false);
}

TEST_F(SupervisorTest, EndsAJobThatStandsStillWithItsLease) {
  prepare(kLong);
  wait_for_work();
  client_->pause(true);
  client_->kill();
  EXPECT_TRUE(absl::IsUnavailable(client_->wait_until_ready(0).status()));
  client_->pause(false);  // of a pair, and nobody is there
}

}  // namespace
}  // namespace tf::worker
