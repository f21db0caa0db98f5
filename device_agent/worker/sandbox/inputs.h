#pragma once
// Owns: the inputs of a trial, from a counter-based generator: an element's value depends on (seed, port,
// logical index) alone, so that every layout and every device sees the same tensor.

#include <cstdint>

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Fills `row_major` (port.logical_bytes) with uniform values of the port's domain: [low, high) for floating
// point, low..high with both ends for integers. SplitMix64 (Steele, Lea, Flood 2014) keyed by seed and
// stream.
void fill_input(const PortJob& port, uint64_t seed, uint64_t stream, void* row_major);

// A pattern that no answer has: NaN for floating point, 0xA5 bytes for integers.
void poison_output(const PortJob& port, void* physical);

}  // namespace tf::worker::sandbox
