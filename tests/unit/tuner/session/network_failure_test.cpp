// A network that does not run as it was tuned.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/tuner/session/network_fixture.h"

namespace tf::session {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Five kernels.
graph::Graph many_products() {
  graph::Graph network;
  graph::NodeId x =
      network.add_input(graph::tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{8, 16}), "x");
  for (int64_t size = 16; size < 96; size += 16) {
    const graph::NodeId w = network.add_constant(
        graph::tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{size, size + 16}),
        graph::make_blob(std::vector<float>(static_cast<size_t>(size * (size + 16)), 0.5f)), "w");
    x = *network.add(graph::MatMul{}, {x, w}, "product");
  }
  network.outputs = {{"y", x}};
  return network;
}

TEST_F(NetworkTrialTest, FindsTheScheduleThatTheNetworkCrashesWithAndGoesOnWithoutIt) {
  set_network(many_products());
  ASSERT_THAT(program_.tasks, SizeIs(5));
  add_all("untuned", 1000);
  add_all("tuned", 800);
  add(row(program_.tasks[3], "broken", 700));
  bench_.in_network_ns["tuned"] = 900;
  bench_.broken = "broken";
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->failed, 1);
  EXPECT_EQ(trial->faster, 5);
  EXPECT_LE(bench_.built.size(), 6u) << "three of them to find one in five";
  for (size_t task = 0; task < program_.tasks.size(); ++task) EXPECT_EQ(best_of(task), "tuned");
  const std::vector<Measurement> failures =
      rows_where([](const Measurement& m) { return is_failure(m.outcome); });
  ASSERT_THAT(failures, SizeIs(1));
  EXPECT_EQ(failures[0].schedule, "broken");
  EXPECT_EQ(failures[0].outcome, database::Outcome::kCrashed);
  EXPECT_THAT(failures[0].detail, HasSubstr("inside its network: it died of signal 11"));
}

TEST_F(NetworkTrialTest, TakesWhatReplacesALoserAndCrashesForAFailure) {
  add_all("untuned", 1000);
  add_all("fastest", 700);
  add(row(program_.tasks[0], "second", 800));
  bench_.in_network_ns["fastest"] = 1100;
  bench_.broken = "second";
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->failed, 1);
  EXPECT_EQ(best_of(0), "untuned");
  EXPECT_EQ(best_of(1), "untuned");
}

TEST_F(NetworkTrialTest, BlamesAllOfANetworkThatHangsWhenItIsTooLateToLook) {
  add_all("untuned", 1000);
  add_all("tuned", 800);
  bench_.broken = "tuned";
  bench_.failure = absl::DeadlineExceededError("it was not done after 30s");
  options_.deadline = Clock::now() + std::chrono::milliseconds(200);
  bench_.on_run = [&] {
    if (bench_.runs > driver::kTurn) std::this_thread::sleep_until(options_.deadline);
  };
  const absl::Status status = run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("it was not done after 30s; 2 of its schedules were"));
  EXPECT_EQ(best_of(0), "untuned");
  const std::vector<Measurement> failures =
      rows_where([](const Measurement& m) { return m.outcome == database::Outcome::kTimedOut; });
  EXPECT_THAT(failures, SizeIs(2));
}

TEST_F(NetworkTrialTest, BlamesNothingForACrashThatDoesNotComeAgain) {
  add_all("untuned", 1000);
  add_all("tuned", 800);
  bench_.in_network_ns["tuned"] = 900;
  // A run of the tuned build.
  bench_.on_run = [&] { bench_.broken_runs = bench_.runs == 5; };
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->failed, 0);
  EXPECT_EQ(best_of(0), "tuned");
}

}  // namespace
}  // namespace tf::session
