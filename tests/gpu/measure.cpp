#include "tests/gpu/measure.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include "compiler/runtime/gpu/cuda_api.h"
#include "device_agent/worker/gpu/peak.h"
#include "tests/gpu/event_timer.h"

namespace tf::gpu_test {
namespace {

// The candidates of a kernel read the same: made once.
const std::string& made_once(const PortCase& port) {
  static std::map<std::string, std::string> made;
  const std::string key = port.element + " " + std::to_string(port.bytes) + " " + std::to_string(port.seed);
  const auto found = made.find(key);
  if (found != made.end()) return found->second;
  if (made.size() > 3) made.clear();
  return made[key] = random_bytes(port.element, port.bytes, port.seed);
}

}  // namespace

bool Running::fail(const char* error) {
  if (error_.empty()) error_ = error;
  return false;
}

Running::Running(gpu::Device* device, const Case& one) : device_(device), case_(one) {
  char error[gpu::kErrorChars] = "";
  program_ = driver_.load(device_, one.code.data(), one.code.size(), error);
  if (program_ == nullptr) {
    fail(error);
    return;
  }
  std::vector<gpu::Argument> arguments;
  const auto add = [&](uint64_t bytes) {
    uint64_t address = 0;
    if (cu_api().allocate(&address, std::max<uint64_t>(bytes, 1)) != gpu::kCuSuccess)
      return fail("no memory on the device");
    addresses_.push_back(address);
    gpu::Memory* memory = driver_.wrap(device_, reinterpret_cast<void*>(address), bytes, error);
    if (memory == nullptr) return fail(error);
    memory_.push_back(memory);
    arguments.push_back({memory, 0, bytes});
    return driver_.fill(memory, 0, 0xff, bytes, error) || fail(error);
  };
  for (const PortCase& port : one.ports) {
    if (!add(port.bytes)) return;
    const std::string& content = port.kind == PortCase::Kind::kRandom ? made_once(port) : port.before;
    if (!driver_.upload(memory_.back(), 0, content.data(), content.size(), error)) {
      fail(error);
      return;
    }
  }
  if (one.workspace_bytes > 0 && !add(one.workspace_bytes)) return;
  for (const LaunchCase& launch : one.launches) {
    gpu::Kernel* kernel = driver_.find(program_, launch.entry.c_str(), error);
    if (kernel == nullptr ||
        !driver_.bind(kernel, arguments.data(), static_cast<uint32_t>(arguments.size()), nullptr, 0, error) ||
        (!launch.maps.empty() &&
         !driver_.map(kernel, launch.maps.data(), static_cast<uint32_t>(launch.maps.size()), error))) {
      fail(error);
      return;
    }
    kernels_.push_back(kernel);
  }
  if (launch_all() && !driver_.finish(device_, error)) fail(error);
}

Running::~Running() {
  for (gpu::Memory* memory : memory_) driver_.free(memory);
  for (const uint64_t address : addresses_) cu_api().free(address);
  if (program_ != nullptr) driver_.unload(program_);
}

bool Running::launch_all() {
  char error[gpu::kErrorChars] = "";
  for (size_t l = 0; l < kernels_.size(); ++l)
    if (!driver_.launch(kernels_[l], case_.launches[l].size, error)) return fail(error);
  return true;
}

bool Running::download(size_t port, std::string* bytes) {
  char error[gpu::kErrorChars] = "";
  bytes->resize(case_.ports[port].bytes);
  return driver_.download(bytes->data(), memory_[port], 0, bytes->size(), error) || fail(error);
}

std::string Running::first_difference() {
  for (size_t p = 0; p < case_.ports.size(); ++p) {
    const PortCase& port = case_.ports[p];
    std::string got;
    if (!download(p, &got)) return error_;
    const bool is_float = port.element[0] == 'f' || port.element[0] == 'b';
    if (!is_float || port.element == "bool") {
      if (got != port.after) return "buffer " + std::to_string(p) + " differs";
      continue;
    }
    const double tolerance = port.element == "f16" ? 2e-3 : port.element == "bf16" ? 1e-2 : 1e-4;
    for (uint64_t i = 0; i < port.bytes / bytes_of(port.element); ++i) {
      const double x = value_of(port.element, got.data(), i),
                   y = value_of(port.element, port.after.data(), i);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == y || std::fabs(x - y) <= tolerance * std::max(1.0, std::fabs(y))) continue;
      char text[120];
      std::snprintf(text, sizeof text, "buffer %zu, element %llu: %g instead of %g", p,
                    static_cast<unsigned long long>(i), x, y);
      return text;
    }
  }
  return "";
}

