#include "tuner/model/roofline/rates.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace tf::model {
namespace {

// Makers' manuals, and what Linux says in cpu*/cache/index*/ways_of_associativity.
struct Associativity {
  std::string_view cpu;
  int l1 = 8, l2 = 8;
};
constexpr Associativity kAssociativity[] = {
    {"x86-64-v4", 8, 16},       {"skylake", 8, 4},         {"alderlake", 12, 10},
    {"skylake-avx512", 8, 16},  {"cascadelake", 8, 16},    {"cooperlake", 8, 16},
    {"icelake-client", 12, 8},  {"tigerlake", 12, 20},     {"icelake-server", 12, 20},
    {"sapphirerapids", 12, 16}, {"emeraldrapids", 12, 16}, {"graniterapids", 12, 16},
    {"znver5", 12, 16},         {"cortex-a53", 4, 16},     {"cortex-a55", 4, 4},
    {"cortex-a57", 2, 16},      {"cortex-a72", 2, 16},     {"cortex-a76", 4, 8},
    {"cortex-a78", 4, 8},       {"neoverse-n1", 4, 8},     {"neoverse-n2", 4, 8},
    {"neoverse-v1", 4, 8},      {"neoverse-v2", 4, 8},     {"cortex-a7", 4, 8},
    {"cortex-a15", 2, 16},
};

// What a hypervisor or a key of the target says of a size need not be a power of two of ways.
int64_t way_bytes(int64_t cache_bytes, int ways) {
  const auto bytes = static_cast<uint64_t>(std::max<int64_t>(cache_bytes / ways, 64));
  return static_cast<int64_t>(std::bit_floor(bytes));
}

}  // namespace

CacheWays ways_of(const target::Target& target) {
  const auto* known = std::ranges::find(kAssociativity, target.cpu, &Associativity::cpu);
  const Associativity ways = known == std::end(kAssociativity) ? Associativity() : *known;
  return {way_bytes(target.caches.l1_bytes, ways.l1), way_bytes(target.caches.l2_bytes, ways.l2)};
}

Rates rates_of(const target::Target& target) {
  Rates rates;
  // Two pipes of 256 bits each take a wider vector in halves: Zen 4 (AMD, "Software Optimization Guide for
  // the Zen4 Microarchitecture", section 2.11), and so do 128-bit loads of small Arm cores.
  const bool halves = target.cpu == "znver4" && target.vector.bits == 512;
  const bool small = target.cpu == "cortex-a53" || target.cpu == "cortex-a55" || target.cpu == "cortex-a72";
  if (halves || small) rates.fmas = rates.loads = 1, rates.stores = 0.5;
  if (target.arch != target::Arch::kX86_64) rates.hertz = 2e9;
  return rates;
}

double flops_a_cycle(const target::Target& target) {
  return 2 * rates_of(target).fmas * target.fp32_lanes();
}

double hertz_of(const MeasuredRates& measured, double flops_a_cycle, double usual_hertz) {
  return measured.flops_per_s > 0 && flops_a_cycle > 0 ? measured.flops_per_s / flops_a_cycle : usual_hertz;
}

double shared_cache_bytes(const target::Target& target) {
  const int64_t times = target.arch == target::Arch::kX86_64 ? 16 : 4;
  const target::Caches& caches = target.caches;
  return static_cast<double>(caches.l3_bytes > 0 ? caches.l3_bytes : times * caches.l2_bytes);
}

}  // namespace tf::model
