#pragma once
// Owns: what tests that build models have in common. Does not know: networks.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/build_model.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/target/target.h"

namespace tf::driver {

// A pool of build workers, and a folder that each test finds empty.
class BuiltModels : public testing::Test {
 protected:
  void SetUp() override {
    auto pool = BuildPool::create({.workers = 2, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // The network with default schedules; null, with a failure, if it cannot be built.
  std::unique_ptr<LoadedModel> build(const graph::Network& network) { return build_for(target_, network); }

  std::unique_ptr<LoadedModel> build_for(const target::Target& target, const graph::Network& network) {
    const absl::StatusOr<graph::Program> program =
        graph::plan_network(network, graph::layout_options(target));
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return nullptr;
    variants_ = program->variants.size();
    auto report = build_model(*program, std::vector<std::optional<ScheduleChoice>>(program->tasks.size()),
                              *pool_, {.target = target, .folder = root_});
    EXPECT_TRUE(report.ok()) << report.status();
    if (report.ok()) report_ = *std::move(report);
    auto model = LoadedModel::open(root_, 2);
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? *std::move(model) : nullptr;
  }

  const target::Target target_ = target::host_target();
  const std::string root_ = testing::TempDir() + "built_models." + std::to_string(getpid());
  std::unique_ptr<BuildPool> pool_;
  size_t variants_ = 0;  // of the network that was built last
  ModelReport report_;   // likewise
};

}  // namespace tf::driver
