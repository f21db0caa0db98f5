// Models on the OpenCL device that there is; without one these tests are skipped. Each answer is compared with the reference
// evaluation.
#include <array>
#include <cstdlib>
#include <thread>

#include "compiler/graph/element_values.h"
#include "compiler/graph/program/evaluate.h"
#include "compiler/runtime/gpu/gpu.h"
#include "compiler/runtime/gpu/opencl_api.h"
#include "tests/unit/compiler/driver/built_model.h"
#include "tests/unit/compiler/graph/parsed_graph.h"
#include "tests/unit/compiler/graph/random_graph.h"

namespace tf::driver {
namespace {

using graph::HostTensor;

class DeviceModel : public BuiltModel {
 protected:
  void SetUp() override {
    char error[gpu::kErrorChars];
    if (gpu::opencl_driver().count(error) < 1) GTEST_SKIP() << error;
  }

  absl::StatusOr<std::unique_ptr<LoadedModel>> build_on_device(const graph::Graph& network,
                                                               const tf_device* device = nullptr) {
    return build_for(*target::parse_target("opencl"), network, 1, device);
  }

  void expect_right(LoadedModel& model, const graph::Graph& network, uint64_t seed = 1) {
    const std::vector<HostTensor> inputs = random_inputs(model, seed);
    const absl::StatusOr<std::vector<HostTensor>> got = model.run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_LE(graph::largest_difference(*got, *graph::evaluate(network, inputs)), 1e-5);
  }
};

constexpr char kTwoSteps[] = R"(
    n0 = input() "x" : f32[3, 5]
    n1 = relu(n0) "a" : f32[3, 5]
    n2 = transpose(n1; perm=[1, 0]) "t" : f32[5, 3]
    output "y" = n2
)";

TEST_F(DeviceModel, RandomNetworksEqualTheReference) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    graph::RandomGraph random(seed);
    const graph::Graph network = random.make();
    const auto model = build_on_device(network);
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_NE((*model)->device(), nullptr);
    EXPECT_STREQ((*model)->device()->driver, "opencl");
    expect_right(**model, network, seed);
    expect_right(**model, network, seed + 100);
  }
}

TEST_F(DeviceModel, PartsOfAConcatenationLieWhereTheDeviceTakesThem) {
  const graph::Graph network = graph::parsed(R"(
    n0 = input() "x" : f32[1, 16, 4]
    n1 = relu(n0) "a" : f32[1, 16, 4]
    n2 = exp(n0) "b" : f32[1, 16, 4]
    n3 = concat(n1, n2; axis=1) "c" : f32[1, 32, 4]
    n4 = concat(n3, n1; axis=1) "d" : f32[1, 48, 4]
    n5 = input() "z" : f32[128]
    n6 = relu(n5) "e" : f32[128]
    n7 = exp(n5) "f" : f32[128]
    n8 = concat(n6, n7; axis=0) "g" : f32[256]
    output "y" = n4
    output "z" = n8
)");
  const auto model = build_on_device(network);
  ASSERT_TRUE(model.ok()) << model.status();
  expect_right(**model, network);
}

// The loop is the host's, what stands before and after it the device's.
constexpr char kLoop[] = R"(
    x = input() "x" : f32[5, 3]
    s = input() "s" : f32[3]
    n = constant(5i64) "n" : i64[]
    e = exp(x) "e" : f32[5, 3]
    y = loop(n, s, e; carried=1, scanned=1, conditional=false, backward=[0, 0], body=graph "b" {
      i = input() "i" : i64[]
      s = input() "s" : f32[3]
      x = input() "x" : f32[3]
      sum = add(s, x) "sum" : f32[3]
      output "o0" = sum
      output "o1" = sum
    }) "loop" : f32[3], f32[5, 3]
    all = result(y; index=1) "all" : f32[5, 3]
    z = sigmoid(all) "z" : f32[5, 3]
    t = transpose(z; perm=[1, 0]) "t" : f32[3, 5]
    output "last" = y
    output "t" = t
    output "e" = e
)";

TEST_F(DeviceModel, LoopsRunOnTheHostBetweenItsKernels) {
  const graph::Graph network = graph::parsed(kLoop);
  const auto model = build_on_device(network);
  ASSERT_TRUE(model.ok()) << model.status();
  expect_right(**model, network, 1);
  expect_right(**model, network, 2);
}

