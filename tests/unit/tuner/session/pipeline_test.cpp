#include "tuner/session/loop/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::session {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Notes who comes, and lets nobody through as long as it is shut.
class Door {
 public:
  void pass(const std::string& who) {
    std::unique_lock lock(mutex_);
    came_.push_back(who);
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void shut() {
    std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return came_.size() >= count; });
  }
  std::vector<std::string> came() {
    std::lock_guard lock(mutex_);
    return came_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> came_;
  bool open_ = true;
};

// One at a time. Schedules that begin alike have the same code.
class DoorBuilder final : public driver::Builder {
 public:
  absl::StatusOr<kernel::BuildReply> build(const kernel::BuildRequest& request) override {
    kernel::BuildReply reply;
    const std::string& schedule = request.kernel().schedule();
    reply.mutable_artifact()->mutable_manifest()->set_computation(schedule);
    if (request.kernel().reference()) return reply;
    door.pass(schedule);
    reply.set_code_digest(schedule.substr(0, 1));
    return reply;
  }
  int slots() const override { return 1; }
  void cancel() override {}
  Door door;
};

// Two at a time, because the pipeline hides the way to one.
class DoorRunner final : public measure::Runner {
 public:
  absl::StatusOr<farm::TrialResult> run(const measure::MeasureRequest& request) override {
    kernel::Artifact artifact;
    EXPECT_TRUE(artifact.ParseFromString(*request.candidate.bytes));
    door.pass(artifact.manifest().computation());
    return farm::TrialResult();
  }
  int slots() const override { return 1; }
  absl::StatusOr<farm::DeviceState> device() override { return farm::DeviceState(); }
  void cancel() override {}
  Door door;
};

class PipelineTest : public testing::Test {
 protected:
  explicit PipelineTest(bool computes_there = false) : cpu_(computes_there) {
    auto reference = std::make_shared<kernel::BuildRequest>();
    reference->mutable_kernel()->set_reference(true);
    pipeline_ = std::make_unique<Pipeline>(
        builder_, runner_, PipelineOptions{.tasks = {{.reference = std::move(reference)}}, .cpu = &cpu_});
  }
  ~PipelineTest() override {
    builder_.door.open();
    runner_.door.open();
  }

  std::shared_ptr<Place> submit(const std::string& schedule) {
    auto request = std::make_shared<kernel::BuildRequest>();
    request->mutable_kernel()->set_schedule(schedule);
    Work work;
    work.ticket = ++tickets_;
    work.request = std::move(request);
    auto place = std::make_shared<Place>(work.ticket);
    work.place = place;
    pipeline_->submit(std::move(work));
    return place;
  }
  // Whatever comes of all.
  std::vector<std::string> finished(size_t count) {
    std::vector<std::string> schedules;
    for (size_t i = 0; i < count; ++i) {
      const std::optional<Finished> next = pipeline_->next(std::chrono::seconds(30));
      if (!next) break;
      schedules.push_back(next->work.request->kernel().schedule());
    }
    EXPECT_FALSE(pipeline_->next(std::chrono::milliseconds(50)).has_value());
    return schedules;
  }

  CpuTurn cpu_;
  DoorBuilder builder_;
  DoorRunner runner_;
  uint64_t tickets_ = 0;
  std::unique_ptr<Pipeline> pipeline_;
};

// Where this process computes on the CPUs that it measures on.
class SharedCpus : public PipelineTest {
 protected:
  SharedCpus() : PipelineTest(true) {}
};

TEST_F(SharedCpus, AreMeasuredOnOnlyInTurn) {
  CpuTurn::Hold computing = cpu_.take();
  submit("a1");
  builder_.door.wait_for(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(runner_.door.came(), ElementsAre());
  computing.unlock();
  runner_.door.wait_for(1);
}

TEST_F(PipelineTest, BuildsInTheOrderOfPlacesAsTheyAreByThen) {
  builder_.door.shut();
  submit("a");
  builder_.door.wait_for(1);
  const auto b = submit("b"), c = submit("c"), d = submit("d");
  d->move(b->number());
  b->move(4);
  builder_.door.open();
  EXPECT_THAT(finished(4), UnorderedElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(builder_.door.came(), ElementsAre("a", "d", "c", "b"));
}

TEST_F(PipelineTest, BuildsNothingThatIsWithdrawnAndMeasuresNothingThatIsMeanwhile) {
  builder_.door.shut();
  const auto a = submit("a");
  builder_.door.wait_for(1);
  const auto b = submit("b");
  submit("c");
  a->withdraw();
  b->withdraw();
  builder_.door.open();
  EXPECT_THAT(finished(1), ElementsAre("c"));
  EXPECT_THAT(builder_.door.came(), ElementsAre("a", "c"));
  EXPECT_THAT(runner_.door.came(), ElementsAre("c"));
}

TEST_F(PipelineTest, MeasuresInsteadOfOneThatIsWithdrawnAnotherOfItsCode) {
  runner_.door.shut();
  submit("a"), submit("b");
  runner_.door.wait_for(2);
  const auto c = submit("c");
  submit("d"), submit("c too");
  builder_.door.wait_for(5);
  c->withdraw();
  runner_.door.open();
  EXPECT_THAT(finished(4), UnorderedElementsAre("a", "b", "d", "c too"));
  EXPECT_THAT(runner_.door.came(), UnorderedElementsAre("a", "b", "d", "c too"));
}

}  // namespace
}  // namespace tf::session
