#include "tuner/session/network_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/tuner/session/network_fixture.h"

namespace tf::session {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Three convolutions, between which layouts can be chosen.
graph::Graph convolutions() {
  graph::Graph network;
  const std::vector<int64_t> shape = {1, 16, 8, 8}, weights = {16, 16, 3, 3};
  graph::NodeId x = network.add_input(graph::tensor_type(tensor::Element::kFloat32, shape), "x");
  const graph::NodeId w = network.add_constant(graph::tensor_type(tensor::Element::kFloat32, weights),
                                               graph::make_blob(std::vector<float>(16 * 16 * 9, 0.5f)), "w");
  for (int i = 0; i < 3; ++i)
    x = *network.add(graph::Conv{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, {x, w}, "conv");
  network.outputs = {{"y", x}};
  return network;
}

TEST_F(NetworkTrialTest, KeepsWhatIsSurelyFasterInside) {
  add_all("untuned", 1000);
  add_all("tuned", 995);  // too close to call when they run alone
  ASSERT_EQ(best_of(0), "untuned");
  bench_.in_network_ns["tuned"] = 900;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->kernels, 2);
  EXPECT_EQ(trial->tuned, 2);
  EXPECT_EQ(trial->faster, 2);
  EXPECT_EQ(trial->put_back, 0);
  EXPECT_DOUBLE_EQ(trial->untuned_ns, 3000);
  EXPECT_DOUBLE_EQ(trial->tuned_ns, 2700);
  EXPECT_NEAR(trial->ratio.median_ns, 0.9, 1e-9);
  EXPECT_EQ(best_of(0), "tuned");
  EXPECT_EQ(best_of(1), "tuned");
}

TEST_F(NetworkTrialTest, PutsBackWhatIsNotAndTriesThatInstead) {
  add_all("untuned", 1000);
  add(row(program_.tasks[0], "faster", 800));
  add(row(program_.tasks[1], "tuned", 800));
  bench_.in_network_ns["faster"] = 900;
  bench_.in_network_ns["tuned"] = 1000;  // a tie
  ASSERT_EQ(best_of(1), "tuned");
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->put_back, 1);
  EXPECT_EQ(trial->tuned, 1) << "of the last try";
  EXPECT_EQ(trial->faster, 1);
  EXPECT_EQ(trial->lost, 0);
  ASSERT_THAT(bench_.built, SizeIs(3));
  EXPECT_EQ(bench_.built[1], (std::vector<std::string>{"faster", "tuned"}));
  EXPECT_EQ(bench_.built[2], (std::vector<std::string>{"faster", "untuned"}));
  EXPECT_EQ(best_of(0), "faster");
  EXPECT_EQ(best_of(1), "untuned");
}

TEST_F(NetworkTrialTest, CountsAsPutBackOnlyWhatIsBuiltAsWithoutTuning) {
  add(row(program_.tasks[0], "untuned", 1000));
  add(row(program_.tasks[0], "fastest", 700));
  add(row(program_.tasks[0], "second", 800));
  bench_.in_network_ns = {{"fastest", 1100}, {"second", 900}};
  const absl::StatusOr<NetworkTrial> second_wins = run();
  ASSERT_TRUE(second_wins.ok()) << second_wins.status();
  ASSERT_EQ(best_of(0), "second");
  EXPECT_EQ(second_wins->faster, 1);
  EXPECT_EQ(second_wins->put_back, 0);
  EXPECT_EQ(second_wins->untried, 0);
  add(row(program_.tasks[1], "untuned", 1000));
  for (const char* schedule : {"1", "2", "3", "4", "5"}) {
    add(row(program_.tasks[1], schedule, 700 + schedule[0]));
    bench_.in_network_ns[schedule] = 1100;
  }
  const absl::StatusOr<NetworkTrial> all_lose = run();
  ASSERT_TRUE(all_lose.ok()) << all_lose.status();
  ASSERT_EQ(best_of(1), "5");
  EXPECT_EQ(all_lose->put_back, 0);
  EXPECT_EQ(all_lose->untried, 1) << "there was no try left for it";
  EXPECT_EQ(all_lose->lost, 1);
}

