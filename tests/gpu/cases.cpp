#include "tests/gpu/cases.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace tf::gpu_test {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

PortCase port_of(std::istringstream& words, const std::string& folder) {
  PortCase port;
  std::string kind;
  words >> kind >> port.element >> port.bytes;
  if (kind == "random") {
    port.kind = PortCase::Kind::kRandom;
    words >> port.seed;
  } else if (kind == "file") {
    port.kind = PortCase::Kind::kFile;
    std::string before, after;
    words >> before >> after;
    port.before = read_all(folder + "/" + before);
    port.after = read_all(folder + "/" + after);
  }
  return port;
}

}  // namespace

std::vector<Case> read_cases(const std::string& folder) {
  std::vector<Case> cases;
  std::ifstream file(folder + "/cases");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "case") {
      Case& made = cases.emplace_back();
      words >> made.kind >> made.name >> made.variant;
      continue;
    }
    if (cases.empty()) continue;
    Case& last = cases.back();
    if (word == "code") {
      words >> word;
      last.code = read_all(folder + "/" + word);
    } else if (word == "workspace") {
      words >> last.workspace_bytes;
    } else if (word == "bytes") {
      words >> last.bytes;
    } else if (word == "port") {
      last.ports.push_back(port_of(words, folder));
    } else if (word == "launch") {
      LaunchCase launch;
      words >> launch.entry;
      for (uint64_t& extent : launch.size.grid) words >> extent;
      for (uint32_t& extent : launch.size.block) words >> extent;
      words >> launch.size.shared_bytes;
      last.launches.push_back(launch);
    } else if (word == "map" && !last.launches.empty()) {
      gpu::TensorMap& map = last.launches.back().maps.emplace_back();
      words >> map.argument >> map.element_bytes >> map.rank;
      for (uint32_t axis = 0; axis < map.rank && axis < gpu::kMostTensorAxes; ++axis)
        words >> map.extents[axis] >> map.box[axis];
    } else if (word == "gemm") {
      Product product;
      words >> product.element >> product.m >> product.n >> product.k;
      last.gemm = product;
    }
  }
  return cases;
}

double random_value(uint64_t seed, uint64_t i) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  return (static_cast<double>(x % 256) - 128) / 128;
}

uint64_t bytes_of(const std::string& element) {
  if (element == "f64" || element == "i64") return 8;
  if (element == "f32" || element == "i32") return 4;
  if (element == "f16" || element == "bf16") return 2;
  return 1;
}

std::string random_bytes(const std::string& element, uint64_t bytes, uint64_t seed) {
  std::string all(bytes, '\0');
  const uint64_t size = bytes_of(element);
  for (uint64_t i = 0; i < bytes / size; ++i) {
    const auto value = static_cast<float>(random_value(seed, i));
    char* to = all.data() + i * size;
    if (element == "f16") {
      const auto half = static_cast<_Float16>(value);
      std::memcpy(to, &half, 2);
    } else {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, 4);
      if (element == "bf16") bits >>= 16;
      std::memcpy(to, &bits, size);
    }
  }
  return all;
}

double value_of(const std::string& element, const char* data, uint64_t i) {
  const char* from = data + i * bytes_of(element);
  const auto read = [from]<typename T>(T value) {
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
  };
  if (element == "f32") return read(float{});
  if (element == "f64") return read(double{});
  if (element == "f16") return read(_Float16{});
  if (element == "i32") return read(int32_t{});
  if (element == "i64") return read(int64_t{});
  if (element == "bf16") {
    uint16_t half = 0;
    std::memcpy(&half, from, 2);
    const uint32_t bits = uint32_t{half} << 16;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  return read(int8_t{});
}

}  // namespace tf::gpu_test
