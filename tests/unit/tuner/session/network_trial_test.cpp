#include "tuner/session/network/network_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/records/records_source.h"
#include "compiler/schedule/schedule.h"
#include "database/memory_store.h"
#include "tuner/session/network/build_choices.h"

namespace tf::session {
namespace {

using database::Measurement;
using database::Why;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Clock = std::chrono::steady_clock;
using Takes = database::NetworkVerdict::Takes;

// x * w1 * w2 * w1: two kernels, of which the first runs twice.
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
  graph::NodeId x = network.add_input(matrix(8, 16), "x");
  const graph::NodeId w1 = weights(16, 32, "w1"), w2 = weights(32, 16, "w2");
  for (int i = 0; i < 3; ++i)
    x = *network.add(graph::MatMul{}, {x, i % 2 == 0 ? w1 : w2}, absl::StrCat("product ", i));
  network.outputs = {{"y", x}};
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
  absl::StatusOr<Open> build(records::Plan& plan, Clock::time_point) override {
    double ns = 0;
    std::vector<std::string> schedules;
    for (const auto& choice : plan.choices) schedules.push_back(choice ? choice->schedule : "");
    for (const graph::Call& call : plan.program.calls) {
      const auto known = call_ns.find(schedules[static_cast<size_t>(call.task())]);
      ns += known == call_ns.end() ? 1000 : known->second;
    }
    const bool is_broken = std::ranges::count(schedules, broken) > 0;
    built.push_back(std::move(schedules));
    return Open([this, ns, is_broken]() -> absl::StatusOr<driver::Run> {
      if (is_broken && fails_to_open) return failure;
      return driver::Run([=, this]() -> absl::StatusOr<double> {
        ++runs;
        if (on_run) on_run();
        if (is_broken) return failure;
        return ns * slowness;
      });
    });
  }

  std::map<std::string, double> call_ns;  // by schedule; "" is a build's own default
  std::string broken = "none";            // the schedule that no network survives
  bool fails_to_open = false;
  absl::Status failure = absl::AbortedError("it was killed by signal 11");
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

  void add(const graph::Task& task, const std::string& schedule, int64_t ns) {
    ASSERT_TRUE(
        store_->add_workload({tensor::canonical_text(task.kernel.workload), task.label, task.flops}).ok());
    Measurement m;
    m.problem = tensor::key_for(task.kernel, options_.target, 1);
    m.schedule = schedule;
    m.semantics_version = schedule::kSemanticsVersion;
    m.samples = {{ns, 1}, {ns, 1}, {ns + 1, 1}};
    m.untuned = schedule == "untuned";
    m.device.device_class = "local";
    ASSERT_TRUE(store_->insert(m).ok());
  }
  // Of each kernel.
  void add_all(const std::string& schedule, int64_t ns) {
    for (const graph::Task& task : program_.tasks) add(task, schedule, ns);
  }

  absl::StatusOr<NetworkTrial> run() {
    UntunedNetwork untuned{.plan = *records::plan_untuned(network_, options_.target)};
    untuned.open = *bench_.build(untuned.plan, Clock::time_point::max());
    return try_network(network_, untuned, *store_, bench_, options_);
  }

