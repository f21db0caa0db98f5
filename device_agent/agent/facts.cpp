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

const std::map<std::string, std::string, std::less<>>& arm_names() {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"asimd", "neon"},      {"neon", "neon"},   {"fp", "fp-armv8"}, {"asimdhp", "fullfp16"},
      {"asimddp", "dotprod"}, {"i8mm", "i8mm"},   {"bf16", "bf16"},   {"sve", "sve"},
      {"sve2", "sve2"},       {"atomics", "lse"}, {"aes", "aes"},     {"crc32", "crc"},
      {"asimdrdm", "rdm"},    {"vfpv4", "vfp4"}};
  return names;
}

}  // namespace

std::vector<std::string> llvm_features(std::string_view arch, std::string_view flags) {
  const bool x86 = arch == "x86_64" || arch == "i686";
  const auto& names = x86 ? x86_names() : arm_names();
  std::set<std::string> features;
  for (const absl::string_view flag : absl::StrSplit(std::string(flags), ' ', absl::SkipEmpty())) {
    const auto found = names.find(std::string_view(flag.data(), flag.size()));
    if (found != names.end()) features.insert(found->second);
  }
  return {features.begin(), features.end()};
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
