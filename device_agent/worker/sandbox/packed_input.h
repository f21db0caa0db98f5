#pragma once
// Owns: an input as a kernel reads it: made in logical order, then mapped, narrowed and packed as its port says. Does not
// know: where it goes.

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Fills `physical` (the port's size_bytes). False if there is no memory for what is made on the way.
bool make_input(const Job& job, uint32_t port, uint8_t* physical);

}  // namespace tf::worker::sandbox