TEST_F(DeviceModel, TensorsMayBeEmptyOrOdd) {
  const graph::Graph network = graph::parsed(R"(
    n0 = input() "x" : f32[0, 5]
    n1 = relu(n0) "a" : f32[0, 5]
    n2 = input() "z" : f32[7]
    n3 = exp(n2) "b" : f32[7]
    output "y" = n1
    output "z" = n3
)");
  const auto model = build_on_device(network);
  ASSERT_TRUE(model.ok()) << model.status();
  expect_right(**model, network);
}

TEST_F(DeviceModel, ManyThreadsRunOneModelEach) {
  const graph::Graph network = graph::parsed(kTwoSteps);
  ASSERT_TRUE(build_on_device(network).ok());
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&, seed] {
      const auto model = LoadedModel::open(folder_, 1);
      ASSERT_TRUE(model.ok()) << model.status();
      for (uint64_t run = 0; run < 5; ++run) expect_right(**model, network, 10 * seed + run);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeviceModel, ADeviceThatIsNotThereIsNamed) {
  const tf_device none = {"opencl", 1000, nullptr, nullptr}, other = {"cuda", 0, nullptr, nullptr};
  const graph::Graph network = graph::parsed(kTwoSteps);
  EXPECT_THAT(build_on_device(network, &none).status().message(),
              testing::HasSubstr("there is no OpenCL device 1000: there are 0 to "));
  EXPECT_THAT(build_on_device(network, &other).status().message(),
              testing::HasSubstr("the model was built for opencl, not for cuda"));
  ::setenv("TF_DEVICE", "1001", 1);
  EXPECT_THAT(build_on_device(network).status().message(), testing::HasSubstr("no OpenCL device 1001"));
  ::setenv("TF_DEVICE", "first", 1);
  EXPECT_THAT(build_on_device(network).status().message(),
              testing::HasSubstr("TF_DEVICE is \"first\", not the number of a device"));
  ::unsetenv("TF_DEVICE");
}

// Memory in the context of a model.
class ClMemory {
 public:
  ClMemory(const tf_device& device, uint64_t size_bytes) : device_(device), size_bytes_(size_bytes) {
    int32_t status = 0;
    handle_ = api().create_buffer(device.context, gpu::kClReadWrite, size_bytes, nullptr, &status);
    EXPECT_EQ(status, 0);
  }
  ~ClMemory() { api().release_memory(handle_); }
  ClMemory(const ClMemory&) = delete;
  ClMemory& operator=(const ClMemory&) = delete;

  void write(const void* from) {
    EXPECT_EQ(api().write(device_.queue, handle_, 1, 0, size_bytes_, from, 0, nullptr, nullptr), 0);
  }
  // Waits for all that was put in the queue.
  std::vector<float> read() {
    std::vector<float> values(size_bytes_ / sizeof(float));
    EXPECT_EQ(api().read(device_.queue, handle_, 1, 0, size_bytes_, values.data(), 0, nullptr, nullptr), 0);
    return values;
  }
  tf_memory memory() const { return {handle_, TF_MEMORY_DEVICE}; }

 private:
  static const gpu::ClApi& api() {
    const char* why = nullptr;
    return *gpu::open_opencl(&why);
  }
  const tf_device device_;
  const uint64_t size_bytes_;
  gpu::ClHandle handle_ = nullptr;
};

TEST_F(DeviceModel, TakesAndGivesMemoryOfTheDevice) {
  const auto built = build_on_device(graph::parsed(kTwoSteps));
  ASSERT_TRUE(built.ok()) << built.status();
  LoadedModel& model = **built;
  ClMemory x(*model.device(), 60), y(*model.device(), 60);
  std::vector<float> values(15), transposed(15);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 15; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i + round - 4);
    x.write(values.data());
    const std::array inputs = {x.memory()}, outputs = {y.memory()};
    ASSERT_TRUE(model.run_in(inputs, outputs).ok());
    for (size_t i = 0; i < 15; ++i) transposed[i % 5 * 3 + i / 5] = std::max(values[i], 0.f);
    EXPECT_EQ(y.read(), transposed);
    // From the device to the host, and then the host alone again.
    std::vector<float> on_host(15);
    const std::array host_outputs = {tf_memory{on_host.data(), TF_MEMORY_HOST}};
    ASSERT_TRUE(model.run_in(inputs, host_outputs).ok());
    EXPECT_EQ(on_host, transposed);
    expect_right(model, graph::parsed(kTwoSteps));
  }
}