TEST_F(NetworkTrialTest, TriesTheNextOneOnceTheFastestHasLostAndForgetsNoVerdict) {
  add_all("untuned", 1000);
  add_all("fastest", 700);
  add_all("second", 999);  // never tried before the fastest has lost: it is not surely faster
  bench_.in_network_ns = {{"fastest", 1100}, {"second", 900}};
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(best_of(0), "untuned");
  bench_.built.clear();
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(bench_.built[1], (std::vector<std::string>{"second", "second"}));
  EXPECT_EQ(best_of(0), "second") << "each by its own meeting with the untuned schedule";
  bench_.in_network_ns["second"] = 1000;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(best_of(0), "untuned") << "the last verdict counts, of the fastest too";
}

// Of twelve visits, the tuned build is disturbed in the second, when the machine was still fast: by the
// medians of all visits it is the slower one.
TEST_F(NetworkTrialTest, ComparesVisitsNotMediansOfAMachineThatDrifts) {
  add_all("untuned", 1000);
  add_all("tuned", 995);
  bench_.in_network_ns["tuned"] = 960;
  int visits = 0;
  bench_.place_of_process = [&](int process) {
    bench_.slowness = 1 + 0.2 * visits++;
    return process == 2 ? 3 : 1;
  };
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_LT(trial->tuned_ns, trial->untuned_ns) << "the times agree with the verdict";
  EXPECT_EQ(trial->faster, 2) << trial->visits;
  EXPECT_EQ(best_of(0), "tuned");
}

// Where a process's memory lies moves all of its runs alike.
TEST_F(NetworkTrialTest, IsNotSureOfWhatOneProcessShows) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.in_network_ns["tuned"] = 1000;
  bench_.place_of_process = [](int process) { return process % 2 ? 0.97 : 1.03; };
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->faster, 0);
  EXPECT_EQ(best_of(0), "untuned");
  EXPECT_GE(bench_.tuned_processes, 12);
  EXPECT_EQ(bench_.runs, bench_.tuned_processes * 3 * 2 * driver::kTurn) << "each visit has its own";
}

TEST_F(NetworkTrialTest, RunsOnWhereItIsCloseAndEndsSoonWhereItIsNot) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.in_network_ns["tuned"] = 800;
  const absl::StatusOr<NetworkTrial> clear = run();
  ASSERT_TRUE(clear.ok()) << clear.status();
  store_ = database::make_memory_store();
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.runs = 0;
  bench_.in_network_ns["tuned"] = 990;
  bench_.place_of_process = [](int process) { return process % 3 ? 1 : 1.5; };
  const absl::StatusOr<NetworkTrial> close = run();
  ASSERT_TRUE(close.ok()) << close.status();
  EXPECT_EQ(clear->visits, 6);
  EXPECT_GT(bench_.runs, 3 * 2 * driver::kTurn * 12) << "three rounds of two builds a visit";
}

// Of each visit, so many turns of either build are slow.
TEST_F(NetworkTrialTest, HoldsTheColdestTurnsAgainstNeitherBuild) {
  for (const int cold_turns : {1, 2, 3}) {
    bench_.built.clear();
    store_ = database::make_memory_store();
    add_all("untuned", 1000);
    add_all("tuned", 900);
    bench_.in_network_ns["tuned"] = 500;
    int runs_of_visit = 0;
    bench_.place_of_process = [&](int) {
      runs_of_visit = 0;
      return 1.0;
    };
    bench_.on_run = [&] { bench_.slowness = ++runs_of_visit <= cold_turns * driver::kTurn ? 1.3 : 1; };
    const absl::StatusOr<NetworkTrial> trial = run();
    ASSERT_TRUE(trial.ok()) << trial.status();
    EXPECT_NEAR(trial->ratio.median_ns, 0.5, 0.01) << cold_turns;
    EXPECT_EQ(trial->faster, 2) << cold_turns;
  }
}

