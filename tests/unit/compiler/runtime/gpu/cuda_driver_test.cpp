// The CUDA driver on the fake device: what passes through it, and which errors are the end.

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <numeric>

#include "compiler/runtime/gpu/gpu.h"
#include "tests/support/fake_cuda/use_fake_cuda.h"

namespace tf::gpu {
namespace {

using ::testing::HasSubstr;

constexpr char kKernels[] = R"(
extern "C" __global__ void __launch_bounds__(32) add(const float* x, float* y, long long n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] += x[i];
}
extern "C" __global__ void __launch_bounds__(64) reversed(const float* x, float* y) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  float* tile = (float*)shared_memory;
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(64) mapped(const float* x, float* y, const __grid_constant__ tf_tensor_map map) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  tf_bulk_copies<4> copies(shared_memory + 1024);
  copies.copy(shared_memory, map, 1024, 0, 1);
  copies.wait(0);
  __syncthreads();
  y[threadIdx.x] += ((const float*)shared_memory)[threadIdx.x];
}
extern "C" __global__ void failing(const float*) { fake_cuda_fail(700); }
)";

class CudaDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    test::use_fake_cuda();
    const absl::StatusOr<std::string> cubin = test::fake_cubin(kKernels);
    ASSERT_TRUE(cubin.ok()) << cubin.status();
    device_ = driver_.open(0, error_);
    ASSERT_NE(device_, nullptr) << error_;
    program_ = driver_.load(device_, cubin->data(), cubin->size(), error_);
    ASSERT_NE(program_, nullptr) << error_;
    for (Memory*& memory : memory_) {
      memory = driver_.allocate(device_, kCount * sizeof(float), error_);
      ASSERT_NE(memory, nullptr) << error_;
    }
    std::vector<float> values(kCount);
    std::iota(values.begin(), values.end(), 0.0f);
    ASSERT_TRUE(driver_.upload(memory_[0], 0, values.data(), kCount * sizeof(float), error_)) << error_;
    ASSERT_TRUE(driver_.fill(memory_[1], 0, 0, kCount * sizeof(float), error_)) << error_;
  }
  void TearDown() override {
    for (Memory* memory : memory_)
      if (memory != nullptr) driver_.free(memory);
    if (program_ != nullptr) driver_.unload(program_);
    if (device_ != nullptr) driver_.close(device_);
  }

  Kernel* bound(const char* entry, std::vector<int64_t> dims = {}) {
    Kernel* kernel = driver_.find(program_, entry, error_);
    if (kernel == nullptr) return nullptr;
    const Argument arguments[] = {{memory_[0], 0, kCount * sizeof(float)},
                                  {memory_[1], 0, kCount * sizeof(float)}};
    const bool done =
        driver_.bind(kernel, arguments, 2, dims.data(), static_cast<uint32_t>(dims.size()), error_);
    return done ? kernel : nullptr;
  }

  std::vector<float> result() {
    std::vector<float> values(kCount);
    EXPECT_TRUE(driver_.download(values.data(), memory_[1], 0, kCount * sizeof(float), error_)) << error_;
    return values;
  }

  static constexpr size_t kCount = 64;
  static constexpr LaunchSize kTwoBlocks = {{2, 1, 1}, {32, 1, 1}, 0};
  const Driver& driver_ = cuda_driver();
  char error_[kErrorChars] = "";
  Device* device_ = nullptr;
  Program* program_ = nullptr;
  Memory* memory_[2] = {};
};

TEST_F(CudaDriver, TellsTheFactsOfTheDevice) {
  Facts facts;
  driver_.facts(device_, &facts);
  EXPECT_STREQ(facts.name, "Fake GPU");
  EXPECT_STREQ(facts.driver, "CUDA 13.0");
  EXPECT_EQ(facts.capability, 90u);
  EXPECT_EQ(facts.units, 2u);
  EXPECT_EQ(facts.cache_bytes, 1u << 20);
  EXPECT_EQ(facts.shared_bytes, 227u << 10);
  EXPECT_EQ(driver_.open(7, error_), nullptr);
  EXPECT_THAT(error_, HasSubstr("no CUDA device 7: there are 0 to 0"));
}

// A function of the fake driver's.
template <typename... Arguments>
void ask_cuda(const char* name, Arguments... arguments) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  EXPECT_EQ(function(arguments...), 0) << name;
}

