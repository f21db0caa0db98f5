#include "tuner/model/gpu/gpu_rates.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

namespace tf::model {
namespace {

constexpr double kL2PerMemory = 2.5;  // bytes from the cache in the time of one from memory

struct UsualDevice {
  std::string_view cpu;  // how its name begins
  double lanes, units, flops_per_s, memory_bytes_per_s;
};
constexpr UsualDevice kUsual[] = {
    {"sm_75", 64, 40, 8.1e12, 0.32e12},   {"sm_80", 64, 108, 19.5e12, 1.56e12},
    {"sm_86", 128, 82, 35.6e12, 0.94e12}, {"sm_87", 128, 16, 5.3e12, 0.2e12},
    {"sm_88", 128, 16, 5.3e12, 0.2e12},   {"sm_89", 128, 128, 82.6e12, 1e12},
    {"sm_90", 128, 132, 67e12, 3e12},     {"sm_100", 128, 148, 75e12, 7e12},
    {"sm_103", 128, 148, 75e12, 7e12},    {"sm_110", 128, 20, 8e12, 0.27e12},
    {"sm_120", 128, 170, 105e12, 1.8e12}, {"sm_121", 128, 48, 31e12, 0.27e12},
    {"generic", 64, 8, 1e12, 0.05e12},
};

const UsualDevice& usual(const target::Target& target) {
  const auto* found = std::ranges::find_if(kUsual, [&](const UsualDevice& device) {
    return std::string_view(target.cpu).starts_with(device.cpu);
  });
  return found == std::end(kUsual) ? *std::prev(std::end(kUsual)) : *found;
}

}  // namespace

double unit_lanes(const target::Target& target) {
  return usual(target).lanes;
}

GpuRates gpu_rates(const target::Target& target, const MeasuredRates& measured) {
  const UsualDevice& device = usual(target);
  const auto known = [](double is, double usually) { return is > 0 ? is : usually; };
  // Of what is not measured, a device with more units has more.
  const double size = measured.units > 0         ? measured.units / device.units
                      : measured.flops_per_s > 0 ? measured.flops_per_s / device.flops_per_s
                                                 : 1;
  GpuRates rates{.units = std::max(1.0, std::round(device.units * size))};
  rates.flops_per_s = known(measured.flops_per_s, device.flops_per_s * size);
  rates.memory_bytes_per_s = known(measured.memory_bytes_per_s, device.memory_bytes_per_s * size);
  rates.l2_bytes_per_s = known(measured.l2_bytes_per_s, rates.memory_bytes_per_s * kL2PerMemory);
  return rates;
}

}  // namespace tf::model
