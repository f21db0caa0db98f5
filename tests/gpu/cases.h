#pragma once
// Owns: the folder that gpu_prepare writes, as gpu_run reads it. Does not know: devices.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/gpu/gpu.h"

namespace tf::gpu_test {

struct PortCase {
  enum class Kind { kFile, kRandom, kOutput } kind = Kind::kOutput;
  std::string element;  // "f32", "bf16", …
  uint64_t bytes = 0;
  std::string before, after;  // of kFile: contents
  uint64_t seed = 0;          // of kRandom
};

struct LaunchCase {
  std::string entry;
  gpu::LaunchSize size = {};
  std::vector<gpu::TensorMap> maps = {};
};

struct Product {
  std::string element;
  int64_t m = 0, n = 0, k = 0;
};

struct Case {
  std::string kind, name, variant;
  std::string code;
  uint64_t workspace_bytes = 0;
  std::vector<PortCase> ports;
  std::vector<LaunchCase> launches;
  std::optional<Product> gemm;
  double bytes = 0;  // that it moves
};

// Empty where there is no such folder.
std::vector<Case> read_cases(const std::string& folder);

// The value of element i of a random buffer: exact in bf16, in [-1, 1).
double random_value(uint64_t seed, uint64_t i);
// `bytes` of them.
std::string random_bytes(const std::string& element, uint64_t bytes, uint64_t seed);
// Element i of a buffer.
double value_of(const std::string& element, const char* data, uint64_t i);
uint64_t bytes_of(const std::string& element);

}  // namespace tf::gpu_test