std::string Running::probe_product() {
  const Product& shape = *case_.gemm;
  std::string got;
  if (!download(2, &got)) return error_;
  const double tolerance = shape.element == "f32" ? 1e-4 : 1e-2;
  for (int64_t probe = 0; probe < 64; ++probe) {
    const int64_t m = probe * 7919 % shape.m, n = probe * 104729 % shape.n;
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < shape.k; ++k) {
      const double part = random_value(1, static_cast<uint64_t>(m * shape.k + k)) *
                          random_value(2, static_cast<uint64_t>(k * shape.n + n));
      sum += part;
      magnitude += std::fabs(part);
    }
    const double value = value_of(shape.element, got.data(), static_cast<uint64_t>(m * shape.n + n));
    if (std::fabs(value - sum) <= tolerance * std::max(std::fabs(sum), magnitude * 0.01)) continue;
    char text[120];
    std::snprintf(text, sizeof text, "element %lld,%lld: %g instead of %g", static_cast<long long>(m),
                  static_cast<long long>(n), value, sum);
    return text;
  }
  return "";
}

double Running::time_group(int runs) {
  char error[gpu::kErrorChars] = "";
  int64_t ns = 0;
  if (!driver_.begin_time(device_, error)) return fail(error), 0;
  for (int i = 0; i < runs; ++i)
    if (!launch_all()) return 0;
  if (!driver_.end_time(device_, &ns, error)) return fail(error), 0;
  return static_cast<double>(ns) / runs;
}

double Running::time_ns(double budget_ns) {
  if (!error_.empty()) return 0;
  double one = time_group(1);
  if (one <= 0) one = 1000;
  const auto runs_in = [&](double ns) { return static_cast<int>(std::clamp(ns / one, 1.0, 4096.0)); };
  one = std::max(1.0, time_group(runs_in(budget_ns)));
  double best = 0;
  for (int group = 0; group < 5 && error_.empty(); ++group) {
    const double ns = time_group(runs_in(budget_ns / 5));
    if (ns > 0 && (best == 0 || ns < best)) best = ns;
  }
  return error_.empty() ? best : 0;
}

double peak_gflops(gpu::Device* device, const gpu::Facts& facts) {
  char error[gpu::kErrorChars] = "";
  const worker::gpu_worker::OpenDevice open{.driver = &gpu::cuda_driver(), .device = device, .facts = facts};
  return worker::gpu_worker::measure_peak(open, worker::gpu_worker::kPeakPtx, error);
}

double copy_gbytes_per_s(gpu::Device* device) {
  gpu::Facts facts;
  gpu::cuda_driver().facts(device, &facts);
  const gpu::CuApi& api = cu_api();
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto copy =
      reinterpret_cast<int (*)(uint64_t, uint64_t, size_t, void*)>(dlsym(library, "cuMemcpyDtoDAsync_v2"));
  const size_t bytes = std::min<size_t>(size_t{1} << 30, facts.memory_bytes / 8);
  uint64_t from = 0, to = 0;
  if (copy == nullptr || api.allocate(&from, bytes) != gpu::kCuSuccess) return 0;
  double best = 0;
  if (api.allocate(&to, bytes) == gpu::kCuSuccess) {
    EventTimer timer;
    for (int i = 0; i < 10; ++i) {
      timer.begin();
      copy(to, from, bytes, nullptr);
      const double ns = timer.end_ns();
      if (ns > 0) best = std::max(best, 2 * static_cast<double>(bytes) / ns);
    }
    api.free(to);
  }
  api.free(from);
  return best;
}

}  // namespace tf::gpu_test
