#pragma once
// Owns: what the launches of a scheduled kernel ask of a GPU, as values: blocks, threads, registers, shared memory, and
// of each access its requests and the memory that they touch. Of a schedule's state they are constants, of a sketch's
// formulas over its choices. Does not know: rates, times.

#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"
#include "tuner/model/formulas/reading.h"

namespace tf::model {

inline constexpr double kWarpLanes = 32, kSectorBytes = 32, kBankRowBytes = 128;

struct GpuAccess {
  tensor::Scope scope = tensor::Scope::kGlobal;
  bool is_store = false;
  int element_bytes = 4;
  Value requests = 0;       // of one thread in a run of the kernel
  Value request_bytes = 4;  // of one lane
  // Of one request of a warp: in shared memory how often its banks are read, in global memory the lines of 128 bytes;
  // and the sectors of 32 bytes.
  Value passes = 1, sectors = 1;
  Value useful_bytes = 128;  // of a request of a warp, each byte once
  // Distinct bytes, in whole sectors: of one block; and how many times as much all blocks along an axis of the grid
  // touch.
  Value block_bytes = 0;
  Value along[3] = {1, 1, 1};
  Value all_bytes() const { return block_bytes * along[0] * along[1] * along[2]; }
};

// A stage, as each thread of its launch runs it.
struct GpuNest {
  std::string stage;
  bool is_staging = false;  // its threads fill shared memory together
  Value turns = 1;          // of one thread
  Value copies = 1;         // of them, code that is unrolled
  Value vector = 1;         // lanes of its vector loops
  double flops_per_turn = 0;
  bool is_reduction = false;
  Value runs = 1;                   // of a stage that fills shared memory: how often a block waits for it
  Value accumulators = 0;           // registers that it keeps for a stage
  Value operands = 0;               // registers of what one step loads
  std::vector<GpuAccess> accesses;  // the store last
};

struct GpuLaunch {
  std::string stage;  // the outermost
  Value grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  Value shared_bytes = 0;
  Value registers = 0;  // of one thread, by estimate
  std::vector<GpuNest> nests;
  Value blocks() const { return grid[0] * grid[1] * grid[2]; }
  Value threads() const { return block[0] * block[1] * block[2]; }
  Value warps() const { return ceil(threads() / kWarpLanes); }
};

// One for each stage at the outermost level, in order.
std::vector<GpuLaunch> launches_of(const schedule::State& state, const tensor::PortLayouts& ports,
                                   const Reading& reading = {});

}  // namespace tf::model
