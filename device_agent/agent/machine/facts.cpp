#include "device_agent/agent/machine/facts.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/machine/machine_files.h"
#include "base/machine/processors.h"
#include "proto/farm/v1/farm.pb.h"

namespace tf::agent {
namespace {

// LLVM's names by the kernel's; a name that stands alone is the same in both.
using Names = std::multimap<std::string, std::string, std::less<>>;

constexpr std::string_view kX86Names =
    "sse sse2 pni=sse3 ssse3 sse4_1=sse4.1 sse4_2=sse4.2 sse4a avx avx2 fma f16c popcnt abm=lzcnt bmi1=bmi "
    "bmi2 adx aes vaes pclmulqdq=pclmul vpclmulqdq gfni sha_ni=sha movbe cx16 fsgsbase rdrand=rdrnd rdseed "
    "lahf_lm=sahf xsave xsaveopt xsavec xsaves clflushopt clwb avx512f avx512cd avx512bw avx512dq avx512vl "
    "avx512ifma avx512vbmi avx512_vbmi2=avx512vbmi2 avx512_vnni=avx512vnni avx512_bitalg=avx512bitalg "
    "avx512_vpopcntdq=avx512vpopcntdq avx512_bf16=avx512bf16 avx512_fp16=avx512fp16 "
    "avx512_vp2intersect=avx512vp2intersect avx_vnni=avxvnni amx_tile=amx-tile amx_int8=amx-int8 "
    "amx_bf16=amx-bf16";

constexpr std::string_view kAarch64Names =
    "fp=fp-armv8 asimd=neon asimdhp=fullfp16 asimddp=dotprod asimdrdm=rdm i8mm bf16 sve sve2 atomics=lse aes "
    "sha2 crc32=crc fcma=complxnum jscvt=jsconv lrcpc=rcpc asimdfhm=fp16fml";

// Of a 32-bit kernel, then of a 64-bit one, whose processors all have ARMv7's instructions and say it in
// words of theirs.
constexpr std::string_view kArmv7Names =
    "neon vfpv3=vfp3 vfpv4=vfp4 idiva=hwdiv-arm idivt=hwdiv crc32=crc aes asimddp=dotprod asimdhp=fullfp16 "
    "i8mm asimdbf16=bf16 asimd=neon asimd=vfp4 asimd=vfp3 bf16";

Names names_of(std::string_view arch) {
  const std::string_view list = arch == "x86_64"           ? kX86Names
                                : arch == "aarch64"        ? kAarch64Names
                                : arch.starts_with("armv") ? kArmv7Names
                                                           : "";
  Names names;
  for (const absl::string_view each : absl::StrSplit(std::string(list), ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(each, absl::MaxSplits('=', 1));
    names.emplace(pair.first, pair.second.empty() ? pair.first : pair.second);
  }
  return names;
}

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

std::vector<std::string> llvm_features(std::string_view arch, std::string_view flags) {
  const Names names = names_of(arch);
  std::set<std::string> features;
  for (const absl::string_view flag : absl::StrSplit(std::string(flags), ' ', absl::SkipEmpty())) {
    const auto [first, last] = names.equal_range(std::string_view(flag.data(), flag.size()));
    for (auto found = first; found != last; ++found) features.insert(found->second);
  }
  return {features.begin(), features.end()};
}

std::string program_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__arm__)
  return "armv7l";
#elif defined(__riscv) && __riscv_xlen == 64
  return "riscv64";
#else
#error "give the architecture's name as in uname -m"
#endif
}

std::vector<uint32_t> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<uint32_t> cpus;
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

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
