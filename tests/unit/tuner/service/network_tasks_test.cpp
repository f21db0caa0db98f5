#include "tuner/service/network_tasks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "compiler/graph/program.h"
#include "compiler/onnx/import.h"
#include "compiler/onnx/zoo.h"

namespace tf::service {
namespace {

TEST(NetworkTasks, HaveTheKernelsOfOtherLayoutsAtTheEndWithoutWeight) {
  const std::string path = testing::TempDir() + "/network_tasks_test." + std::to_string(getpid()) + ".onnx";
  ASSERT_TRUE(write_file(path, *onnx::zoo_model("squeezenet", {})).ok());
  const target::Target target = *target::parse_target("x86_64:cpu=znver4");
  const auto tasks = network_tasks(path, target, {});
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  const auto program = graph::plan_program(*onnx::import_model(path, {}), {.lanes = target.fp32_lanes()});
  std::filesystem::remove(path);
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_FALSE(program->alternatives.empty());
  ASSERT_EQ(tasks->size(), program->tasks.size() + program->alternatives.size());
  for (size_t i = 0; i < tasks->size(); ++i) {
    const bool used = i < program->tasks.size();
    const graph::Task& task = used ? program->tasks[i] : program->alternatives[i - program->tasks.size()];
    EXPECT_EQ((*tasks)[i].weight, used ? static_cast<double>(task.count) : 0);
    EXPECT_EQ((*tasks)[i].label, task.label);
    EXPECT_EQ((*tasks)[i].in_layouts, task.in_layouts);
    EXPECT_EQ((*tasks)[i].out_layouts, task.out_layouts);
  }
}

}  // namespace
}  // namespace tf::service
