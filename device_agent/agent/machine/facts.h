#pragma once
// Owns: raw facts of this machine, read from the kernel. Does not know: what they mean for code generation.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device_agent/worker/sandbox_capabilities.h"

namespace tunefarm::farm::v1 {
class DeviceFacts;
}

namespace tf::agent {

// What code this program is, and so what it can load, as uname -m names the machine for it: a 32-bit agent
// under a 64-bit kernel is armv7l, whatever uname says.
std::string program_arch();

// Everything but fingerprint and peak, which the worker knows; caches and kinds of cores are those of `cpus`
// (empty: all). `root` stands before the paths of /proc and /sys: a copy of another machine's files, or "".
tunefarm::farm::v1::DeviceFacts read_facts(const std::vector<uint32_t>& cpus = {},
                                           const std::string& root = "",
                                           const std::string& arch = program_arch());

// LLVM's names, sorted, of what the "flags" (x86) or "Features" (ARM) line of /proc/cpuinfo lists. Flags that
// LLVM has no name for are left out.
std::vector<std::string> llvm_features(std::string_view arch, std::string_view flags);

// Adds the layers of the sandbox that candidates are confined in here: all but `without`.
void add_sandbox(worker::CapabilitySet without, tunefarm::farm::v1::DeviceFacts& facts);

// The CPUs that this process may run on.
std::vector<uint32_t> allowed_cpus();

}  // namespace tf::agent