TEST_F(CudaDriver, LeavesTheCallersContextCurrent) {
  const auto is_current = [](const void* context) {
    void* now = nullptr;
    ask_cuda("cuCtxGetCurrent", &now);
    return now == context;
  };
  EXPECT_TRUE(is_current(nullptr)) << "after open, load, allocate, upload and fill";
  void* mine = nullptr;
  ask_cuda("cuCtxCreate_v2", &mine, 0U, 0);
  Kernel* kernel = bound("add", {kCount});
  ASSERT_NE(kernel, nullptr) << error_;
  EXPECT_TRUE(driver_.begin_time(device_, error_) && driver_.launch(kernel, kTwoBlocks, error_));
  const GraphLaunch launches[] = {{kernel, kTwoBlocks}};
  Graph* graph = driver_.make_graph(device_, launches, 1, error_);
  ASSERT_NE(graph, nullptr) << error_;
  EXPECT_TRUE(driver_.launch_graph(graph, error_));
  driver_.drop_graph(graph);
  int64_t ns = 0;
  EXPECT_TRUE(driver_.end_time(device_, &ns, error_) && driver_.finish(device_, error_)) << error_;
  EXPECT_EQ(result()[3], 6);
  EXPECT_TRUE(is_current(mine));
  EXPECT_EQ(driver_.load(device_, "no program", 10, error_), nullptr);
  EXPECT_TRUE(is_current(mine)) << "after a failure";
  TearDown();
  program_ = nullptr;
  device_ = nullptr;
  memory_[0] = memory_[1] = nullptr;
  EXPECT_TRUE(is_current(mine)) << "after close";
  ask_cuda("cuCtxDestroy_v2", mine);
}

TEST_F(CudaDriver, IsOnTheDeviceOfTheCallersContext) {
  setenv("CUDA_FAKE_DEVICES", "2", 1);
  void *mine = nullptr, *context = nullptr, *stream = nullptr;
  ask_cuda("cuCtxCreate_v2", &mine, 0U, 1);
  ask_cuda("cuStreamCreate", &stream, 1U);
  Device* device = driver_.open_in(0, mine, stream, error_);
  ASSERT_NE(device, nullptr) << error_;
  int index = 0;
  void* queue = nullptr;
  driver_.handles(device, &index, &context, &queue);
  EXPECT_EQ(index, 1);
  EXPECT_EQ(context, mine);
  EXPECT_EQ(queue, stream);
  driver_.close(device);
  ask_cuda("cuCtxDestroy_v2", mine);
  unsetenv("CUDA_FAKE_DEVICES");
}

TEST_F(CudaDriver, RefusesMoreBlocksAlongYThanCudaTakes) {
  Kernel* kernel = bound("add", {kCount});
  ASSERT_NE(kernel, nullptr) << error_;
  EXPECT_TRUE(driver_.launch(kernel, {{70000, 1, 1}, {1, 1, 1}, 0}, error_)) << error_;
  EXPECT_FALSE(driver_.launch(kernel, {{1, 70000, 1}, {1, 1, 1}, 0}, error_));
  EXPECT_THAT(error_, HasSubstr("cannot launch a kernel"));
  EXPECT_FALSE(driver_.is_lost(device_));
}

TEST_F(CudaDriver, LaunchesWithPointersAndDims) {
  Kernel* add = bound("add", {40});
  ASSERT_NE(add, nullptr) << error_;
  int64_t ns = 0;
  ASSERT_TRUE(driver_.begin_time(device_, error_));
  ASSERT_TRUE(driver_.launch(add, kTwoBlocks, error_)) << error_;
  ASSERT_TRUE(driver_.launch(add, {{0, 1, 1}, {32, 1, 1}, 0}, error_)) << "an empty grid is nothing to do";
  ASSERT_TRUE(driver_.end_time(device_, &ns, error_)) << error_;
  EXPECT_GT(ns, 0);
  EXPECT_EQ(result()[39], 39);
  EXPECT_EQ(result()[40], 0);
}

TEST_F(CudaDriver, AsksForLargeSharedMemory) {
  Kernel* reversed = bound("reversed");
  ASSERT_NE(reversed, nullptr) << error_;
  ASSERT_TRUE(driver_.launch(reversed, {{1, 1, 1}, {64, 1, 1}, 100 << 10}, error_)) << error_;
  EXPECT_EQ(result()[0], 63);
  EXPECT_FALSE(driver_.launch(reversed, {{1, 1, 1}, {64, 1, 1}, 228 << 10}, error_));
  EXPECT_THAT(error_, HasSubstr("cannot have 233472 bytes of shared memory"));
  EXPECT_FALSE(driver_.is_lost(device_));
}