  // Of each kernel, the schedule that a build takes.
  std::vector<std::string> taken() {
    const auto plan = records::plan_by_records(*store_, network_, options_.target, 1, std::nullopt, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<std::string> schedules;
    for (const auto& choice : plan->choices) schedules.push_back(choice ? choice->schedule : "");
    return schedules;
  }

  std::unique_ptr<database::Store> store_ = database::make_memory_store();
  FakeBench bench_;
  NetworkTrialOptions options_{.target = target::parse_target("x86_64:cpu=znver4").value(), .name = "net"};
  graph::Graph network_;
  graph::Program program_;
};

TEST_F(NetworkTrialTest, BuildsTakeTheFastestRecordsOnceTheNetworkIsFasterWithThem) {
  add_all("untuned", 1000);
  add_all("tuned", 995);  // too close to call when they run alone
  EXPECT_THAT(taken(), ElementsAre("untuned", "untuned"));
  bench_.call_ns["tuned"] = 900;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_DOUBLE_EQ(trial->untuned_ns, 3000);
  EXPECT_DOUBLE_EQ(trial->tuned_ns, 2700);
  EXPECT_NEAR(trial->ratio.median_ns, 0.9, 1e-9);
  EXPECT_EQ(trial->rounds, 12) << "that is clear";
  EXPECT_THAT(bench_.built, ElementsAre(ElementsAre("", ""), ElementsAre("tuned", "tuned")));
  EXPECT_THAT(taken(), ElementsAre("tuned", "tuned"));
  const database::NetworkVerdict stored = store_->verdicts()->at(0);
  EXPECT_EQ(stored, trial->verdict);
  EXPECT_EQ(stored.takes, Takes::kFastest);
  EXPECT_THAT(stored.why, HasSubstr("the tuned network is faster: ratio 0.900 (95%: "));
  EXPECT_EQ(stored.name, "net");
  EXPECT_THAT(stored.kernels, SizeIs(2));
}

TEST_F(NetworkTrialTest, BuildsStayUntunedWhereTheNetworkIsNotFaster) {
  add_all("untuned", 1000);
  add_all("tuned", 500);
  EXPECT_THAT(taken(), ElementsAre("tuned", "tuned"));
  for (const double ns : {1000.0, 1100.0}) {
    bench_.call_ns["tuned"] = ns;
    const absl::StatusOr<NetworkTrial> trial = run();
    ASSERT_TRUE(trial.ok()) << trial.status();
    EXPECT_EQ(trial->verdict.takes, Takes::kUntuned);
    EXPECT_THAT(trial->verdict.why,
                HasSubstr(ns > 1000 ? "is slower: " : "is not measurably faster or slower: "));
    EXPECT_THAT(taken(), ElementsAre("untuned", "untuned"));
    EXPECT_THAT(*store_->verdicts(), SizeIs(1));
  }
  bench_.call_ns["tuned"] = 900;
  ASSERT_TRUE(run().ok());
  EXPECT_THAT(taken(), ElementsAre("tuned", "tuned")) << "the last verdict counts";
}

TEST_F(NetworkTrialTest, TheTableOfChoicesSaysWhatABuildTakes) {
  add_all("untuned", 1000);
  add_all("tuned", 500);
  for (const double ns : {900.0, 1100.0}) {
    bench_.call_ns["tuned"] = ns;
    ASSERT_TRUE(run().ok());
    const auto kernels = build_choices(network_, *store_, options_.target, 1, {});
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    for (const KernelChoice& kernel : *kernels) {
      EXPECT_EQ(kernel.is_untuned, ns > 1000);
      EXPECT_EQ(kernel.build_ns, ns > 1000 ? 1000 : 500);
      EXPECT_EQ(kernel.untuned_ns, 1000);
      EXPECT_EQ(kernel.why, ns > 1000 ? Why::kNoGain : Why::kVerified);
    }
  }
}

TEST_F(NetworkTrialTest, StaysUntunedWhereTheTunedNetworkFails) {
  add_all("untuned", 1000);
  add_all("tuned", 500);
  bench_.call_ns["tuned"] = 500;
  bench_.broken = "tuned";
  for (const bool fails_to_open : {false, true}) {
    bench_.fails_to_open = fails_to_open;
    for (const absl::Status& failure : {absl::AbortedError("it was killed by signal 11"),
                                        absl::InternalError("its answers are wrong: 1 instead of 2"),
                                        absl::DeadlineExceededError("it did not finish within 30s")}) {
      bench_.failure = failure;
      const absl::StatusOr<NetworkTrial> trial = run();
      ASSERT_TRUE(trial.ok()) << trial.status();
      EXPECT_EQ(trial->rounds, 0);
      EXPECT_EQ(trial->verdict.takes, Takes::kUntuned);
      EXPECT_EQ(trial->verdict.why, absl::StrCat("the tuned network fails: ", failure.message()));
      EXPECT_THAT(taken(), ElementsAre("untuned", "untuned"));
    }
  }
}

TEST_F(NetworkTrialTest, SaysWhenTheUntunedNetworkFailsAndDecidesNothing) {
  add_all("untuned", 1000);
  add_all("tuned", 500);
  bench_.broken = "";
  const absl::Status failed = run().status();
  EXPECT_EQ(failed.message(), "the untuned network fails: it was killed by signal 11");
  EXPECT_THAT(*store_->verdicts(), IsEmpty());
}

TEST_F(NetworkTrialTest, RunsNothingIfEveryKernelIsTheUntunedOne) {
  add_all("untuned", 1000);
  add_all("tuned", 1001);
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->rounds, 0);
  EXPECT_THAT(bench_.built, SizeIs(1));
  EXPECT_EQ(store_->verdicts()->at(0).takes, Takes::kUntuned);
  EXPECT_EQ(trial->verdict.why, "no schedule looks faster than the untuned ones");
}

TEST_F(NetworkTrialTest, ComparesUntunedKernelsBetweenOtherLayouts) {
  set_network(convolutions());
  ASSERT_FALSE(program_.alternatives.empty());
  add_all("untuned", 1'000'000'000);
  for (const graph::Task& task : program_.alternatives) add(task, "untuned", 10);
  bench_.call_ns["untuned"] = 100;
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_GT(trial->rounds, 0);
  ASSERT_EQ(trial->verdict.takes, Takes::kFastest);
  const auto plan = records::plan_by_records(*store_, network_, options_.target, 1, std::nullopt, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_NE(records::verdict_key(plan->program, "local", options_.target, 1, {}), trial->verdict.key)
      << "other kernels";
}

TEST_F(NetworkTrialTest, MeasuresLongerWhatIsCloser) {
  add_all("untuned", 1000);
  add_all("tuned", 990);
  bench_.call_ns["tuned"] = 998;
  bench_.on_run = [&] { bench_.slowness = bench_.runs / driver::kTurn % 5 == 0 ? 1.1 : 1; };
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->rounds, 96);
  EXPECT_EQ(trial->verdict.takes, Takes::kUntuned);
}

TEST_F(NetworkTrialTest, CountsTheFirstRoundForNeitherBuild) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  bench_.call_ns["tuned"] = 900;
  bench_.on_run = [&] { bench_.slowness = bench_.runs <= driver::kTurn ? 100 : 1; };
  const absl::StatusOr<NetworkTrial> trial = run();
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_DOUBLE_EQ(trial->untuned_ns, 3000);
  EXPECT_EQ(trial->rounds, 12);
}

TEST_F(NetworkTrialTest, BeginsNothingAfterTheDeadline) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  options_.deadline = Clock::now();
  EXPECT_EQ(run().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(bench_.built, SizeIs(1)) << "the untuned one, before tuning";
  EXPECT_EQ(bench_.runs, 0);
}

TEST_F(NetworkTrialTest, DecidesNothingByFewRounds) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  options_.deadline = Clock::now() + std::chrono::milliseconds(300);
  bench_.on_run = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  EXPECT_EQ(run().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LE(bench_.runs, 4);
  EXPECT_THAT(*store_->verdicts(), IsEmpty());
}

TEST_F(NetworkTrialTest, EndsAtOnceWhenItIsStopped) {
  add_all("untuned", 1000);
  add_all("tuned", 900);
  std::atomic<bool> stop = false;
  options_.stop = &stop;
  bench_.on_run = [&] { stop = bench_.runs == 40; };
  EXPECT_EQ(run().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(bench_.runs, 40);
  EXPECT_THAT(*store_->verdicts(), IsEmpty());
}

TEST_F(NetworkTrialTest, IsOfOneNetworkOneDeviceOneTargetOneNumberOfThreadsAndWhatWasAllowed) {
  add_all("untuned", 1000);
  add_all("tuned", 500);
  bench_.call_ns["tuned"] = 1100;
  ASSERT_TRUE(run().ok());
  const auto verdict = [&](const graph::Graph& network, const char* target, int threads,
                           const std::optional<std::string>& device, const schedule::Numerics& allowed) {
    const auto plan =
        records::plan_by_records(*store_, network, *target::parse_target(target), threads, device, allowed);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan->verdict.has_value();
  };
  EXPECT_TRUE(verdict(network_, "x86_64:cpu=znver4", 1, std::nullopt, {}));
  EXPECT_TRUE(verdict(network_, "x86_64:cpu=znver4", 1, "local", {}));
  EXPECT_FALSE(verdict(convolutions(), "x86_64:cpu=znver4", 1, std::nullopt, {}));
  EXPECT_FALSE(verdict(network_, "x86_64:cpu=haswell", 1, std::nullopt, {}));
  EXPECT_FALSE(verdict(network_, "x86_64:cpu=znver4", 2, std::nullopt, {}));
  EXPECT_FALSE(verdict(network_, "x86_64:cpu=znver4", 1, "desk", {}));
  EXPECT_FALSE(verdict(network_, "x86_64:cpu=znver4", 1, std::nullopt, {"bf16"}));
}

TEST(NetworkTrialSeconds, AreThoseOfItsBuildsAndRuns) {
  const auto progress_of = [](double best_ns) {
    Progress progress;
    progress.set_trials_per_second(20);
    progress.add_tasks();  // no part of the network
    for (int i = 0; i < 20; ++i) {
      TaskProgress& task = *progress.add_tasks();
      task.set_weight(1);
      task.set_best_ns(best_ns);
      task.set_untuned_ns(2 * best_ns);
    }
    return progress;
  };
  const Progress small = progress_of(1e4), large = progress_of(1e6);
  EXPECT_LT(network_trial_seconds(small), 4) << "a build of a second, linking, and opening both";
  EXPECT_NEAR(network_trial_seconds(large) - network_trial_seconds(small), 75 * 20 * 99 * 3e-5, 0.1);
}

}  // namespace
}  // namespace tf::session
