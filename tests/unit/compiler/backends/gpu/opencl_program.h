#pragma once
// OpenCL C on whatever OpenCL device there is.

#include <stdlib.h>

#include <algorithm>
#include <string>

#include "compiler/runtime/gpu/gpu.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace tf::backends::test {

// Null where there is none.
inline gpu::Device* open_opencl(std::string* why = nullptr) {
  // PoCL 3.1 with LLVM 15 computes some loops around barriers wrong if it optimises. What is tested is the text.
  setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 0);
  char error[gpu::kErrorChars] = "";
  gpu::Device* device = gpu::opencl_driver().open(0, error);
  if (why != nullptr) *why = error;
  return device;
}

inline void run_on(gpu::Device* device, const GpuSource& source, Buffers& buffers) {
  const gpu::Driver& driver = gpu::opencl_driver();
  char error[gpu::kErrorChars] = "";
  gpu::Program* program = driver.load(device, source.text.data(), source.text.size(), error);
  ASSERT_NE(program, nullptr) << error << "\n" << source.text;
  std::vector<gpu::Argument> arguments;
  for (const Bytes& buffer : buffers) {
    gpu::Memory* memory = driver.allocate(device, std::max<size_t>(buffer.size(), 1), error);
    ASSERT_NE(memory, nullptr) << error;
    ASSERT_TRUE(driver.upload(memory, 0, buffer.data(), buffer.size(), error)) << error;
    arguments.push_back({memory, 0, buffer.size()});
  }
  if (source.workspace_bytes > 0) {
    const auto bytes = static_cast<uint64_t>(source.workspace_bytes);
    arguments.push_back({driver.allocate(device, bytes, error), 0, bytes});
    ASSERT_TRUE(driver.fill(arguments.back().memory, 0, 0xff, bytes, error)) << error;
  }
  for (const LaunchNumbers& launch : numbers_of(source)) {
    gpu::Kernel* kernel = driver.find(program, launch.entry.c_str(), error);
    ASSERT_NE(kernel, nullptr) << error;
    ASSERT_TRUE(
        driver.bind(kernel, arguments.data(), static_cast<uint32_t>(arguments.size()), nullptr, 0, error))
        << error;
    gpu::LaunchSize size{.grid = {}, .block = {}, .shared_bytes = launch.shared_bytes};
    for (size_t axis = 0; axis < 3; ++axis) {
      size.grid[axis] = static_cast<uint64_t>(launch.grid[axis]);
      size.block[axis] = static_cast<uint32_t>(launch.block[axis]);
    }
    ASSERT_TRUE(driver.launch(kernel, size, error)) << error;
  }
  ASSERT_TRUE(driver.finish(device, error)) << error;
  for (size_t i = 0; i < buffers.size(); ++i)
    ASSERT_TRUE(driver.download(buffers[i].data(), arguments[i].memory, 0, buffers[i].size(), error))
        << error;
  for (const gpu::Argument& argument : arguments) driver.free(argument.memory);
  driver.unload(program);
}

}  // namespace tf::backends::test
