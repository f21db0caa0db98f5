#include "tuner/model/rates.h"

namespace tf::model {

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

}  // namespace tf::model
