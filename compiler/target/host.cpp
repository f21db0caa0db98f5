#include <sched.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/machine/machine_files.h"
#include "base/machine/processors.h"
#include "compiler/target/cpu_table.h"
#include "compiler/target/target.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tf::target {
namespace {

// Of the first processor.
[[maybe_unused]] std::string cpu_field(std::string_view wanted) {
  std::string found;
  for_each_cpu_field([&](std::string_view name, std::string_view value) {
    if (name == wanted) found = value;
    return found.empty();
  });
  return found;
}

#if defined(__x86_64__)

// Linux's name of a feature that LLVM calls otherwise.
std::string linux_name(std::string_view feature) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"sse4.2", "sse4_2"},
                                                                      {"bmi", "bmi1"},
                                                                      {"lzcnt", "abm"},
                                                                      {"avx512vnni", "avx512_vnni"},
                                                                      {"avx512vbmi2", "avx512_vbmi2"},
                                                                      {"avx512bitalg", "avx512_bitalg"},
                                                                      {"avx512vpopcntdq", "avx512_vpopcntdq"},
                                                                      {"avx512bf16", "avx512_bf16"},
                                                                      {"avx512fp16", "avx512_fp16"},
                                                                      {"avxvnni", "avx_vnni"}};
  for (const auto& [ours, theirs] : kNames) {
    if (feature == ours) return std::string(theirs);
  }
  return std::string(feature);
}

// Family and model, with their extensions, as in the vendors' manuals.
struct CpuId {
  bool amd = false;
  unsigned family = 0, model = 0;
};

CpuId read_cpuid() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  CpuId id;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return id;
  id.amd = b == signature_AMD_ebx;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return id;
  id.family = (a >> 8) & 0xf;
  id.model = (a >> 4) & 0xf;
  if (id.family == 6 || id.family == 15) id.model += ((a >> 16) & 0xf) << 4;
  if (id.family == 15) id.family += (a >> 20) & 0xff;
  return id;
}

struct CpuModels {
  bool amd;
  unsigned family, first, last;  // models
  std::string_view name;
};

constexpr CpuModels kCpus[] = {{true, 0x17, 0x00, 0x2f, "znver1"},
                               {true, 0x17, 0x30, 0xff, "znver2"},
                               {true, 0x19, 0x10, 0x1f, "znver4"},
                               {true, 0x19, 0x60, 0xaf, "znver4"},
                               {true, 0x19, 0x00, 0xff, "znver3"},
                               {true, 0x1a, 0x00, 0xff, "znver5"},
                               {false, 6, 0x1a, 0x1a, "nehalem"},
                               {false, 6, 0x1e, 0x1f, "nehalem"},
                               {false, 6, 0x25, 0x25, "nehalem"},
                               {false, 6, 0x2a, 0x2a, "sandybridge"},
                               {false, 6, 0x2c, 0x2c, "nehalem"},
                               {false, 6, 0x2d, 0x2d, "sandybridge"},
                               {false, 6, 0x2e, 0x2f, "nehalem"},
                               {false, 6, 0x3a, 0x3a, "ivybridge"},
                               {false, 6, 0x3c, 0x3c, "haswell"},
                               {false, 6, 0x3d, 0x3d, "broadwell"},
                               {false, 6, 0x3e, 0x3e, "ivybridge"},
                               {false, 6, 0x3f, 0x3f, "haswell"},
                               {false, 6, 0x45, 0x46, "haswell"},
                               {false, 6, 0x47, 0x47, "broadwell"},
                               {false, 6, 0x4e, 0x4e, "skylake"},
                               {false, 6, 0x4f, 0x4f, "broadwell"},
                               // Or cascadelake, or skylake-avx512: by features.
                               {false, 6, 0x55, 0x55, "cooperlake"},
                               {false, 6, 0x56, 0x56, "broadwell"},
                               {false, 6, 0x5e, 0x5e, "skylake"},
                               {false, 6, 0x6a, 0x6a, "icelake-server"},
                               {false, 6, 0x6c, 0x6c, "icelake-server"},
                               {false, 6, 0x7d, 0x7e, "icelake-client"},
                               {false, 6, 0x8c, 0x8d, "tigerlake"},
                               {false, 6, 0x8e, 0x8e, "skylake"},
                               {false, 6, 0x8f, 0x8f, "sapphirerapids"},
                               {false, 6, 0x97, 0x97, "alderlake"},
                               {false, 6, 0x9a, 0x9a, "alderlake"},
                               {false, 6, 0x9e, 0x9e, "skylake"},
                               {false, 6, 0xa5, 0xa6, "skylake"},
                               {false, 6, 0xaa, 0xaa, "alderlake"},
                               {false, 6, 0xac, 0xac, "alderlake"},
                               {false, 6, 0xad, 0xae, "graniterapids"},
                               {false, 6, 0xb7, 0xb7, "alderlake"},
                               {false, 6, 0xba, 0xba, "alderlake"},
                               {false, 6, 0xbf, 0xbf, "alderlake"},
                               {false, 6, 0xcf, 0xcf, "emeraldrapids"}};

