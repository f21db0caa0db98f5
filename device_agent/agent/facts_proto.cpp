#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/machine_files.h"
#include "device_agent/agent/facts.h"
#include "proto/farm/v1/farm.pb.h"

namespace tf::agent {
namespace {

// The first processor's fields of /proc/cpuinfo, and how many cores there are in all.
struct CpuInfo {
  std::map<std::string, std::string> fields;
  uint32_t cores = 0;
};

CpuInfo read_cpu_info() {
  CpuInfo info;
  std::set<std::string> cores;
  std::string package;
  for_each_cpu_field([&](std::string_view name, std::string_view value) {
    info.fields.emplace(name, value);
    if (name == "physical id") package = value;
    if (name == "core id") cores.insert(absl::StrCat(package, "/", std::string(value)));
    return true;
  });
  info.cores = static_cast<uint32_t>(cores.size());
  return info;
}

uint32_t number(const CpuInfo& info, const std::string& field) {
  const auto found = info.fields.find(field);
  uint32_t value = 0;
  return found != info.fields.end() && absl::SimpleAtoi(found->second, &value) ? value : 0;
}

std::string text(const CpuInfo& info, const std::string& field) {
  const auto found = info.fields.find(field);
  return found == info.fields.end() ? "" : found->second;
}

void read_caches(tunefarm::farm::v1::DeviceFacts& facts) {
  const std::filesystem::path caches = "/sys/devices/system/cpu/cpu0/cache";
  std::error_code error;
  for (const auto& cache : std::filesystem::directory_iterator(caches, error)) {
    if (!cache.path().filename().string().starts_with("index")) continue;
    const std::string level = first_line(cache.path().string() + "/level");
    const std::string type = first_line(cache.path().string() + "/type");
    const uint64_t bytes = parse_size_bytes(first_line(cache.path().string() + "/size"));
    if (level == "1" && type == "Data") facts.set_l1d_bytes(bytes);
    if (level == "2") facts.set_l2_bytes(bytes);
    if (level == "3") facts.set_l3_bytes(bytes);
  }
}

}  // namespace

tunefarm::farm::v1::DeviceFacts read_facts() {
  tunefarm::farm::v1::DeviceFacts facts;
  utsname system{};
  uname(&system);
  facts.set_arch(system.machine);
  facts.set_os(absl::AsciiStrToLower(system.sysname));
  facts.set_kernel(system.release);
  facts.set_hostname(system.nodename);
  const CpuInfo cpu = read_cpu_info();
  facts.set_cpu_model(text(cpu, "model name"));
  if (facts.cpu_model().empty()) facts.set_cpu_model(first_line("/proc/device-tree/model"));
  facts.set_cpu_vendor(text(cpu, "vendor_id"));
  facts.set_cpu_family(number(cpu, "cpu family"));
  facts.set_cpu_model_number(number(cpu, "model"));
  const std::string flags = text(cpu, "flags").empty() ? text(cpu, "Features") : text(cpu, "flags");
  for (std::string& feature : llvm_features(facts.arch(), flags)) facts.add_cpu_features(std::move(feature));
  facts.set_threads(static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  facts.set_cores(cpu.cores != 0 ? cpu.cores : facts.threads());
  facts.set_memory_bytes(static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  read_caches(facts);
  return facts;
}

}  // namespace tf::agent
