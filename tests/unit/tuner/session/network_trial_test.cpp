#include "tuner/session/network_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "compiler/records/records_source.h"
#include "compiler/schedule/schedule.h"
#include "database/memory_store.h"

namespace tf::session {
namespace {

using database::Measurement;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Clock = std::chrono::steady_clock;

constexpr char kHere[] = "this machine";

// x * w1 * w2 * w1: two kernels, the first of which is called twice.
graph::Graph products() {
  graph::Graph network;
  const auto matrix = [&](int64_t rows, int64_t columns) {
    return graph::tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{rows, columns});
  };
  const auto weights = [&](int64_t rows, int64_t columns, const char* name) {
    const auto elements = static_cast<size_t>(rows * columns);
    return network.add_constant(matrix(rows, columns), graph::make_blob(std::vector<float>(elements, 0.5f)),
                                name);
  };
  const graph::NodeId x = network.add_input(matrix(8, 16), "x");
  const graph::NodeId w1 = weights(16, 32, "w1"), w2 = weights(32, 16, "w2");
  graph::NodeId y = *network.add(graph::MatMul{}, {x, w1}, "first");
  y = *network.add(graph::MatMul{}, {y, w2}, "second");
  network.outputs = {{"y", *network.add(graph::MatMul{}, {y, w1}, "third")}};
  return network;
}

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

// Every kernel takes 1000 ns, but for what the test says of a schedule.
class FakeBench final : public NetworkBench {
 public:
  absl::StatusOr<driver::Run> build(records::Plan& plan) override {
    std::vector<double> calls_ns;
    std::vector<std::string> schedules;
    for (auto& choice : plan.choices) {
      if (choice && unbuildable == choice->schedule) choice.reset();
      schedules.push_back(choice ? choice->schedule : "");
    }
    for (const graph::Call& call : plan.program.calls) {
      const auto known = in_network_ns.find(schedules[static_cast<size_t>(call.task)]);
      calls_ns.push_back(known == in_network_ns.end() ? 1000 : known->second);
    }
    built.push_back(std::move(schedules));
    return driver::Run([this, calls_ns]() -> absl::StatusOr<std::vector<double>> {
      ++runs;
      if (on_run) on_run();
      std::vector<double> times_ns = {0};
      for (const double ns : calls_ns) {
        times_ns.push_back(ns * slowness);
        times_ns[0] += ns * slowness;
      }
      return times_ns;
    });
  }
  absl::StatusOr<database::DeviceState> device() override {
    return database::DeviceState{.device_class = "local", .fingerprint = kHere, .clock_mhz = 4200};
  }

  std::map<std::string, double> in_network_ns;  // of a call, by schedule; "" is a build's own default
  std::string unbuildable;
  double slowness = 1;  // of the machine, now
  std::function<void()> on_run;
  int runs = 0;
  std::vector<std::vector<std::string>> built;  // of each build, the schedule of each task
};

class NetworkTrialTest : public testing::Test {
 protected:
  NetworkTrialTest() { set_network(products()); }

  void set_network(graph::Graph network) {
    network_ = std::move(network);
    program_ = records::plan_untuned(network_, options_.target)->program;
  }

  Measurement row(const graph::Task& task, const std::string& schedule, int64_t ns) {
    EXPECT_TRUE(store_->add_workload({tensor::canonical_text(task.workload), task.label, task.flops}).ok());
    Measurement m;
    m.problem = records::problem_of(driver::query_of(task, options_.target, 1)).value();
    m.schedule = schedule;
    m.semantics_version = schedule::kSemanticsVersion;
    m.samples = {{ns, 1}, {ns, 1}, {ns + 1, 1}};
    m.untuned = schedule == "untuned";
    m.max_error = 0.5;
    m.artifact_digest = "of its own trial";
    m.device = {.device_class = "local", .fingerprint = kHere, .clock_mhz = 900, .throttled = true};
    m.job_id = 3;
    return m;
  }
  void add(const Measurement& m) { ASSERT_TRUE(store_->insert(m).ok()); }
  // Measured alone, of each kernel.
  void add_all(const std::string& schedule, int64_t ns) {
    for (const graph::Task& task : program_.tasks) add(row(task, schedule, ns));
  }

