// A network that does not run as it was tuned.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/tuner/session/network_fixture.h"

namespace tf::session {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
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
  EXPECT_THAT(failures[0].detail, HasSubstr("in its network: it was killed by signal 11"));
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
  bench_.failure = absl::DeadlineExceededError("it did not finish within 30s");
  options_.deadline = Clock::now() + std::chrono::milliseconds(200);
  bench_.on_run = [&] {
    if (bench_.runs > driver::kTurn) std::this_thread::sleep_until(options_.deadline);
  };
  const absl::Status status = run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("it did not finish within 30s; 2 of its schedules were"));
  EXPECT_EQ(best_of(0), "untuned");
  const std::vector<Measurement> failures =
      rows_where([](const Measurement& m) { return m.outcome == database::Outcome::kTimedOut; });
  EXPECT_THAT(failures, SizeIs(2));
}

// The second kernel loses again and again, until the last of four tries.
class LastTryTest : public NetworkTrialTest {
 protected:
  // The first kernel is faster each time.
  void add_losers(int many) {
    add_all("untuned", 1000);
    add(row(program_.tasks[0], "tuned", 800));
    bench_.in_network_ns["tuned"] = 900;
    for (int i = 1; i <= many; ++i) {
      const std::string schedule = std::to_string(i);
      add(row(program_.tasks[1], schedule, 700 + i));
      bench_.in_network_ns[schedule] = 1100;
    }
  }
  // The fifth run of the last try, which is one of the tuned build, and so many in all.
  void break_runs(int many) {
    bench_.on_run = [this, many, of_last = 0]() mutable {
      if (bench_.built.size() == 5) ++of_last;  // the untuned build and four
      bench_.broken_runs = of_last >= 5 && of_last < 5 + many;
    };
  }
  std::vector<Measurement> failures() {
    return rows_where([](const Measurement& m) { return is_failure(m.outcome); });
  }
};

TEST_F(LastTryTest, BlamesNothingForACrashThatDoesNotComeAgain) {
  add_losers(4);
  break_runs(1);
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  ASSERT_THAT(bench_.built, SizeIs(5)) << "else this test shows nothing";
  EXPECT_EQ(bench_.built[4], (std::vector<std::string>{"tuned", "4"}));
  EXPECT_EQ(trial->failed, 0);
  EXPECT_THAT(failures(), IsEmpty());
  EXPECT_EQ(best_of(0), "tuned");
}

TEST_F(LastTryTest, BlamesNoScheduleThatRanBefore) {
  add_losers(4);
  bench_.broken = "4";
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->failed, 1);
  ASSERT_THAT(failures(), SizeIs(1));
  EXPECT_EQ(failures()[0].schedule, "4");
  EXPECT_EQ(best_of(0), "tuned");
  EXPECT_EQ(best_of(1), "untuned");
}

TEST_F(LastTryTest, BlamesNothingIfAllOfItRanBeforeAndSaysSo) {
  add_losers(3);
  break_runs(100);
  const absl::Status status = run().status();
  ASSERT_THAT(bench_.built, SizeIs(5)) << "else this test shows nothing";
  EXPECT_EQ(bench_.built[4], (std::vector<std::string>{"tuned", "untuned"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr(
          "it was killed by signal 11; each schedule ran in it before, so none was recorded as a failure"));
  EXPECT_THAT(failures(), IsEmpty());
  EXPECT_EQ(best_of(0), "tuned");
}

TEST_F(NetworkTrialTest, BlamesNoScheduleThatRanBeforeWhenItIsTooLateToLook) {
  add_all("untuned", 1000);
  add(row(program_.tasks[0], "tuned", 800));
  add(row(program_.tasks[1], "fastest", 700));
  add(row(program_.tasks[1], "broken", 800));
  bench_.in_network_ns = {{"tuned", 900}, {"fastest", 1100}};
  bench_.broken = "broken";
  bench_.on_run = [this, of_last = 0]() mutable {
    if (bench_.built.size() == 3 && ++of_last > driver::kTurn) options_.deadline = Clock::now();
  };
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  ASSERT_THAT(bench_.built, SizeIs(3)) << "the untuned one, and two tries";
  EXPECT_EQ(trial->failed, 1);
  EXPECT_EQ(best_of(0), "tuned");
  EXPECT_EQ(best_of(1), "untuned");
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
