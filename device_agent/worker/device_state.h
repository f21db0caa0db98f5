#pragma once
// Owns: reading from the OS what this machine is (model, features, caches) and what it is like now (clock,
// temperature, governor, load). Does not know: trials.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tunefarm::farm::v1 {
class DeviceState;
}

namespace tf::worker {

// Those of `others` that are as near to the same memory as all `cpus`; none if `cpus` is empty.
std::vector<int> near_cpus(const std::vector<int>& cpus, const std::vector<int>& others);

// Thread-safe. What does not change is read once.
class DeviceProbe {
 public:
  // `cpus` are those that candidates run on; empty: all. `root` stands before the paths of /proc and /sys: a
  // copy of another machine's files, or "".
  explicit DeviceProbe(std::vector<int> cpus, std::string root = "");
  ~DeviceProbe();

  // What the OS does not tell stays 0 or empty.
  tunefarm::farm::v1::DeviceState read() const;

  // Size of one core's L2 cache; 1 MiB where the OS does not tell.
  uint64_t l2_bytes() const { return l2_bytes_; }
  // Size of the last cache before memory, which cores may share; that of L2 where the OS tells of no other.
  uint64_t last_cache_bytes() const { return last_cache_bytes_; }

 private:
  const std::vector<int> cpus_;
  const std::string root_;
  uint64_t l2_bytes_ = 0;
  uint64_t last_cache_bytes_ = 0;
  std::unique_ptr<const tunefarm::farm::v1::DeviceState> fixed_;
};

}  // namespace tf::worker
