#include "device_agent/worker/sandbox_capabilities.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/remedy.h"
#include "base/status.h"
#include "device_agent/worker/zygote_client.h"

namespace tf::worker {
namespace {

constexpr std::string_view kNames[sandbox::kCapabilityCount] = {
    "user-namespace", "pid-namespace", "net-namespace", "ipc-namespace", "mount-namespace",
    "uts-namespace",  "pids-cgroup",   "memory-cgroup", "seccomp",       "landlock"};

constexpr std::string_view kNamespaceAdvice =
    "allow user namespaces (sysctl user.max_user_namespaces above 0; on Debian "
    "kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; "
    "containers need a seccomp profile that allows unshare; qemu-user has none)";
constexpr std::string_view kCgroupAdvice =
    "start it in its own control group: Delegate=yes in its systemd unit, or systemd-run --user --scope -p "
    "Delegate=yes COMMAND; or start it as root";

std::string_view advice_for(Capability capability) {
  switch (capability) {
    case Capability::kUserNamespace:
    case Capability::kPidNamespace:
    case Capability::kNetNamespace:
    case Capability::kIpcNamespace:
    case Capability::kMountNamespace:
    case Capability::kUtsNamespace:
      break;
    case Capability::kPidsCgroup:
    case Capability::kMemoryCgroup:
      return kCgroupAdvice;
    case Capability::kSeccomp:
      return "run a kernel with CONFIG_SECCOMP_FILTER; emulators such as qemu-user have no seccomp";
    case Capability::kLandlock:
      return "run Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK, and landlock in the boot option lsm=";
  }
  return kNamespaceAdvice;
}

template <typename Has>
CapabilitySet all_that(Has has) {
  CapabilitySet set;
  for (uint32_t i = 0; i < sandbox::kCapabilityCount; ++i) {
    if (has(kNames[i])) set.add(static_cast<Capability>(i));
  }
  return set;
}

// Of one name or group; empty if there is no such.
CapabilitySet named(std::string_view name) {
  if (name == "namespaces") return all_that([](std::string_view n) { return n.ends_with("-namespace"); });
  if (name == "cgroup") return all_that([](std::string_view n) { return n.ends_with("-cgroup"); });
  return all_that([&](std::string_view n) { return n == name; });
}

// Once each, in order.
std::vector<std::string> unique(const std::vector<CapabilityState>& states,
                                std::string (*text)(const CapabilityState&)) {
  std::vector<std::string> texts;
  for (const CapabilityState& state : states) {
    if (std::string one = text(state); std::ranges::find(texts, one) == texts.end()) texts.push_back(one);
  }
  return texts;
}

}  // namespace

std::string_view capability_name(Capability capability) {
  return kNames[static_cast<uint32_t>(capability)];
}

std::vector<std::string> capability_names(CapabilitySet set) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < sandbox::kCapabilityCount; ++i) {
    if (set.contains(static_cast<Capability>(i))) names.emplace_back(kNames[i]);
  }
  return names;
}

CapabilitySet all_capabilities() {
  return all_that([](std::string_view) { return true; });
}

bool confines(CapabilitySet missing) {
  if (!missing.contains(Capability::kSeccomp) || !missing.contains(Capability::kLandlock)) return true;
  return std::ranges::none_of(std::array{Capability::kUserNamespace, Capability::kPidNamespace,
                                         Capability::kNetNamespace, Capability::kMountNamespace},
                              [&](Capability capability) { return missing.contains(capability); });
}

absl::StatusOr<SandboxPolicy> parse_without_sandbox(std::string_view list, const SandboxPolicy& otherwise) {
  if (list.empty()) return otherwise;
  if (list == "nothing") return SandboxPolicy{};
  SandboxPolicy policy;
  for (const absl::string_view name :
       absl::StrSplit(absl::string_view(list.data(), list.size()), ',', absl::SkipWhitespace())) {
    const CapabilitySet set = named({name.data(), name.size()});
    policy.without.bits |= set.bits;
    policy.without_missing |= name == "missing";
    if (!set.empty() || name == "missing") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the sandbox has no layer '", name,
                     "'; --without-sandbox accepts nothing, missing, or a list of namespaces, cgroup, ",
                     absl::StrJoin(capability_names(all_capabilities()), ", ")));
  }
  return policy;
}

MissingText missing_text(const std::vector<CapabilityState>& missing) {
  CapabilitySet set;
  for (const CapabilityState& state : missing) set.add(state.capability);
  const std::vector<std::string> names = capability_names(set);
  const auto reasons = unique(missing, [](const CapabilityState& state) { return state.reason; });
  const auto advice = unique(missing, [](const CapabilityState& state) { return state.advice; });
  return {.truth = absl::StrCat(absl::StrJoin(names, ", "), " (", absl::StrJoin(reasons, "; "), ")"),
          .remedy = absl::StrJoin(advice, "; "),
          .names = absl::StrJoin(names, ",")};
}

absl::Status refuse_missing(const std::vector<CapabilityState>& missing) {
  const MissingText text = missing_text(missing);
  return with_remedy(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("candidates run in a sandbox, but this machine lacks ", text.truth),
                     absl::StrCat(text.remedy, "; or run without it: --without-sandbox ", text.names));
}

absl::Status check_missing(const SandboxPolicy& policy, const std::vector<CapabilityState>& missing) {
  if (missing.empty() || policy.without_missing) return absl::OkStatus();
  CapabilitySet all = policy.without;
  for (const CapabilityState& state : missing) all.add(state.capability);
  if (policy.own_candidates && confines(all)) return absl::OkStatus();
  return refuse_missing(missing);
}

CapabilityState missing_capability(Capability capability, std::string reason) {
  return {.capability = capability,
          .present = false,
          .reason = std::move(reason),
          .advice = std::string(advice_for(capability))};
}

absl::StatusOr<std::vector<CapabilityState>> missing_capabilities(const std::string& program,
                                                                  CapabilitySet without) {
  std::vector<CapabilityState> missing;
  for (;;) {
    std::vector<CapabilityState> found;
    const absl::Status started = ZygoteClient::start({.path = program}, without, &found).status();
    if (found.empty()) {
      TF_RETURN_IF_ERROR(started);
      return missing;
    }
    // Without a user namespace, root makes the others by its own right: that is to be seen first.
    const auto user = std::ranges::find(found, Capability::kUserNamespace, &CapabilityState::capability);
    if (user != found.end()) found = std::vector{*user};
    for (CapabilityState& state : found) {
      without.add(state.capability);
      missing.push_back(std::move(state));
    }
  }
}

absl::StatusOr<std::vector<CapabilityState>> probe_sandbox(const std::string& program) {
  TF_ASSIGN_OR_RETURN(std::vector<CapabilityState> states, missing_capabilities(program, {}));
  for (uint32_t i = 0; i < sandbox::kCapabilityCount; ++i) {
    const auto capability = static_cast<Capability>(i);
    const bool missing = std::ranges::any_of(
        states, [&](const CapabilityState& state) { return state.capability == capability; });
    if (!missing) states.push_back({.capability = capability, .present = true, .reason = {}, .advice = {}});
  }
  std::ranges::sort(states, {}, &CapabilityState::capability);
  return states;
}

}  // namespace tf::worker
