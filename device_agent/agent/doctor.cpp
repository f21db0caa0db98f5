// What the machine itself says.
#include "device_agent/agent/doctor.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cli/counted.h"
#include "base/files/file.h"
#include "base/machine/cpu_list.h"
#include "base/machine/machine_files.h"

namespace tf::agent {
namespace {

constexpr uint64_t kSlotBytes = uint64_t{1}
                                << 30;  // of memory that a slot should find: a network's largest kernels

std::string cpu_folder(uint32_t cpu) {
  return absl::StrCat("/sys/devices/system/cpu/cpu", cpu);
}

std::vector<CpuSet> all_slots(const std::vector<Offer>& offers) {
  std::vector<CpuSet> slots;
  for (const Offer& offer : offers) slots.insert(slots.end(), offer.slots.begin(), offer.slots.end());
  return slots;
}

// MemAvailable of /proc/meminfo; 0 where the kernel does not tell.
uint64_t available_bytes() {
  const absl::StatusOr<std::string> text = read_file("/proc/meminfo");
  const size_t at = text.ok() ? text->find("MemAvailable:") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtoull(text->c_str() + at + 13, nullptr, 10) << 10;
}

// The folder, or the nearest above it that is there.
std::string existing_folder(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder.string();
}

std::string mib(uint64_t bytes) {
  return absl::StrCat(bytes >> 20, " MiB");
}

}  // namespace

Check examine_cpus(const std::vector<Offer>& offers) {
  const std::vector<CpuSet> slots = all_slots(offers);
  std::map<uint32_t, size_t> slot_of;
  for (size_t i = 0; i < slots.size(); ++i) {
    for (const uint32_t cpu : slots[i]) slot_of[cpu] = i;
  }
  Check check{.what = "CPUs", .detail = absl::StrCat("slots: ", slots_text(slots))};
  for (const auto& [cpu, slot] : slot_of) {
    const auto siblings = parse_cpu_list(first_line(cpu_folder(cpu) + "/topology/thread_siblings_list"));
    if (!siblings.ok()) continue;
    for (const uint32_t sibling : *siblings) {
      const auto other = slot_of.find(sibling);
      if (other == slot_of.end() || other->second == slot) continue;
      check.health = Health::kWeak;
      check.detail =
          absl::StrCat("CPUs ", cpu, " and ", sibling, " are threads of one core, but in two slots");
      check.remedy = "they slow each other down: put them into one slot, or omit one";
      return check;
    }
  }
  return check;
}

Check examine_governor(const std::vector<Offer>& offers) {
  std::set<std::string> governors;
  for (const CpuSet& cpus : all_slots(offers)) {
    for (const uint32_t cpu : cpus)
      governors.insert(first_line(cpu_folder(cpu) + "/cpufreq/scaling_governor"));
  }
  governors.erase("");
  Check check{.what = "governor", .detail = absl::StrJoin(governors, ", ")};
  if (governors.empty()) check.detail = "unknown: the system does not report it";
  if (governors.empty() || governors == std::set<std::string>{"performance"}) return check;
  check.health = Health::kWeak;
  check.remedy = "clocks that follow the load make times vary: run `cpupower frequency-set -g performance`";
  return check;
}

Check examine_memory(size_t slots) {
  const uint64_t available = available_bytes();
  Check check{.what = "memory", .detail = mib(available) + " available"};
  if (available == 0) check.detail = "unknown: the system does not report it";
  if (available == 0 || available >= slots * kSlotBytes) return check;
  check.health = Health::kWeak;
  check.remedy =
      absl::StrCat(counted(static_cast<int64_t>(slots), "slot"), " should have ", mib(kSlotBytes),
                   slots == 1 ? "" : " each",
                   " for large kernels: ", slots == 1 ? "" : "offer fewer slots, or ", "end other programs");
  return check;
}

Check examine_disk(const std::string& state_dir, uint64_t cache_bytes) {
  const std::string folder = existing_folder(state_dir);
  Check check{.what = "state folder"};
  struct statvfs disk {};
  if (!std::filesystem::is_directory(folder) || statvfs(folder.c_str(), &disk) != 0 ||
      access(folder.c_str(), W_OK) != 0) {
    check.health = Health::kFailed;
    check.detail = absl::StrCat(state_dir, " cannot be written by this user");
    check.remedy = "give another --state-dir or change its owner";
    return check;
  }
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
  check.detail = absl::StrCat(state_dir, ", ", mib(free), " free");
  if (free >= cache_bytes) return check;
  check.health = Health::kWeak;
  check.remedy = absl::StrCat("the cache may take ", mib(cache_bytes), ": free space or lower --cache-mib");
  return check;
}

}  // namespace tf::agent
