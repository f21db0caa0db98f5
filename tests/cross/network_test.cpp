// A network built for other processors gives the answer that it gives when built for this one. (That this
// one's is right is checked against ONNX Runtime in tests/integration/onnxruntime.)
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "base/files/file.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/graph/element_values.h"
#include "tests/support/foreign_code/foreign_code.h"

namespace tf {
namespace {

namespace fs = std::filesystem;
using graph::HostTensor;

class BuiltFor : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fs::create_directories(root_);
    auto pool = driver::BuildPool::create({.workers = 2, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
    const absl::StatusOr<std::string> bytes = zoo::model("squeezenet", {});
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    ASSERT_TRUE(write_file(root_ + "/model.onnx", *bytes).ok());
  }
  void TearDown() override { fs::remove_all(root_); }

  void build(const target::Target& target) {
    absl::StatusOr<graph::Graph> network = frontends::import_file(root_ + "/model.onnx", {});
    ASSERT_TRUE(network.ok()) << network.status();
    const auto program = graph::plan_program(*std::move(network), {.lanes = target.fp32_lanes()});
    ASSERT_TRUE(program.ok()) << program.status();
    const auto report = driver::build_model(
        *program, std::vector<std::optional<driver::ScheduleChoice>>(program->tasks.size()), *pool_,
        {.target = target, .threads = 2, .folder = folder(target)});
    ASSERT_TRUE(report.ok()) << report.status();
  }

  std::vector<double> run_here(const target::Target& target) {
    auto model = driver::LoadedModel::open(folder(target), 2);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return {};
    inputs_ = driver::random_inputs(**model, 1);
    const absl::StatusOr<std::vector<HostTensor>> outputs = (*model)->run(inputs_);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? floats(outputs->front().data->bytes()) : std::vector<double>{};
  }

  // On the inputs of the last run_here.
  std::vector<double> run_foreign(const target::Target& target, size_t elements) {
    std::vector<std::string> inputs;
    for (const HostTensor& input : inputs_) inputs.emplace_back(input.data->bytes());
    const std::vector<uint64_t> output_bytes = {elements * sizeof(float)};
    const auto outputs =
        support::run_foreign_model(folder(target) + "/model.so", target, inputs, output_bytes, 2);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? floats(outputs->front()) : std::vector<double>{};
  }

 private:
  std::string folder(const target::Target& target) const {
    return root_ + "/" + std::string(target::arch_name(target.arch)) + "." + target.cpu;
  }
  static std::vector<double> floats(std::string_view bytes) {
    return graph::read_floats(tensor::Element::kFloat32, bytes);
  }

  const std::string root_ = ::testing::TempDir() + "cross_test." + std::to_string(getpid());
  std::unique_ptr<driver::BuildPool> pool_;
  std::vector<HostTensor> inputs_;
};

TEST_P(BuiltFor, SqueezenetGivesTheAnswerOfThisProcessor) {
  const target::Target host = target::host_target(), other = *target::parse_target(GetParam());
  const bool foreign = other.arch != host.arch;
  if (foreign) {
    const auto missing = support::missing_emulator(other, support::Runner::kModel);
    if (missing.has_value()) GTEST_SKIP() << *missing;
  } else {
    for (const std::string& feature : target::known_features(other.arch)) {
      if (other.has(feature) && !host.has(feature)) GTEST_SKIP() << "this machine has no " << feature;
    }
  }
  ASSERT_NO_FATAL_FAILURE(build(host));
  ASSERT_NO_FATAL_FAILURE(build(other));
  const std::vector<double> want = run_here(host);
  const std::vector<double> got = foreign ? run_foreign(other, want.size()) : run_here(other);
  ASSERT_EQ(got.size(), want.size());
  ASSERT_EQ(want.size(), 1000u);
  double largest = 0, worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(std::isfinite(got[i]));
    largest = std::max(largest, std::abs(want[i]));
    worst = std::max(worst, std::abs(got[i] - want[i]));
  }
  EXPECT_LE(worst, 1e-4 * largest);
}

INSTANTIATE_TEST_SUITE_P(Processors, BuiltFor,
                         ::testing::Values("aarch64:cpu=cortex-a72", "armv7:cpu=cortex-a9",
                                           "x86_64:cpu=nehalem", "x86_64:cpu=haswell"),
                         [](const auto& each) {
                           const target::Target target = *target::parse_target(each.param);
                           std::string name = target.cpu;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tf
