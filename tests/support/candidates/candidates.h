#pragma once
// Artifacts made with the system's C compiler, good and hostile: for tests of whatever runs or ships
// candidates, without our compiler. The computation is Y[M,N] = X[M,K] * W[K,N]; the entries are in
// tests/support/kernels/candidates.c and hostile.c.

#include <array>
#include <string>

#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::test {

struct Extents {
  int64_t m = 17, n = 31, k = 13;
};

// A manifest and the shared object, with `entry` as the only launch. "reference" gets its magnitude port.
tunefarm::kernel::v1::Artifact candidate(const std::string& entry, Extents extents = {});

// The same computation in a device's code.
struct DeviceCode {
  std::string target;  // as "opencl"
  tunefarm::kernel::v1::BlobKind kind;
  std::string code;  // of a kernel `product`, with the pointers x, w and y
  std::array<int, 2> grid, block;
  Extents extents = {};
};
tunefarm::kernel::v1::Artifact device_candidate(const DeviceCode& code);

// What its shared object does while it is loaded (tests/support/kernels/constructor.c).
enum class Constructor { kSegfaults = 1, kExits = 2, kSpins = 3, kClosesDescriptors = 4, kReadsFiles = 5 };
// Candidate "good", but with this constructor.
tunefarm::kernel::v1::Artifact candidate_with(Constructor constructor);

// serialized() is deterministic, so that equal artifacts have equal digests.
std::string serialized(const tunefarm::kernel::v1::Artifact& artifact);
std::string digest_of(const std::string& serialized_artifact);

// A trial of these two with short times: 3 samples of 1 ms, 5 s and 256 MiB at most. `reference` may be
// empty.
tunefarm::farm::v1::Trial trial_of(const std::string& serialized_candidate,
                                   const std::string& serialized_reference);

}  // namespace tf::test
