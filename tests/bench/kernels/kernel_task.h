#pragma once
// Owns: a kernel of the table as a tuning task. Does not know: who tunes it.

#include "compiler/target/target.h"
#include "tests/bench/kernels/kernel_table.h"
#include "tuner/session/task.h"

namespace tf::bench {

// Feature maps are stored as the graph would have them inside a network, and a network's kernel as its own
// has them: by vectors of channels where there are at least as many channels as lanes, else row-major. With
// `row_major` all are.
session::Task task_of(const Kernel& kernel, const target::Target& target, bool row_major);

}  // namespace tf::bench
