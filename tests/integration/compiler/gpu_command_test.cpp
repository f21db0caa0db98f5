// What the `compiler` program does for GPUs, on the OpenCL device that there is; without one these tests are skipped, but for
// those that need none.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/graph.h"
#include "compiler/runtime/gpu/gpu.h"
#include "tests/integration/compiler/commands.h"
#include "tests/support/fake_cuda/use_fake_cuda.h"

namespace tf {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class GpuCommands : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
    ASSERT_EQ(run("zoo mlp --batch-name batch -o " + file("sized.onnx")).code, 0);
  }
  static bool has_device() {
    char error[gpu::kErrorChars];
    return gpu::opencl_driver().count(error) > 0;
  }
  Answer build(const std::string& arguments) { return run("build " + file("mlp.onnx") + " " + arguments); }
};

TEST_F(GpuCommands, TasksAreThoseOfAPlainLayout) {
  const Answer answer = run("tasks " + file("mlp.onnx") + " --target opencl --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const nlohmann::json tasks = nlohmann::json::parse(answer.out).at("tasks");
  EXPECT_EQ(tasks.size(), 5u);
  for (const auto& task : tasks)
    for (const auto& layout : task.at("out_layouts")) EXPECT_EQ(layout, "");
}

TEST_F(GpuCommands, ABuildRunsThereAndIsTimedKernelByKernel) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  ASSERT_EQ(build("--target opencl -o " + file("gpu")).code, 0);
  ASSERT_EQ(build("-o " + file("cpu")).code, 0);
  const Answer bench = run("bench " + file("gpu") + " --runs 2 --profile --json");
  ASSERT_EQ(bench.code, 0) << bench.err;
  const nlohmann::json result = nlohmann::json::parse(bench.out);
  EXPECT_FALSE(result.contains("peak_gflops")) << "of the processor, which ran nothing";
  const nlohmann::json kernels = result.at("kernels");
  ASSERT_EQ(kernels.size(), 7u);
  EXPECT_EQ(kernels.front().at("name"), "fc1 (upload)");
  EXPECT_EQ(kernels.back().at("name"), "output (download)");
  for (const auto& kernel : kernels) EXPECT_GT(kernel.at("median_ns"), 0);
  // The same answers as on the processor.
  const Answer both = run("bench " + file("cpu") + " " + file("gpu") + " --runs 1 --json");
  EXPECT_EQ(both.code, 0) << both.err;
}

TEST_F(GpuCommands, ADeviceThatIsNotThereIsOneLine) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  ASSERT_EQ(build("--target opencl -o " + file("gpu")).code, 0);
  ::setenv("TF_DEVICE", "64", 1);
  const Answer answer = run("bench " + file("gpu"));
  ::unsetenv("TF_DEVICE");
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("/model.so: there is no OpenCL device 64: there are 0 to "));
  EXPECT_EQ(lines(answer.err), 1) << answer.err;
}

TEST_F(GpuCommands, WithoutADriverALibraryIsBuiltAndSaysSo) {
  ASSERT_EQ(build("--target opencl -o " + file("gpu")).code, 0);
  ::setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
  const Answer answer = run("bench " + file("gpu"));
  ::unsetenv("OCL_ICD_VENDORS");
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("cannot open"), HasSubstr("OpenCL")));
  EXPECT_EQ(lines(answer.err), 1) << answer.err;
}

// NVRTC and the driver are stand-ins here: kernels run on this processor. From the second run on they are one graph.
TEST_F(GpuCommands, ANetworkForCudaGivesTheProcessorsAnswers) {
  test::use_fake_cuda();
  ASSERT_EQ(build("--target cuda:arch=sm_90 -o " + file("cuda")).code, 0);
  ASSERT_EQ(build("-o " + file("cpu")).code, 0);
  std::vector<double> x(784);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 7) / 7;
  const auto element = tensor::Element::kFloat32;
  ASSERT_TRUE(
      onnx::write_tensor(
          file("x.pb"),
          {"input", element, {1, 784}, std::make_shared<const graph::Blob>(graph::write_floats(element, x))})
          .ok());
  std::vector<std::vector<double>> outputs;
  for (const std::string target : {"cpu", "cuda"}) {
    const Answer answer =
        run("run " + file(target) + " --input input=" + file("x.pb") + " -o " + file(target + "_out"));
    ASSERT_EQ(answer.code, 0) << answer.err;
    const auto output = onnx::read_tensor(file(target + "_out/output_0.pb"));
    ASSERT_TRUE(output.ok()) << output.status();
    outputs.push_back(graph::read_floats(output->element, output->data->bytes()));
  }
  ASSERT_EQ(outputs[0].size(), outputs[1].size());
  for (size_t i = 0; i < outputs[0].size(); ++i) EXPECT_NEAR(outputs[0][i], outputs[1][i], 1e-5);
  const Answer bench = run("bench " + file("cuda") + " --runs 3");
  EXPECT_EQ(bench.code, 0) << bench.err;
  ::setenv("CUDA_FAKE_MEMORY_BYTES", "1000000", 1);
  EXPECT_THAT(run("bench " + file("cuda")).err, HasSubstr("CUDA: no memory for "));
  ::unsetenv("CUDA_FAKE_MEMORY_BYTES");
}

TEST_F(GpuCommands, SizesThatVaryRunOnTheDevice) {
  const Answer built = run("build " + file("sized.onnx") +
                           " --target opencl --dim batch=2..4 --at batch=2 -o " + file("sized"));
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.err, Not(HasSubstr("on the CPU")));
  if (!has_device()) return;
  for (const std::string batch : {"2", "3"})
    EXPECT_THAT(run("bench " + file("sized") + " --dim batch=" + batch + " --runs 1 --profile").out,
                AllOf(HasSubstr("(upload)"), HasSubstr("(download)")));
}

TEST_F(GpuCommands, TheHostIsAProcessor) {
  const auto refused = [&](const std::string& arguments) {
    const Answer answer = build(arguments + " -o " + file("refused"));
    EXPECT_NE(answer.code, 0);
    EXPECT_FALSE(fs::exists(file("refused")));
    return answer.err;
  };
  EXPECT_THAT(refused("--host aarch64"), HasSubstr("--host is for libraries that run on a GPU"));
  EXPECT_THAT(refused("--target opencl --host opencl"), HasSubstr("give a processor"));
  EXPECT_THAT(refused("--target opencl --host 6502"), HasSubstr("6502"));
}

}  // namespace
}  // namespace tf