TEST_F(NetworkTrialTest, LeavesRowsOfThisDayAndOfTheirRounds) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.in_network_ns["tuned"] = 800;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  ASSERT_THAT(network_rows(), SizeIs(4));
  for (const Measurement& m : network_rows()) {
    EXPECT_THAT(m.samples, SizeIs(trial->visits));
    EXPECT_EQ(m.samples[0].iterations, m.problem == row(program_.tasks[0], "", 1).problem ? 2u : 1u);
    EXPECT_EQ(database::median_ns(m.samples), m.untuned ? 1000 : 800);
    EXPECT_EQ(m.device.clock_mhz, 4200) << "of another trial, on another day";
    EXPECT_FALSE(m.device.throttled);
    EXPECT_EQ(m.artifact_digest, "");
    EXPECT_EQ(m.max_error, 0);
    EXPECT_EQ(m.job_id, 7);
  }
}

TEST_F(NetworkTrialTest, IsNotSureOfAKernelThatTheTunedBuildOnlyCallsLessOften) {
  set_network(products(5));
  add_all("untuned", 1000);
  add(row(program_.tasks[0], "tuned", 900));
  bench_.tuned_calls_left_out = 1;
  bench_.in_network_ns["tuned"] = 1000;  // a call, as untuned
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_LT(trial->tuned_ns, trial->untuned_ns) << "else this test shows nothing";
  EXPECT_EQ(trial->faster, 0);
  EXPECT_EQ(trial->put_back, 1);
  EXPECT_EQ(best_of(0), "untuned");
  ASSERT_THAT(network_rows(), SizeIs(2));
  for (const Measurement& m : network_rows()) {
    EXPECT_EQ(m.samples[0].iterations, m.untuned ? 3u : 2u);
    EXPECT_EQ(database::median_ns(m.samples), 1000);
    EXPECT_NEAR(m.median_ns().value_or(0), 1000, 1e-6);
  }
}

TEST_F(NetworkTrialTest, KeepsAFasterKernelThatTheTunedBuildCallsMoreOften) {
  set_network(products(5));
  add_all("untuned", 1000);
  add(row(program_.tasks[0], "tuned", 900));
  bench_.untuned_calls_left_out = 1;
  bench_.in_network_ns["tuned"] = 900;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_GT(trial->tuned_ns, trial->untuned_ns) << "else this test shows nothing";
  EXPECT_EQ(trial->faster, 1);
  EXPECT_EQ(trial->put_back, 0);
  EXPECT_EQ(best_of(0), "tuned");
  ASSERT_THAT(network_rows(), SizeIs(2));
  for (const Measurement& m : network_rows()) {
    EXPECT_EQ(m.samples[0].iterations, m.untuned ? 2u : 3u);
    EXPECT_NEAR(m.median_ns().value_or(0), m.untuned ? 1000 : 900, 1e-6);
  }
}

TEST_F(NetworkTrialTest, RunsNothingThatWasNotMeasuredHereByThisDatabase) {
  add_all("untuned", 1000);
  Measurement imported = row(program_.tasks[0], "imported", 1), farmed = row(program_.tasks[1], "farmed", 1),
              copied = row(program_.tasks[0], "of another machine", 2);
  imported.job_id = 0;
  farmed.lease = database::LeaseStamp{"box/0", "lease", 1, 1};
  copied.device.fingerprint = "another machine";
  for (const Measurement& m : {imported, farmed, copied}) add(m);
  add(row(program_.tasks[1], "tuned", 900));
  bench_.in_network_ns["tuned"] = 1000;  // so that a second build is by what is best, which is the farm's
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  ASSERT_THAT(bench_.built, SizeIs(3));
  EXPECT_EQ(bench_.built[1], (std::vector<std::string>{"untuned", "tuned"}));
  EXPECT_EQ(bench_.built[2], (std::vector<std::string>{"", ""}));
}

TEST_F(NetworkTrialTest, JudgesNoKernelWithoutAYardstick) {
  add(row(program_.tasks[0], "untuned", 1000));
  add_all("tuned", 900);
  bench_.in_network_ns["tuned"] = 800;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->tuned, 2);
  EXPECT_EQ(trial->unmeasured, 1);
  EXPECT_EQ(trial->faster, 1);
  EXPECT_THAT(network_rows(), SizeIs(2));
}

