#pragma once
// Owns: the names of the sandbox's layers, which of them this machine has, and what to do about the others.
// Does not know: what runs in the sandbox.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "device_agent/worker/sandbox/capability.h"

namespace tf::worker {

using sandbox::Capability;
using sandbox::CapabilitySet;

// As in "pid-namespace".
std::string_view capability_name(Capability capability);

// Of all in the set, in order.
std::vector<std::string> capability_names(CapabilitySet set);

// All that there are.
CapabilitySet all_capabilities();

// What a worker may go without. By default nothing: if a layer is missing, it does not start.
struct SandboxPolicy {
  CapabilitySet without;         // not even tried
  bool without_missing = false;  // and whatever else this machine lacks
  // Candidates come from our own compiler on this machine, and run as the user who asked for them. Then
  // missing layers are acceptable as long as some layer confines a candidate (see confines()).
  bool own_candidates = false;
};

// For candidates that this machine's user had made by our own compiler, as opposed to code from others.
constexpr SandboxPolicy kOwnCandidates = {.without = {}, .without_missing = false, .own_candidates = true};

// Whether, with these layers missing, one remains that keeps a candidate from files, other processes and the
// network: seccomp, Landlock, or the user, pid, net and mount namespaces together. Resource limits and the
// deadline hold on every machine and are not counted.
bool confines(CapabilitySet missing);

// A list as in "seccomp,cgroup": names of capabilities, the groups "namespaces" and "cgroup", "missing", or
// "nothing" alone, which demands the whole sandbox. An empty list gives `otherwise`. INVALID_ARGUMENT names
// the valid values.
absl::StatusOr<SandboxPolicy> parse_without_sandbox(std::string_view list,
                                                    const SandboxPolicy& otherwise = {});

struct CapabilityState {
  Capability capability;
  bool present = false;
  std::string reason;  // why it is missing
  std::string advice;  // what to do about it
};

// The missing layers in one text, and what to do about them in another. Equal reasons and advice appear once.
struct MissingText {
  std::string truth;   // "pids-cgroup, memory-cgroup (REASON)"
  std::string remedy;  // "start it in a control group …"
  std::string names;   // "pids-cgroup,memory-cgroup", as --without-sandbox takes them
};
MissingText missing_text(const std::vector<CapabilityState>& missing);

// FAILED_PRECONDITION, in one line, with what is missing and what to do. `missing` is not empty.
absl::Status refuse_missing(const std::vector<CapabilityState>& missing);

// OK if the policy accepts that these layers are missing; else refuse_missing().
absl::Status check_missing(const SandboxPolicy& policy, const std::vector<CapabilityState>& missing);

// With the advice for that capability.
CapabilityState missing_capability(Capability capability, std::string reason);

// What this machine lacks beside what is left out: found by starting `program`, again without what was
// missing until it starts, because what comes later may depend on it. Errors as probe_sandbox().
absl::StatusOr<std::vector<CapabilityState>> missing_capabilities(const std::string& program,
                                                                  CapabilitySet without);

// Tries every capability by making a sandbox and looking whether it holds; none is taken for granted from a
// version. In the enum's order. Takes some 10 ms; changes nothing. `program` as in WorkerOptions. NOT_FOUND
// if it is not there.
absl::StatusOr<std::vector<CapabilityState>> probe_sandbox(const std::string& program = {});

}  // namespace tf::worker
