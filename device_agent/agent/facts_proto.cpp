#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/machine/machine_files.h"
#include "base/machine/processors.h"
#include "device_agent/agent/facts.h"
#include "proto/farm/v1/farm.pb.h"

namespace tf::agent {
namespace {

uint32_t number(const std::string& text) {
  uint32_t value = 0;
  if (text.starts_with("0x")) return absl::SimpleHexAtoi(text, &value) ? value : 0;
  return absl::SimpleAtoi(text, &value) ? value : 0;
}

// Physical cores; 0 where the processors do not say which of them share one.
uint32_t count_cores(const std::vector<Processor>& processors) {
  std::set<std::string> cores;
  for (const Processor& processor : processors) {
    if (processor.field("core id").empty()) continue;
    cores.insert(absl::StrCat(processor.field("physical id"), "/", processor.field("core id")));
  }
  return static_cast<uint32_t>(cores.size());
}

void read_caches(uint32_t cpu, const std::string& root, tunefarm::farm::v1::DeviceFacts& facts) {
  const std::filesystem::path caches = absl::StrCat(root, "/sys/devices/system/cpu/cpu", cpu, "/cache");
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

// ARM gives its processors' makers and kinds as numbers, in other fields than x86.
void describe(const Processor& processor, tunefarm::farm::v1::DeviceFacts& facts) {
  const bool arm = !processor.field("CPU part").empty();
  facts.set_cpu_vendor(processor.field(arm ? "CPU implementer" : "vendor_id"));
  facts.set_cpu_family(number(processor.field(arm ? "CPU architecture" : "cpu family")));
  facts.set_cpu_model_number(number(processor.field(arm ? "CPU part" : "model")));
  const std::string& flags = processor.field(facts.arch() == "x86_64" ? "flags" : "Features");
  for (std::string& feature : llvm_features(facts.arch(), flags)) facts.add_cpu_features(std::move(feature));
}

// The first of `processors` that is one of `cpus`.
const Processor& first_of(const std::vector<Processor>& processors, const std::vector<uint32_t>& cpus) {
  static const Processor none;
  for (const Processor& processor : processors) {
    if (cpus.empty() || std::ranges::find(cpus, processor.number) != cpus.end()) return processor;
  }
  return processors.empty() ? none : processors.front();
}

}  // namespace

tunefarm::farm::v1::DeviceFacts read_facts(const std::vector<uint32_t>& cpus, const std::string& root,
                                           const std::string& arch) {
  tunefarm::farm::v1::DeviceFacts facts;
  utsname system{};
  uname(&system);
  facts.set_arch(arch);
  facts.set_os(absl::AsciiStrToLower(system.sysname));
  facts.set_kernel(system.release);
  facts.set_hostname(system.nodename);
  const std::vector<Processor> processors = read_processors(root);
  facts.set_cpu_model(processor_model(processors, cpus, root));
  describe(first_of(processors, cpus), facts);
  facts.set_threads(static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  const uint32_t cores = count_cores(processors);
  facts.set_cores(cores != 0 ? cores : facts.threads());
  facts.set_memory_bytes(static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  read_caches(cpus.empty() ? 0 : cpus.front(), root, facts);
  return facts;
}

void add_sandbox(worker::CapabilitySet without, tunefarm::farm::v1::DeviceFacts& facts) {
  for (uint32_t i = 0; i < worker::sandbox::kCapabilityCount; ++i) {
    const auto layer = static_cast<worker::Capability>(i);
    // "pid-namespace" is CAPABILITY_PID_NAMESPACE.
    const std::string name(worker::capability_name(layer));
    tunefarm::farm::v1::Capability known;
    if (!without.contains(layer) &&
        tunefarm::farm::v1::Capability_Parse(
            absl::StrCat("CAPABILITY_", absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}}))),
            &known))
      facts.add_capabilities(known);
  }
}

}  // namespace tf::agent
