#pragma once
// Owns: that agents on one machine learn of each other when they offer the same CPUs, whoever runs them: a
// name in the kernel for each CPU, which goes with the process. Does not know: slots, what is measured.

#include <cstdint>
#include <string>
#include <vector>

#include "base/files/owned_fd.h"

namespace tf::agent {

// CPUs of which another process has taken the claim.
struct ClaimedCpus {
  int64_t pid = 0;  // 0: not visible from here
  std::vector<uint32_t> cpus;
  bool operator==(const ClaimedCpus&) const = default;
};

// Its claims last as long as it lives. Names of the abstract socket namespace need no folder that several
// users can write, and none is left behind; they are those of one network namespace.
class CpuClaims {
 public:
  // Claims each CPU that nobody else has. `prefix` is for tests.
  explicit CpuClaims(const std::vector<uint32_t>& cpus, const std::string& prefix = "tunefarm-cpu-");
  // Those that others had, by process.
  const std::vector<ClaimedCpus>& of_others() const { return others_; }

 private:
  std::vector<OwnedFd> held_;
  std::vector<ClaimedCpus> others_;
};

// A line for each of them; empty: there is none.
std::vector<std::string> shared_cpu_warnings(const CpuClaims& claims);

}  // namespace tf::agent
