#include "device_agent/worker/device_state.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/machine/machine_files.h"
#include "base/machine/processors.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::worker {
namespace {

using tunefarm::farm::v1::DeviceState;

double number(const std::string& text) {
  double value = 0;
  return absl::SimpleAtod(text, &value) ? value : 0;
}

std::string cpu_folder(const std::string& root, int cpu) {
  return absl::StrCat(root, "/sys/devices/system/cpu/cpu", cpu);
}

uint64_t memory_gib() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return ((static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes)) + (512u << 20)) >> 30;
}

std::string cache_sizes(const std::string& root, int cpu) {
  std::string sizes;
  for (int i = 0; i < 6; ++i) {
    const std::string folder = absl::StrCat(cpu_folder(root, cpu), "/cache/index", i);
    const std::string size = first_line(folder + "/size");
    if (!size.empty())
      absl::StrAppend(&sizes, "L", first_line(folder + "/level"), first_line(folder + "/type"), "=", size,
                      ";");
  }
  return sizes;
}

// 0 where the OS tells of no cache of that level.
uint64_t cache_bytes(const std::string& root, int cpu, std::string_view level) {
  for (int i = 0; i < 6; ++i) {
    const std::string folder = absl::StrCat(cpu_folder(root, cpu), "/cache/index", i);
    if (first_line(folder + "/level") != level) continue;
    if (const uint64_t bytes = parse_size_bytes(first_line(folder + "/size"))) return bytes;
  }
  return 0;
}

// The memory that a CPU is next to; 0 where the OS knows only one.
int memory_node(int cpu) {
  for (int node = 0; node < 64; ++node) {
    if (access(absl::StrCat(cpu_folder("", cpu), "/node", node).c_str(), F_OK) == 0) return node;
  }
  return 0;
}

double clock_mhz(const std::string& root, int cpu) {
  const double khz = number(first_line(cpu_folder(root, cpu) + "/cpufreq/scaling_cur_freq"));
  double mhz = khz / 1000;
  if (mhz > 0) return mhz;
  for_each_cpu_field(
      [&](std::string_view name, std::string_view value) {
        if (name == "cpu MHz") mhz = number(std::string(value));
        return mhz == 0;  // the kernel asks each processor for its clock as it is read
      },
      root);
  return mhz;
}

// Paths below the folder, as in a directory listing; none if there is no such folder.
std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) paths.push_back(entry.path());
  return paths;
}

// Of the hottest zone that belongs to the CPU by its name; where none does, of the hottest at all. Boards
// have zones that are switched off and cannot be read, and on Jetsons PMIC-Die, which says 100 degrees
// whatever it has.
double temperature_c(const std::string& root) {
  double cpu = 0, any = 0;
  for (const std::string& zone : entries(root + "/sys/class/thermal")) {
    if (zone.find("thermal_zone") == std::string::npos) continue;
    const std::string type = absl::AsciiStrToLower(first_line(zone + "/type"));
    const double degrees = number(first_line(zone + "/temp")) / 1000;
    const bool is_cpu = type.find("cpu") != std::string::npos || type.find("core") != std::string::npos ||
                        type.find("pkg") != std::string::npos;
    if (is_cpu) cpu = std::max(cpu, degrees);
    if (type != "pmic-die") any = std::max(any, degrees);
  }
  return cpu > 0 ? cpu : any;
}

// What a Raspberry Pi's firmware does at this moment: too little voltage, a capped or throttled clock, the
// soft limit of temperature (the four lowest bits).
bool firmware_throttles(const std::string& root) {
  for (const std::string& device : entries(root + "/sys/bus/platform/devices")) {
    if (!device.ends_with(":firmware")) continue;
    const std::string bits = first_line(device + "/get_throttled");
    if ((std::strtoul(bits.c_str(), nullptr, 16) & 0xf) != 0) return true;
  }
  return false;
}

// Thermal protection by way of the CPU's clock.
bool is_cooled_by_clock(const std::string& root) {
  for (const std::string& device : entries(root + "/sys/class/thermal")) {
    const bool of_clock = device.find("cooling_device") != std::string::npos &&
                          first_line(device + "/type").find("cpufreq") != std::string::npos;
    if (of_clock && number(first_line(device + "/cur_state")) > 0) return true;
  }
  return false;
}

bool is_throttled(const std::string& root, int cpu) {
  const double limit_khz = number(first_line(cpu_folder(root, cpu) + "/cpufreq/scaling_max_freq"));
  const double hardware_khz = number(first_line(cpu_folder(root, cpu) + "/cpufreq/cpuinfo_max_freq"));
  const bool limited = limit_khz > 0 && hardware_khz > 0 && limit_khz < 0.95 * hardware_khz;
  return limited || firmware_throttles(root) || is_cooled_by_clock(root);
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

DeviceProbe::DeviceProbe(std::vector<int> cpus, std::string root)
    : cpus_(std::move(cpus)), root_(std::move(root)) {
  const int cpu = cpus_.empty() ? 0 : cpus_.front();
  l2_bytes_ = cache_bytes(root_, cpu, "2");
  if (l2_bytes_ == 0) l2_bytes_ = 1 << 20;
  last_cache_bytes_ = std::max({l2_bytes_, cache_bytes(root_, cpu, "3"), cache_bytes(root_, cpu, "4")});
  const std::vector<Processor> processors = read_processors(root_);
  const Processor first = processors.empty() ? Processor{} : processors.front();
  auto fixed = std::make_unique<DeviceState>();
  fixed->set_model(processor_model(processors, {cpus_.begin(), cpus_.end()}, root_));
  if (utsname name; fixed->model().empty() && uname(&name) == 0) fixed->set_model(name.machine);
  fixed->set_fingerprint(
      sha256(absl::StrCat(fixed->model(), "\n", first.field("flags"), first.field("Features"),
                          first.field("isa"), "\n", sysconf(_SC_NPROCESSORS_CONF), "\n",
                          cache_sizes(root_, cpu), "\n", memory_gib()))
          .hex());
  fixed_ = std::move(fixed);
}

DeviceProbe::~DeviceProbe() = default;

DeviceState DeviceProbe::read() const {
  const int cpu = cpus_.empty() ? 0 : cpus_.front();
  DeviceState state = *fixed_;
  state.set_clock_mhz(clock_mhz(root_, cpu));
  state.set_temperature_c(temperature_c(root_));
  state.set_throttled(is_throttled(root_, cpu));
  state.set_governor(first_line(cpu_folder(root_, cpu) + "/cpufreq/scaling_governor"));
  state.set_load_1min(load_1min());
  return state;
}

}  // namespace tf::worker
