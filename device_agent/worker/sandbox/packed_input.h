#pragma once
// Owns: generating an input as a kernel reads it: in logical order first, then mapped, narrowed and packed as
// its port says. Does not know: where it is stored.

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Fills `physical` (the port's size_bytes). False if there is not enough memory for intermediate results.
bool make_input(const Job& job, uint32_t port, uint8_t* physical);

}  // namespace tf::worker::sandbox
