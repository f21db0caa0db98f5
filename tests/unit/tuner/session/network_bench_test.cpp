#include "tuner/session/network/network_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "compiler/records/plan.h"

namespace tf::session {
namespace {

using testing::HasSubstr;

// One product with a matrix of that value.
records::Plan product(const target::Target& target, float value) {
  graph::Graph network;
  const auto type = [](int64_t rows, int64_t columns) {
    return graph::tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{rows, columns});
  };
  const graph::NodeId x = network.add_input(type(4, 16), "x");
  const graph::NodeId w =
      network.add_constant(type(16, 8), graph::make_blob(std::vector<float>(size_t{16} * 8, value)), "w");
  network.outputs = {{"y", *network.add(graph::MatMul{}, {x, w}, "product")}};
  return records::plan_untuned(std::move(network), target).value();
}

TEST(NetworkBench, OpensNoBuildWhoseAnswersAreNotThoseOfTheFirst) {
  const target::Target target = target::host_target();
  const auto pool = driver::BuildPool::create({});
  ASSERT_TRUE(pool.ok()) << pool.status();
  for (const bool is_reduced : {false, true}) {
    NetworkBenchOptions options{.target = target};
    if (is_reduced) options.allowed_numerics = {"bf16"};
    const std::unique_ptr<NetworkBench> bench = make_network_bench(**pool, options);
    // Answers are sums of the matrix's values, so they differ as much as these do.
    const auto opens = [&](float value) {
      records::Plan plan = product(target, value);
      const absl::StatusOr<NetworkBench::Open> open =
          bench->build(plan, std::chrono::steady_clock::time_point::max());
      EXPECT_TRUE(open.ok()) << open.status();
      const absl::StatusOr<driver::Run> run = (*open)();
      if (run.ok()) {
        EXPECT_GT((*run)().value(), 0);
      }
      return run.status();
    };
    EXPECT_TRUE(opens(0.5F).ok());
    EXPECT_TRUE(opens(0.502F).ok());
    EXPECT_EQ(opens(0.52F).ok(), is_reduced);
    EXPECT_THAT(std::string(opens(0.6F).message()), HasSubstr("its answers are wrong: "));
  }
}

// Whatever TF_DEVICE says. Drivers are opened in the process that runs the network only: they do not outlive a fork.
TEST(NetworkBench, RunsANetworkOnTheGpuThatItIsTold) {
  const auto pool = driver::BuildPool::create({});
  ASSERT_TRUE(pool.ok()) << pool.status();
  ::setenv("TF_DEVICE", "2000", 1);
  const auto opened = [&](int number) {
    const target::Target target = target::parse_target("opencl").value();
    records::Plan plan = product(target, 0.5F);
    const absl::StatusOr<NetworkBench::Open> open =
        make_network_bench(**pool, {.target = target, .gpu = number})
            ->build(plan, std::chrono::steady_clock::time_point::max());
    return open.ok() ? (*open)().status() : open.status();
  };
  const absl::Status on_first = opened(0);
  for (const char* none : {"there is no libOpenCL", "OpenCL finds no device"})
    if (absl::StrContains(on_first.message(), none)) GTEST_SKIP() << on_first;
  EXPECT_TRUE(on_first.ok()) << on_first;
  EXPECT_THAT(std::string(opened(1000).message()), HasSubstr("1000"));
  ::unsetenv("TF_DEVICE");
}

}  // namespace
}  // namespace tf::session