// The name by family and model, of the first that fits; the caller checks features (Xeons of one model differ
// in them).
std::string_view named_cpu(const CpuId& id) {
  for (const CpuModels& cpu : kCpus) {
    if (cpu.amd == id.amd && cpu.family == id.family && cpu.first <= id.model && id.model <= cpu.last)
      return cpu.name;
  }
  return "";
}

std::string host_cpu() {
  std::vector<std::string> flags = absl::StrSplit(cpu_field("flags"), ' ', absl::SkipEmpty());
  std::sort(flags.begin(), flags.end());
  const ArchEntry& arch = arch_entry(Arch::kX86_64);
  auto runs = [&](std::string_view name) {
    const CpuEntry* cpu = find_cpu(arch, name);
    if (!cpu) return false;
    for (absl::string_view feature : absl::StrSplit(
             absl::string_view(cpu->features.data(), cpu->features.size()), ' ', absl::SkipEmpty())) {
      if (!std::binary_search(flags.begin(), flags.end(), linux_name({feature.data(), feature.size()}))) {
        return false;
      }
    }
    return true;
  };
  std::string_view name = named_cpu(read_cpuid());
  if (name == "cooperlake" && !runs(name)) name = "cascadelake";
  if (name == "cascadelake" && !runs(name)) name = "skylake-avx512";
  for (std::string_view candidate :
       {name, std::string_view("x86-64-v4"), std::string_view("x86-64-v3"), std::string_view("x86-64-v2")}) {
    if (runs(candidate)) return std::string(candidate);
  }
  return "x86-64";
}

constexpr Arch kHostArch = Arch::kX86_64;

#elif defined(__aarch64__)

// Of the first processor, if the table has it.
std::string host_cpu() {
  const std::vector<Processor> processors = read_processors();
  const std::string name = processors.empty() ? "" : arm_core(processors.front());
  return find_cpu(arch_entry(Arch::kAArch64), name) ? name : "generic";
}

constexpr Arch kHostArch = Arch::kAArch64;

#elif defined(__riscv)
std::string host_cpu() {
  return "generic-rv64";
}
constexpr Arch kHostArch = Arch::kRiscV64;
#else
std::string host_cpu() {
  return "generic";
}
constexpr Arch kHostArch = Arch::kArmV7;
#endif

// Bytes of the data or unified cache of that level as Linux tells, or nothing where it does not.
std::optional<int64_t> sysfs_cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    std::string folder = absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    if (first_line(folder + "level") != absl::StrCat(level)) continue;
    if (first_line(folder + "type") == "Instruction") continue;
    if (const uint64_t bytes = parse_size_bytes(first_line(folder + "size")))
      return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

Target detect() {
  std::string text(arch_name(kHostArch));
  std::string cpu = host_cpu();
  absl::StrAppend(&text, ":cpu=", cpu);
  // Private caches belong to the model of the CPU; Linux knows better than the table.
  if (auto l1 = sysfs_cache_bytes(1)) absl::StrAppend(&text, ",l1=", *l1);
  if (auto l2 = sysfs_cache_bytes(2)) absl::StrAppend(&text, ",l2=", *l2);
  absl::StatusOr<Target> target = parse_target(text);
  TF_CHECK(target.ok()) << target.status().ToString();
  return *target;
}

}  // namespace

Target host_target() {
  static const Target target = detect();
  return target;
}

int host_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace tf::target
