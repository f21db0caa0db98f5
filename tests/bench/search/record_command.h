#pragma once
// Owns: the order in which pools are filled: the machine, then every task, replicate by replicate. Does not
// know: how a replicate is made.

#include "absl/status/status.h"
#include "tests/bench/search/replay_bench.h"

namespace tf::replay {

// `search_replay record`: until everything is recorded, its minutes are over, or a signal asks to stop
// (CANCELLED); a later call goes on. Other errors: the recorder's, the databases'.
absl::Status record(const Bench& bench);

}  // namespace tf::replay