  absl::StatusOr<NetworkTrial> run() { return try_network(network_, *store_, bench_, options_); }

  std::vector<Measurement> network_rows() {
    std::vector<Measurement> rows;
    EXPECT_TRUE(store_
                    ->scan({},
                           [&](const Measurement& m) {
                             if (m.cache_mode == database::CacheMode::kNetwork) rows.push_back(m);
                             return absl::OkStatus();
                           })
                    .ok());
    return rows;
  }
  std::string best_of(size_t task) {
    database::BestQuery query{.problem = row(program_.tasks[task], "", 1).problem};
    const auto best = store_->best(query);
    return best.ok() && *best ? (*best)->schedule : "";
  }

  std::unique_ptr<database::Store> store_ = database::make_memory_store();
  FakeBench bench_;
  NetworkTrialOptions options_{.target = target::parse_target("x86_64:cpu=znver4").value(), .job_id = 7};
  graph::Graph network_;
  graph::Program program_;
};

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
  ASSERT_THAT(bench_.built, SizeIs(3));
  EXPECT_EQ(bench_.built[1], (std::vector<std::string>{"faster", "tuned"}));
  EXPECT_EQ(bench_.built[2], (std::vector<std::string>{"faster", "untuned"}));
  EXPECT_EQ(best_of(0), "faster");
  EXPECT_EQ(best_of(1), "untuned");
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

TEST_F(NetworkTrialTest, ComparesRoundsNotMediansOfAMachineThatDrifts) {
  add_all("untuned", 1000);
  add_all("tuned", 995);
  bench_.in_network_ns["tuned"] = 960;
  int round = 0;
  bench_.on_run = [&] { bench_.slowness = 1 + 0.02 * (round++ / (2 * driver::kTurn)); };
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->faster, 2) << trial->rounds;
  EXPECT_EQ(best_of(0), "tuned");
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
  bench_.on_run = [&] { bench_.slowness = (bench_.runs - 1) / driver::kTurn % 2 ? 1 : 1.5; };
  const absl::StatusOr<NetworkTrial> close = run();
  ASSERT_TRUE(close.ok()) << close.status();
  EXPECT_GE(clear->rounds, 6);
  EXPECT_LT(clear->rounds, 12);
  EXPECT_GT(bench_.runs, 2 * driver::kTurn * 100);
}

TEST_F(NetworkTrialTest, LeavesRowsOfThisDayAndOfTheirRounds) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.in_network_ns["tuned"] = 800;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  ASSERT_THAT(network_rows(), SizeIs(4));
  for (const Measurement& m : network_rows()) {
    EXPECT_THAT(m.samples, SizeIs(trial->rounds));
    EXPECT_EQ(m.samples[0].iterations, m.problem == row(program_.tasks[0], "", 1).problem ? 2u : 1u);
    EXPECT_EQ(database::median_ns(m.samples), m.untuned ? 1000 : 800);
    EXPECT_EQ(m.device.clock_mhz, 4200) << "of another trial, on another day";
    EXPECT_FALSE(m.device.throttled);
    EXPECT_EQ(m.artifact_digest, "");
    EXPECT_EQ(m.max_error, 0);
    EXPECT_EQ(m.job_id, 7);
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
  EXPECT_EQ(trial->tuned, 1);
  EXPECT_EQ(trial->faster, 1);
  EXPECT_THAT(network_rows(), SizeIs(2));
}

TEST_F(NetworkTrialTest, JudgesNoScheduleThatCouldNotBeBuilt) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.unbuildable = "tuned";
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->tuned, 0);
  EXPECT_THAT(network_rows(), IsEmpty());
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
  EXPECT_LT(network_trial_seconds(small), 8) << "three builds of a second each, and linking";
  EXPECT_NEAR(network_trial_seconds(large) - network_trial_seconds(small), 180 * 20 * 99 * 3e-5, 0.1);
}

}  // namespace
}  // namespace tf::session
