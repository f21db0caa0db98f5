#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/machine_files.h"
#include "device_agent/worker/device_state.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::worker {
namespace {

using tunefarm::farm::v1::DeviceState;

double number(const std::string& text) {
  double value = 0;
  return absl::SimpleAtod(text, &value) ? value : 0;
}

std::string cpu_folder(int cpu) {
  return absl::StrCat("/sys/devices/system/cpu/cpu", cpu);
}

// The first processor's entry of /proc/cpuinfo, which is all of it on the machines that have identical cores.
std::map<std::string, std::string> first_processor() {
  std::map<std::string, std::string> fields;
  for_each_cpu_field([&](std::string_view name, std::string_view value) {
    if (!name.empty()) fields.emplace(name, value);
    return !name.empty() || fields.empty();
  });
  return fields;
}

std::string board_or_cpu(const std::map<std::string, std::string>& processor) {
  for (const char* key : {"model name", "Model", "Hardware", "uarch", "cpu model"}) {
    if (auto found = processor.find(key); found != processor.end()) return found->second;
  }
  if (std::string board = first_line("/proc/device-tree/model"); !board.empty()) return board;
  utsname name;
  return uname(&name) == 0 ? name.machine : "";
}

uint64_t memory_gib() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return ((static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes)) + (512u << 20)) >> 30;
}

std::string cache_sizes(int cpu) {
  std::string sizes;
  for (int i = 0; i < 6; ++i) {
    const std::string folder = absl::StrCat(cpu_folder(cpu), "/cache/index", i);
    const std::string size = first_line(folder + "/size");
    if (!size.empty())
      absl::StrAppend(&sizes, "L", first_line(folder + "/level"), first_line(folder + "/type"), "=", size,
                      ";");
  }
  return sizes;
}

// 0 where the OS tells of no cache of that level.
uint64_t cache_bytes(int cpu, std::string_view level) {
  for (int i = 0; i < 6; ++i) {
    const std::string folder = absl::StrCat(cpu_folder(cpu), "/cache/index", i);
    if (first_line(folder + "/level") != level) continue;
    if (const uint64_t bytes = parse_size_bytes(first_line(folder + "/size"))) return bytes;
  }
  return 0;
}

// The memory that a CPU is next to; 0 where the OS knows only one.
int memory_node(int cpu) {
  for (int node = 0; node < 64; ++node) {
    if (access(absl::StrCat(cpu_folder(cpu), "/node", node).c_str(), F_OK) == 0) return node;
  }
  return 0;
}

double clock_mhz(int cpu) {
  const double khz = number(first_line(cpu_folder(cpu) + "/cpufreq/scaling_cur_freq"));
  if (khz > 0) return khz / 1000;
  const auto processor = first_processor();
  const auto found = processor.find("cpu MHz");
  return found == processor.end() ? 0 : number(found->second);
}

// The hottest zone: which one is the CPU's differs from board to board.
double temperature_c() {
  double hottest = 0;
  for (int zone = 0; zone < 16; ++zone) {
    const std::string text = first_line(absl::StrCat("/sys/class/thermal/thermal_zone", zone, "/temp"));
    if (text.empty()) break;
    hottest = std::max(hottest, number(text) / 1000);
  }
  return hottest;
}

// Running below the clock that the governor asks for, or told so by the Raspberry Pi's firmware.
bool is_throttled(int cpu) {
  const std::string firmware = first_line("/sys/devices/platform/soc/soc:firmware/get_throttled");
  if (!firmware.empty() && (std::strtoul(firmware.c_str(), nullptr, 16) & 0xf) != 0) return true;
  const double limit_khz = number(first_line(cpu_folder(cpu) + "/cpufreq/scaling_max_freq"));
  const double hardware_khz = number(first_line(cpu_folder(cpu) + "/cpufreq/cpuinfo_max_freq"));
  return limit_khz > 0 && hardware_khz > 0 && limit_khz < 0.95 * hardware_khz;
}

double load_1min() {
  double loads[1];
  return getloadavg(loads, 1) == 1 ? loads[0] : 0;
}

}  // namespace

std::vector<int> near_cpus(const std::vector<int>& cpus, const std::vector<int>& others) {
  std::vector<int> near;
  for (int other : others) {
    const bool is_near = std::all_of(cpus.begin(), cpus.end(),
                                     [&](int cpu) { return memory_node(cpu) == memory_node(other); });
    if (is_near && !cpus.empty()) near.push_back(other);
  }
  return near;
}

DeviceProbe::DeviceProbe(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  const int cpu = cpus_.empty() ? 0 : cpus_.front();
  l2_bytes_ = cache_bytes(cpu, "2");
  if (l2_bytes_ == 0) l2_bytes_ = 1 << 20;
  last_cache_bytes_ = std::max({l2_bytes_, cache_bytes(cpu, "3"), cache_bytes(cpu, "4")});
  const auto processor = first_processor();
  auto field = [&](const char* key) {
    const auto found = processor.find(key);
    return found == processor.end() ? std::string() : found->second;
  };
  auto fixed = std::make_unique<DeviceState>();
  fixed->set_model(board_or_cpu(processor));
  fixed->set_fingerprint(
      sha256(absl::StrCat(fixed->model(), "\n", field("flags"), field("Features"), field("isa"), "\n",
                          sysconf(_SC_NPROCESSORS_CONF), "\n", cache_sizes(cpu), "\n", memory_gib()))
          .hex());
  fixed_ = std::move(fixed);
}

DeviceProbe::~DeviceProbe() = default;

DeviceState DeviceProbe::read() const {
  const int cpu = cpus_.empty() ? 0 : cpus_.front();
  DeviceState state = *fixed_;
  state.set_clock_mhz(clock_mhz(cpu));
  state.set_temperature_c(temperature_c());
  state.set_throttled(is_throttled(cpu));
  state.set_governor(first_line(cpu_folder(cpu) + "/cpufreq/scaling_governor"));
  state.set_load_1min(load_1min());
  return state;
}

}  // namespace tf::worker
