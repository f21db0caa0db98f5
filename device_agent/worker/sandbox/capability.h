#pragma once
// Owns: the layers of the sandbox that a host may lack, and the helper process's report about them at its
// start. Plain structs, because the helper uses no other types.

#include <cstdint>

namespace tf::worker::sandbox {

enum class Capability : uint32_t {
  kUserNamespace,
  kPidNamespace,
  kNetNamespace,
  kIpcNamespace,
  kMountNamespace,
  kUtsNamespace,
  kPidsCgroup,
  kMemoryCgroup,
  kSeccomp,
  kLandlock,
};
constexpr uint32_t kCapabilityCount = 10;

struct CapabilitySet {
  uint32_t bits = 0;

  constexpr bool contains(Capability capability) const {
    return (bits >> static_cast<uint32_t>(capability) & 1) != 0;
  }
  constexpr void add(Capability capability) { bits |= 1u << static_cast<uint32_t>(capability); }
  constexpr bool empty() const { return bits == 0; }
  friend constexpr bool operator==(CapabilitySet, CapabilitySet) = default;
};

// The first message to the helper, sent when it is in its control group: the layers to leave out.
struct Setup {
  CapabilitySet without;
};

// The helper's answer. A capability that was not left out is active if its errno is 0. If any is not active,
// the helper exits.
struct Hello {
  int32_t errors[kCapabilityCount];

  int32_t& operator[](Capability capability) { return errors[static_cast<uint32_t>(capability)]; }
};

}  // namespace tf::worker::sandbox
