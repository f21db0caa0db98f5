#pragma once
// Owns: what daemons take from their surroundings: where they keep state, and what a test asks of them.

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace tf::rpc {

// ~/.local/state/tunefarm (or under $XDG_STATE_HOME), where daemons keep their state unless told otherwise.
// Read in main only.
std::string default_state_folder();

// A connection takes a descriptor, and a process that does not ask may often have 1024: raises the soft limit
// to the hard one. How many that is; fewer than are wanted are a warning in the log.
uint64_t allow_descriptors(uint64_t wanted);

// What a test asks of this process by its environment: TF_EVENT_LOG=FILE (base/testing/event_log.h) and
// TF_FAILPOINTS=SPEC (base/testing/failpoint.h). In main only, before threads start. Their errors.
absl::Status obey_test_environment(const std::string& program);

}  // namespace tf::rpc
