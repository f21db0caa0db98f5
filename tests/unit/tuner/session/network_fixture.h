#pragma once
// Owns: a network's trial over a fake bench, which runs networks in no time and says what the test wants.
// Does not know: what is tested with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/records/records_source.h"
#include "compiler/schedule/schedule.h"
#include "database/memory_store.h"
#include "tuner/session/network_trial.h"

namespace tf::session {

using database::Measurement;
using Clock = std::chrono::steady_clock;

inline constexpr char kHere[] = "this machine";

// x * w1 * w2 * w1 …: two kernels in turns, of three calls the first has two.
inline graph::Graph products(int calls = 3) {
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
  for (int i = 0; i < calls; ++i)
    x = *network.add(graph::MatMul{}, {x, i % 2 == 0 ? w1 : w2}, absl::StrCat("product ", i));
  network.outputs = {{"y", x}};
  return network;
}

// Every kernel takes 1000 ns, but for what the test says of a schedule.
class FakeBench final : public NetworkBench {
 public:
  absl::StatusOr<Open> build(records::Plan& plan) override {
    const bool is_untuned = built.empty();
    std::vector<graph::Call>& calls = plan.program.calls;
    calls.resize(calls.size() - (is_untuned ? untuned_calls_left_out : tuned_calls_left_out));
    std::vector<double> calls_ns;
    std::vector<std::string> schedules;
    for (auto& choice : plan.choices) {
      if (choice && unbuildable == choice->schedule) choice.reset();
      schedules.push_back(choice ? choice->schedule : "");
    }
    for (const graph::Call& call : calls) {
      const auto known = in_network_ns.find(schedules[static_cast<size_t>(call.task)]);
      calls_ns.push_back(known == in_network_ns.end() ? 1000 : known->second);
    }
    const bool is_broken = std::ranges::count(schedules, broken) > 0;
    built.push_back(std::move(schedules));
    return Open([this, calls_ns, is_broken, is_untuned]() -> absl::StatusOr<driver::Run> {
      const double place = is_untuned || !place_of_process ? 1 : place_of_process(++tuned_processes);
      return driver::Run([=, this]() -> absl::StatusOr<std::vector<double>> {
        ++runs;
        if (on_run) on_run();
        if (is_broken || broken_runs) return failure;
        std::vector<double> times_ns = {0};
        for (const double ns : calls_ns) {
          times_ns.push_back(ns * slowness * place);
          times_ns[0] += times_ns.back();
        }
        return times_ns;
      });
    });
  }
  absl::StatusOr<database::DeviceState> device() override {
    return database::DeviceState{.device_class = "local", .fingerprint = kHere, .clock_mhz = 4200};
  }

  std::map<std::string, double> in_network_ns;  // of a call, by schedule; "" is a build's own default
  // Of the last calls, as where other layouts make them calls of other kernels.
  size_t untuned_calls_left_out = 0, tuned_calls_left_out = 0;
  std::string unbuildable;
  std::string broken = "none";  // the schedule that no network survives
  bool broken_runs = false;
  absl::Status failure = absl::AbortedError("it was killed by signal 11");
  double slowness = 1;  // of the machine, now
  // Of a tuned build, by how often one was opened.
  std::function<double(int)> place_of_process;
  int tuned_processes = 0;
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

  template <typename Is>
  std::vector<Measurement> rows_where(Is&& is) {
    std::vector<Measurement> rows;
    EXPECT_TRUE(store_
                    ->scan({},
                           [&](const Measurement& m) {
                             if (is(m)) rows.push_back(m);
                             return absl::OkStatus();
                           })
                    .ok());
    return rows;
  }
  std::vector<Measurement> network_rows() {
    return rows_where([](const Measurement& m) { return m.cache_mode == database::CacheMode::kNetwork; });
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

}  // namespace tf::session
