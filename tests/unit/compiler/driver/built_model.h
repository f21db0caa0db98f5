#pragma once
// Owns: building a graph into a model in a folder of its own, with default schedules for this machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/graph/program/program.h"

namespace tf::driver {

class BuiltModel : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<LoadedModel>> build(const graph::Graph& network, int threads = 1) {
    return build_for(target::host_target(), network, threads);
  }

  absl::StatusOr<std::unique_ptr<LoadedModel>> build_for(const target::Target& target,
                                                         const graph::Graph& network, int threads,
                                                         const tf_device* device = nullptr) {
    TF_ASSIGN_OR_RETURN(const graph::Program program,
                        graph::plan_program(network, graph::layout_options(target)));
    TF_ASSIGN_OR_RETURN(const auto pool,
                        BuildPool::create({.workers = 2, .worker_path = TF_BINARY_DIR "/bin/build_worker"}));
    std::filesystem::create_directories(folder_);
    const std::vector<std::optional<ScheduleChoice>> untuned(program.tasks.size());
    TF_RETURN_IF_ERROR(
        build_model(program, untuned, *pool, {.target = target, .threads = threads, .folder = folder_})
            .status());
    return LoadedModel::open(folder_, threads, device);
  }

  const std::string folder_ = testing::TempDir() + "built_model." + std::to_string(getpid());
};

}  // namespace tf::driver