TEST_F(DeviceModel, OnOneQueueTheNextModelReadsWhatTheFirstMakes) {
  const graph::Graph network = graph::parsed(R"(
    n0 = input() "x" : f32[64]
    n1 = add(n0, n0) "a" : f32[64]
    output "y" = n1
)");
  const auto first = build_on_device(network);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = LoadedModel::open(folder_, 1, (*first)->device());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->device()->queue, (*first)->device()->queue);
  ClMemory x(*(*first)->device(), 256), y(*(*first)->device(), 256), z(*(*first)->device(), 256);
  x.write(std::vector<float>(64, 1.5f).data());
  const std::array xs = {x.memory()}, ys = {y.memory()}, zs = {z.memory()};
  ASSERT_TRUE((*first)->run_in(xs, ys).ok());
  ASSERT_TRUE((*second)->run_in(ys, zs).ok());
  EXPECT_EQ(z.read(), std::vector<float>(64, 6));
}

TEST_F(DeviceModel, WhatTheHostNeedsOfTheDevicesMemoryPassesThroughIt) {
  const graph::Graph network = graph::parsed(kLoop);
  const auto built = build_on_device(network);
  ASSERT_TRUE(built.ok()) << built.status();
  LoadedModel& model = **built;
  ClMemory x(*model.device(), 60), s(*model.device(), 12), last(*model.device(), 12), t(*model.device(), 60),
      e(*model.device(), 60);
  const std::vector<HostTensor> values = random_inputs(model, 7);
  x.write(values[0].data->bytes().data());
  s.write(values[1].data->bytes().data());
  const std::array inputs = {x.memory(), s.memory()};
  const std::array outputs = {last.memory(), t.memory(), e.memory()};
  ASSERT_TRUE(model.run_in(inputs, outputs).ok());
  const std::vector<HostTensor> wanted = *graph::evaluate(network, values);
  const std::array<std::vector<float>, 3> got = {last.read(), t.read(), e.read()};
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<double> want = graph::read_floats(wanted[i].element, wanted[i].data->bytes());
    ASSERT_EQ(got[i].size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(got[i][k], want[k], 1e-5) << i << " " << k;
  }
}

TEST_F(DeviceModel, TellsEachKernelsTimeByTheDevicesClock) {
  const auto built = build_on_device(graph::parsed(kTwoSteps));
  ASSERT_TRUE(built.ok()) << built.status();
  (*built)->profile();
  expect_right(**built, graph::parsed(kTwoSteps));
  const std::vector<KernelTime> times = (*built)->kernel_times();
  ASSERT_GE(times.size(), 3u);
  EXPECT_THAT(times.front().name, testing::HasSubstr("(upload)"));
  EXPECT_THAT(times.back().name, testing::HasSubstr("(download)"));
  for (const KernelTime& time : times) EXPECT_GT(time.samples_ns[0], 0) << time.name;
}

// Without any device.
TEST_F(BuiltModel, OfTheHostHasNoDevice) {
  const auto model = build(graph::parsed(kTwoSteps));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->device(), nullptr);
  const tf_device device = {"opencl", 0, nullptr, nullptr};
  EXPECT_FALSE(LoadedModel::open(folder_, 1, &device).ok());
  std::vector<float> x(15, 1), y(15);
  const std::array inputs = {tf_memory{x.data(), TF_MEMORY_HOST}},
                   outputs = {tf_memory{y.data(), TF_MEMORY_HOST}},
                   wrong = {tf_memory{y.data(), TF_MEMORY_DEVICE}};
  EXPECT_TRUE((*model)->run_in(inputs, outputs).ok());
  EXPECT_EQ(y, x);
  EXPECT_FALSE((*model)->run_in(inputs, wrong).ok());
}

}  // namespace
}  // namespace tf::driver
