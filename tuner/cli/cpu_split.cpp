#include "tuner/cli/cpu_split.h"

#include <sched.h>

#include <cstddef>

namespace tf::tuner_cli {

CpuSplit split_cpus(const std::vector<int>& cpus, int threads) {
  const auto measuring = static_cast<size_t>(threads);
  if (cpus.size() <= measuring) return {.measure = {}, .rest = {}, .build = cpus, .takes_turns = true};
  const auto border = cpus.end() - static_cast<std::ptrdiff_t>(measuring);
  CpuSplit split{.measure = {border, cpus.end()}, .rest = {cpus.begin(), border}};
  split.takes_turns = split.rest.size() <= split.measure.size();
  split.build = split.takes_turns ? cpus : split.rest;
  return split;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace tf::tuner_cli