// As after a search that measures no untuned schedule.
TEST_F(NetworkTrialTest, CountsSchedulesOfTheirOwnWithoutAnyYardstick) {
  add_all("tuned", 900);
  bench_.in_network_ns["tuned"] = 800;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->kernels, 2);
  EXPECT_EQ(trial->tuned, 2);
  EXPECT_EQ(trial->unmeasured, 2);
  EXPECT_EQ(trial->faster, 0) << "of each kernel nothing is known";
  EXPECT_NEAR(trial->ratio.median_ns, 0.8, 1e-9) << "of the whole it is";
  EXPECT_THAT(network_rows(), IsEmpty());
}

TEST_F(NetworkTrialTest, JudgesNoScheduleThatCouldNotBeBuilt) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.unbuildable = "tuned";
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->tuned, 0);
  EXPECT_TRUE(trial->all_untuned);
  EXPECT_THAT(network_rows(), IsEmpty());
}

TEST_F(NetworkTrialTest, RunsNothingWhereEveryKernelIsTheUntunedOne) {
  add_all("untuned", 1000);
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_TRUE(trial->all_untuned);
  EXPECT_EQ(trial->kernels, 2);
  EXPECT_EQ(trial->visits, 0);
  EXPECT_EQ(bench_.runs, 0);
  EXPECT_EQ(trial->put_back, 0);
}

TEST_F(NetworkTrialTest, TellsNoRatioOnceAllThatWasTunedIsPutBack) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.in_network_ns["tuned"] = 1100;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_TRUE(trial->all_untuned);
  EXPECT_EQ(trial->put_back, 2);
  EXPECT_EQ(trial->visits, 0) << "of the last try";
  EXPECT_THAT(network_rows(), SizeIs(4)) << "of the first one";
}

TEST_F(NetworkTrialTest, ComparesUntunedKernelsThatAreCalledLessOften) {
  add_all("untuned", 1000);
  bench_.tuned_calls_left_out = 1;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_FALSE(trial->all_untuned);
  EXPECT_EQ(trial->tuned, 0);
  EXPECT_NEAR(trial->ratio.median_ns, 2.0 / 3, 1e-9);
}

TEST_F(NetworkTrialTest, SaysOfKernelsBetweenOtherLayoutsThatTheyWereNotCompared) {
  set_network(convolutions());
  ASSERT_FALSE(program_.alternatives.empty());
  add_all("untuned", 1'000'000'000);
  add_all("tuned", 900'000'000);
  for (const graph::Task& task : program_.alternatives) {
    add(row(task, "untuned", 10));
    add(row(task, "tuned", 1));
  }
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_GT(trial->other_layouts, 0);
  EXPECT_LE(trial->faster + trial->other_layouts, trial->tuned);
}

TEST_F(NetworkTrialTest, BeginsNothingAfterTheDeadline) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  options_.deadline = Clock::now();
  EXPECT_EQ(run().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(bench_.built, IsEmpty());
}

TEST_F(NetworkTrialTest, EndsAtTheDeadlineInItsFirstRoundsToo) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  options_.deadline = Clock::now() + std::chrono::milliseconds(300);
  bench_.on_run = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  EXPECT_EQ(run().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LE(bench_.runs, 4);
  EXPECT_THAT(network_rows(), IsEmpty()) << "of so few rounds nothing is known";
}

TEST_F(NetworkTrialTest, EndsAtOnceWhenItIsStopped) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  std::atomic<bool> stop = false;
  options_.stop = &stop;
  bench_.on_run = [&] { stop = bench_.runs == 40; };
  EXPECT_EQ(run().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(bench_.runs, 40);
  EXPECT_THAT(network_rows(), IsEmpty());
}

TEST(NetworkTrialSeconds, AreThoseOfItsBuildsAndRuns) {
  Progress small{.trials_per_second = 20};
  small.tasks.resize(20, {.weight = 1, .best_ns = 1e4, .untuned_ns = 2e4});
  small.tasks.push_back({.weight = 0});  // no part of the network
  Progress large = small;
  for (TaskProgress& task : large.tasks) {
    task.best_ns *= 100;
    task.untuned_ns *= 100;
  }
  EXPECT_LT(network_trial_seconds(small), 12) << "three builds of a second each, linking, and opening";
  EXPECT_NEAR(network_trial_seconds(large) - network_trial_seconds(small), 216 * 20 * 99 * 3e-5, 0.1);
}

}  // namespace
}  // namespace tf::session
