#include "device_agent/agent/facts.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_split.h"

namespace tf::agent {
namespace {

// The kernel's name → LLVM's; an equal name stands for itself.
const std::map<std::string, std::string, std::less<>>& x86_names() {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"sse", "sse"},
      {"sse2", "sse2"},
      {"pni", "sse3"},
      {"ssse3", "ssse3"},
      {"sse4_1", "sse4.1"},
      {"sse4_2", "sse4.2"},
      {"sse4a", "sse4a"},
      {"avx", "avx"},
      {"avx2", "avx2"},
      {"fma", "fma"},
      {"f16c", "f16c"},
      {"popcnt", "popcnt"},
      {"abm", "lzcnt"},
      {"bmi1", "bmi"},
      {"bmi2", "bmi2"},
      {"adx", "adx"},
      {"aes", "aes"},
      {"vaes", "vaes"},
      {"pclmulqdq", "pclmul"},
      {"vpclmulqdq", "vpclmulqdq"},
      {"gfni", "gfni"},
      {"sha_ni", "sha"},
      {"movbe", "movbe"},
      {"cx16", "cx16"},
      {"fsgsbase", "fsgsbase"},
      {"rdrand", "rdrnd"},
      {"rdseed", "rdseed"},
      {"lahf_lm", "sahf"},
      {"xsave", "xsave"},
      {"xsaveopt", "xsaveopt"},
      {"xsavec", "xsavec"},
      {"xsaves", "xsaves"},
      {"clflushopt", "clflushopt"},
      {"clwb", "clwb"},
      {"avx512f", "avx512f"},
      {"avx512cd", "avx512cd"},
      {"avx512bw", "avx512bw"},
      {"avx512dq", "avx512dq"},
      {"avx512vl", "avx512vl"},
      {"avx512ifma", "avx512ifma"},
      {"avx512vbmi", "avx512vbmi"},
      {"avx512_vbmi2", "avx512vbmi2"},
      {"avx512_vnni", "avx512vnni"},
      {"avx512_bitalg", "avx512bitalg"},
      {"avx512_vpopcntdq", "avx512vpopcntdq"},
      {"avx512_bf16", "avx512bf16"},
      {"avx512_fp16", "avx512fp16"},
      {"avx512_vp2intersect", "avx512vp2intersect"},
      {"avx_vnni", "avxvnni"},
      {"amx_tile", "amx-tile"},
      {"amx_int8", "amx-int8"},
      {"amx_bf16", "amx-bf16"}};
  return names;
}

const std::map<std::string, std::string, std::less<>>& aarch64_names() {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"fp", "fp-armv8"},     {"asimd", "neon"},     {"asimdhp", "fullfp16"}, {"asimddp", "dotprod"},
      {"asimdrdm", "rdm"},    {"i8mm", "i8mm"},      {"bf16", "bf16"},        {"sve", "sve"},
      {"sve2", "sve2"},       {"atomics", "lse"},    {"aes", "aes"},          {"sha2", "sha2"},
      {"crc32", "crc"},       {"fcma", "complxnum"}, {"jscvt", "jsconv"},     {"lrcpc", "rcpc"},
      {"asimdfhm", "fp16fml"}};
  return names;
}

// Of a 32-bit kernel, then of a 64-bit one, whose processors all have ARMv7's instructions and say it in
// words of theirs.
const std::multimap<std::string, std::string, std::less<>>& armv7_names() {
  static const std::multimap<std::string, std::string, std::less<>> names = {
      {"neon", "neon"},        {"vfpv3", "vfp3"}, {"vfpv4", "vfp4"},     {"idiva", "hwdiv-arm"},
      {"idivt", "hwdiv"},      {"crc32", "crc"},  {"aes", "aes"},        {"asimddp", "dotprod"},
      {"asimdhp", "fullfp16"}, {"i8mm", "i8mm"},  {"asimdbf16", "bf16"}, {"asimd", "neon"},
      {"asimd", "vfp4"},       {"asimd", "vfp3"}, {"bf16", "bf16"}};
  return names;
}

}  // namespace

std::vector<std::string> llvm_features(std::string_view arch, std::string_view flags) {
  std::set<std::string> features;
  for (const absl::string_view flag : absl::StrSplit(std::string(flags), ' ', absl::SkipEmpty())) {
    const auto add_all = [&](const auto& names) {
      const auto [first, last] = names.equal_range(std::string_view(flag.data(), flag.size()));
      for (auto found = first; found != last; ++found) features.insert(found->second);
    };
    if (arch == "x86_64") add_all(x86_names());
    if (arch == "aarch64") add_all(aarch64_names());
    if (arch.starts_with("armv")) add_all(armv7_names());
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

}  // namespace tf::agent
