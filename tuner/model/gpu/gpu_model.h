#pragma once
// Owns: the analytic model of GPUs: seconds of a candidate from its launches, without training, and which candidates no
// device runs. A unit (multiprocessor) is kept busy by arithmetic, by issuing instructions, by requests to shared memory
// and the first cache; the whole device by bytes from L2 and memory. The longest counts, a tenth of the others is
// added, then what nothing hides: waits for memory, barriers, launches. After Pruner's PSA (Qiao et al.), Roller (Zhu et
// al., OSDI 2022) and hidet's table of latencies; only the order of its estimates counts.

#include <array>
#include <cstdint>
#include <span>

#include "compiler/target/target.h"
#include "tuner/model/formulas/value.h"
#include "tuner/model/gpu/launches.h"

namespace tf::model {

// What a device gives in a second, as GpuRates has it: constants, or parameters.
struct GpuPace {
  Value units, flops, l2_bytes, memory_bytes;
};

enum class GpuResource : uint8_t {
  kArithmetic,
  kIssue,     // instructions of any kind
  kRequests,  // to shared memory and the first cache
  kL2,
  kMemory,
  kLatency,  // of loads that nothing hides
  kBarriers,
  kLaunch,
};
inline constexpr size_t kGpuResources = 8;

struct GpuCost {
  Value legal = 1;  // a condition: threads, registers, shared memory, code of sensible size
  Value seconds = 0;
  std::array<Value, kGpuResources> shares;  // of the seconds, how long each is at work: they overlap
  Value resident_blocks = 1;                // of a unit, at the same time
  Value l2_bytes = 0, memory_bytes = 0, flops = 0;
};

GpuCost cost_of(const GpuLaunch& launch, const target::Target& target, const GpuPace& pace);

// Of a kernel: its launches run one after another. The main one is that with most arithmetic.
GpuCost cost_of(std::span<const GpuLaunch> launches, const target::Target& target, const GpuPace& pace);

}  // namespace tf::model
