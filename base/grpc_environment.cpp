#include "base/grpc_environment.h"

#include <cstdlib>
#include <string_view>

#include "absl/synchronization/mutex.h"

namespace tf {
namespace {

// gRPC 1.51 has no option for the least version of TLS. Of version 1.2's cipher suites it is left this one,
// which needs an RSA key, and a farm's keys are ECDSA: so 1.3 is all that remains, whose suites are not set
// here.
constexpr const char* kSuites = "GRPC_SSL_CIPHER_SUITES";
constexpr const char* kNoneForOurKeys = "ECDHE-RSA-AES256-GCM-SHA384";

}  // namespace

void set_grpc_environment() {
  setenv(kSuites, kNoneForOurKeys, 1);
  setenv("GRPC_VERBOSITY", "NONE", 0);
  // Debian builds Abseil with the search for deadlocks that is meant for debug builds: a graph of all of
  // gRPC's locks behind one lock, updated with each.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

bool grpc_environment_is_set() {
  const char* suites = std::getenv(kSuites);
  return suites && std::string_view(suites) == kNoneForOurKeys;
}

}  // namespace tf