TEST_F(CudaDriver, RunsGraphsOfWhatKernelsWereBoundTo) {
  Kernel* add = bound("add", {64});
  const GraphLaunch launches[] = {{add, kTwoBlocks}, {add, kTwoBlocks}, {add, kTwoBlocks}};
  Graph* graph = driver_.make_graph(device_, launches, 3, error_);
  ASSERT_NE(graph, nullptr) << error_;
  const int64_t none = 0;
  ASSERT_TRUE(driver_.bind(add, nullptr, 0, &none, 1, error_));
  ASSERT_TRUE(driver_.launch_graph(graph, error_) && driver_.launch_graph(graph, error_)) << error_;
  EXPECT_EQ(result()[63], 6 * 63);
  driver_.drop_graph(graph);
}

// A tensor of two lines, from the second one on: what is behind is zeros.
TEST_F(CudaDriver, GivesKernelsTensorMaps) {
  TensorMap map = {.argument = 0, .element_bytes = 4, .rank = 2, .extents = {2, 32}, .box = {8, 32}};
  constexpr LaunchSize kBlock = {{1, 1, 1}, {64, 1, 1}, 1024 + 32};
  Kernel* mapped = bound("mapped");
  ASSERT_TRUE(driver_.map(mapped, &map, 1, error_) && driver_.launch(mapped, kBlock, error_)) << error_;
  const GraphLaunch launch = {mapped, kBlock};
  Graph* graph = driver_.make_graph(device_, &launch, 1, error_);
  ASSERT_NE(graph, nullptr) << error_;
  ASSERT_TRUE(driver_.launch_graph(graph, error_) && driver_.finish(device_, error_)) << error_;
  driver_.drop_graph(graph);
  EXPECT_EQ(result()[0], 2 * 32);
  EXPECT_EQ(result()[31], 2 * 63);
  EXPECT_EQ(result()[32], 0);
  const auto refused = [&](const TensorMap& wrong) {
    Kernel* kernel = bound("mapped");
    return driver_.map(kernel, &wrong, 1, error_) ? std::string() : std::string(error_);
  };
  map.extents[1] = 30;  // lines begin at multiples of 16 bytes
  EXPECT_THAT(refused(map), HasSubstr("no tensor map of a tensor of 2 axes"));
  map.extents[1] = 32;
  map.box[0] = 257;
  EXPECT_THAT(refused(map), HasSubstr("boxes of at most 256 along an axis"));
  map.box[0] = 8;
  map.box[1] = 36;  // more than a line
  EXPECT_THAT(refused(map), HasSubstr("16 to 128 bytes along the last"));
  map.argument = 2;
  EXPECT_THAT(refused(map), HasSubstr("of buffer 2; the kernel has 2"));
  map.argument = 0;
  map.element_bytes = 3;
  EXPECT_THAT(refused(map), HasSubstr("elements of 3 bytes"));
  EXPECT_FALSE(driver_.is_lost(device_));
}

TEST_F(CudaDriver, IsNotLostByWhatItRefuses) {
  EXPECT_EQ(driver_.find(program_, "absent", error_), nullptr);
  EXPECT_THAT(error_, HasSubstr("no kernel absent"));
  EXPECT_EQ(driver_.load(device_, "nonsense", 8, error_), nullptr);
  EXPECT_THAT(error_, HasSubstr("does not load the program: error 218"));
  EXPECT_EQ(driver_.allocate(device_, uint64_t{1} << 40, error_), nullptr);
  EXPECT_THAT(error_, HasSubstr("no memory for 1099511627776 bytes: error 2 (CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_FALSE(driver_.is_lost(device_));
}

TEST_F(CudaDriver, IsLostByAFault) {
  // Of its process: in this one every later call would fail.
  const auto fault = [&] {
    Kernel* failing = driver_.find(program_, "failing", error_);
    const Argument argument{memory_[0], 0, 4};
    const bool launched = driver_.bind(failing, &argument, 1, nullptr, 0, error_) &&
                          driver_.launch(failing, {{1, 1, 1}, {1, 1, 1}, 0}, error_);
    const bool finished = driver_.finish(device_, error_);
    fprintf(stderr, "%s\n", error_);
    exit(launched && !finished && driver_.is_lost(device_) ? 0 : 1);
  };
  EXPECT_EXIT(fault(), ::testing::ExitedWithCode(0),
              "a kernel failed: error 700 .CUDA_ERROR_ILLEGAL_ADDRESS");
}

}  // namespace
}  // namespace tf::gpu
