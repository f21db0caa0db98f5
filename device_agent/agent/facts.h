#pragma once
// Owns: raw facts of this machine, read from the kernel. Does not know: what they mean for code generation.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tunefarm::farm::v1 {
class DeviceFacts;
}

namespace tf::agent {

// Everything but fingerprint and peak, which the worker knows. (facts_proto.cpp)
tunefarm::farm::v1::DeviceFacts read_facts();

// LLVM's names, sorted, of what the "flags" (x86) or "Features" (ARM) line of /proc/cpuinfo lists. Flags that
// LLVM has no name for are left out.
std::vector<std::string> llvm_features(std::string_view arch, std::string_view flags);

// The CPUs that this process may run on.
std::vector<uint32_t> allowed_cpus();

}  // namespace tf::agent
