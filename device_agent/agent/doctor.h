#pragma once
// Owns: what `device_agent doctor` examines before an agent with a configuration is started here, or beside
// one that runs. Changes nothing. Does not know: how it is printed (base/cli/doctor.h).

#include <string>
#include <vector>

#include "base/cli/doctor.h"
#include "device_agent/agent/offer.h"

namespace tunefarm::config::v1 {
class DeviceAgent;
}

namespace tf::agent {

// Everything that can be examined: what needs to know the devices is left out where the configuration names
// none that could be offered, and a failed check says so. Takes some seconds where the tracker does not
// answer.
void examine(const tunefarm::config::v1::DeviceAgent& config, const std::string& state_folder,
             CheckList& checks);

// Of this machine:
Check examine_cpus(const std::vector<Offer>& offers);
Check examine_governor(const std::vector<Offer>& offers);
Check examine_memory(size_t slots);
Check examine_disk(const std::string& state_dir, uint64_t cache_bytes);

// "the golden kernel takes 1.218 ms; its fastest and slowest run differ by 4.3% of that", or "… by 65 times that".
// `spread`: as in farm.proto.
std::string golden_text(double time_ms, double spread);

}  // namespace tf::agent
