#include "tuner/model/gpu/occupancy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#if __has_include("/usr/local/cuda/include/cuda_occupancy.h")
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include "/usr/local/cuda/include/cuda_occupancy.h"
#pragma GCC diagnostic pop
#define TF_HAS_CUDA_OCCUPANCY
#endif

namespace tf::model {
namespace {

target::Target target_of(const std::string& text) {
  return target::parse_target(text).value();
}
int blocks(const target::Target& target, const BlockNeeds& needs) {
  return static_cast<int>(resident_blocks(needs, target).constant());
}

TEST(Occupancy, IsWhatTheScarcestResourceAllows) {
  const target::Target a100 = target_of("cuda:arch=sm_80");
  EXPECT_EQ(blocks(a100, {.threads = 256}), 8);
  EXPECT_EQ(blocks(a100, {.threads = 32}), 32);
  EXPECT_EQ(blocks(a100, {.threads = 256, .registers_per_thread = 128}), 2);
  EXPECT_EQ(blocks(a100, {.threads = 128, .shared_bytes = 48 << 10}), 3);
  EXPECT_EQ(blocks(a100, {.threads = 128, .shared_bytes = 163 << 10}), 1);
  EXPECT_EQ(blocks(a100, {.threads = 128, .shared_bytes = 164 << 10}), 0);
  EXPECT_EQ(blocks(a100, {.threads = 2048}), 0);
  EXPECT_EQ(blocks(target_of("cuda:arch=sm_87"), {.threads = 1024}), 1);
}

// Of each quarter's 16,384 registers, six warps of 80 a lane take most, and 24 warps are four blocks of five.
TEST(Occupancy, CountsRegistersByTheQuarter) {
  const target::Target a100 = target_of("cuda:arch=sm_80");
  EXPECT_EQ(blocks(a100, {.threads = 160, .registers_per_thread = 80}), 4);
  EXPECT_EQ(blocks(a100, {.threads = 1024, .registers_per_thread = 72}), 0);
}

TEST(Occupancy, TakesASmallMultiprocessorWhereNoneIsKnown) {
  EXPECT_EQ(blocks(target_of("opencl"), {.threads = 64}), 16);
  EXPECT_EQ(blocks(target_of("opencl"), {.threads = 256}), 4);
  EXPECT_EQ(blocks(target_of("opencl"), {.threads = 512}), 0);
}

#ifdef TF_HAS_CUDA_OCCUPANCY
TEST(Occupancy, IsWhatNvidiasOwnCalculatorSays) {
  for (const std::string& arch : target::known_cpus(target::Arch::kCuda)) {
    const target::Target target = target_of("cuda:arch=" + arch);
    const target::GpuLimits& gpu = target.gpu;
    int number = 0;
    ASSERT_EQ(std::sscanf(arch.c_str(), "sm_%d", &number), 1);
    cudaOccDeviceProp device;
    device.computeMajor = number / 10;
    device.computeMinor = number % 10;
    device.maxThreadsPerBlock = gpu.block_threads;
    device.maxThreadsPerMultiprocessor = gpu.sm_threads;
    device.regsPerBlock = device.regsPerMultiprocessor = gpu.sm_registers;
    device.warpSize = gpu.warp_threads;
    device.sharedMemPerBlock = 48 << 10;
    device.sharedMemPerMultiprocessor = static_cast<size_t>(gpu.sm_shared_bytes);
    device.numSms = 1;
    device.sharedMemPerBlockOptin = static_cast<size_t>(gpu.shared_bytes);
    device.reservedSharedMemPerBlock = static_cast<size_t>(gpu.shared_bytes_of_driver);
    cudaOccDeviceState state;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    for (const int threads : {32, 96, 128, 160, 192, 256, 544, 1024}) {
      for (const int registers : {16, 40, 72, 80, 128, 168, 255}) {
        for (const int64_t shared : {0, 1000, 9000, 20000, 40000, 65536, 101000, 166000, 232000}) {
          cudaOccFuncAttributes kernel;
          kernel.maxThreadsPerBlock = 1024;
          kernel.numRegs = registers;
          kernel.sharedSizeBytes = 0;
          kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
          kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          kernel.maxDynamicSharedSizeBytes = static_cast<size_t>(shared);
          kernel.numBlockBarriers = 1;
          cudaOccResult result;
          ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads,
                                                            static_cast<size_t>(shared)),
                    CUDA_OCC_SUCCESS);
          EXPECT_EQ(blocks(target, {.threads = threads,
                                    .registers_per_thread = registers,
                                    .shared_bytes = static_cast<double>(shared)}),
                    result.activeBlocksPerMultiprocessor)
              << arch << " " << threads << " threads, " << registers << " registers, " << shared << " bytes";
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace tf::model
