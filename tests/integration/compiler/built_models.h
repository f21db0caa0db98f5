#pragma once
// Owns: what tests that build models have in common. Does not know: networks.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "compiler/driver/build_pool.h"
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

  const target::Target target_ = target::host_target();
  const std::string root_ = testing::TempDir() + "built_models." + std::to_string(getpid());
  std::unique_ptr<BuildPool> pool_;
};

}  // namespace tf::driver
