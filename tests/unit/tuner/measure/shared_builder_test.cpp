#include "tuner/measure/shared_builder.h"

#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "proto/kernel/v1/kernel.pb.h"

namespace tf::measure {
namespace {

namespace kernel = tunefarm::kernel::v1;

// Builds once the test opens the gate, and never again once it is cancelled.
class GatedBuilder final : public driver::Builder {
 public:
  absl::StatusOr<kernel::BuildReply> build(const kernel::BuildRequest& request) override {
    std::unique_lock lock(mutex_);
    ++begun;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    if (is_cancelled) return absl::CancelledError("all of it");
    if (failures-- > 0) return absl::UnavailableError("a worker died");
    kernel::BuildReply reply;
    reply.set_code(code);
    reply.set_message(request.kernel().schedule());
    return reply;
  }
  int slots() const override { return 3; }
  void cancel() override { is_cancelled = true; }

  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_until_begun(int builds) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun >= builds; });
  }

  int begun = 0, failures = 0, code = 0;
  bool is_cancelled = false;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class SharedBuilderTest : public testing::Test {
 protected:
  static kernel::BuildRequest request(const std::string& schedule) {
    kernel::BuildRequest request;
    request.mutable_kernel()->set_schedule(schedule);
    return request;
  }
  static std::future<absl::StatusOr<kernel::BuildReply>> ask(driver::Builder& builder,
                                                             const std::string& schedule) {
    return std::async(std::launch::async, [&builder, schedule] { return builder.build(request(schedule)); });
  }

  GatedBuilder workers_;
  SharedBuilder shared_{workers_};
  std::unique_ptr<driver::Builder> one_ = shared_.share(), other_ = shared_.share();
};

TEST_F(SharedBuilderTest, BuildsOnceWhatTwoSessionsAskFor) {
  auto first = ask(*one_, "same"), second = ask(*other_, "same"), another = ask(*other_, "another");
  workers_.wait_until_begun(2);
  workers_.open();
  EXPECT_EQ(first.get()->message(), "same");
  EXPECT_EQ(second.get()->message(), "same");
  EXPECT_EQ(another.get()->message(), "another");
  EXPECT_EQ(other_->build(request("same"))->message(), "same") << "a moment later";
  EXPECT_EQ(workers_.begun, 2);
  EXPECT_EQ(one_->slots(), 3);
}

// As when a job ends while its device stays away: the others of the tuner go on building.
TEST_F(SharedBuilderTest, OneSessionsEndIsNoneOfTheOthers) {
  auto running = ask(*one_, "same");
  workers_.wait_until_begun(1);
  auto waiting = ask(*one_, "same");
  auto theirs = ask(*other_, "same");
  one_->cancel();
  EXPECT_TRUE(absl::IsCancelled(waiting.get().status())) << "before what it waits for is built";
  EXPECT_TRUE(absl::IsCancelled(one_->build(request("new")).status()));
  workers_.open();
  EXPECT_EQ(theirs.get()->message(), "same");
  EXPECT_EQ(other_->build(request("new"))->message(), "new");
  EXPECT_FALSE(workers_.is_cancelled);
}

TEST_F(SharedBuilderTest, WhoWaitsTriesAgainWhatCouldNotBeBuilt) {
  workers_.failures = 1;
  auto first = ask(*one_, "same"), second = ask(*other_, "same");
  workers_.wait_until_begun(1);
  workers_.open();
  EXPECT_EQ(first.get().ok() + second.get().ok(), 1) << "one of them was told so";
  EXPECT_TRUE(one_->build(request("same")).ok());
}

TEST_F(SharedBuilderTest, KeepsNoRefusal) {
  workers_.open();
  workers_.code = static_cast<int>(absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(one_->build(request("same"))->code(), 0);
  workers_.code = 0;
  EXPECT_EQ(one_->build(request("same"))->code(), 0);
}

TEST_F(SharedBuilderTest, ForgetsTheOldest) {
  workers_.open();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(one_->build(request(std::to_string(i))).ok());
  ASSERT_TRUE(one_->build(request("999")).ok());
  EXPECT_EQ(workers_.begun, 1000);
  ASSERT_TRUE(one_->build(request("0")).ok());
  EXPECT_EQ(workers_.begun, 1001);
}

}  // namespace
}  // namespace tf::measure
