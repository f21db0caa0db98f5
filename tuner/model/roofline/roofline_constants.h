#pragma once
// Owns: what the roofline model takes from measurements instead of from the loop nests. Does not know: what it is used
// for, programs.

#include "tuner/model/roofline/measured_rates.h"

namespace tf::model {

// From what share of a cache on lines are lost between two uses, and over how much more all of them are: the
// replacement is not strictly the least recently used, and other data is read beside.
struct Room {
  double low = 1, width = 1;
};

// Of a Zen 4: what is expected of it, and as far from that as recorded candidates of every family in
// tests/bench/search insist, by order and by time. They have seen these families: how they rank those says
// less of a family that nobody recorded.
struct RooflineConstants {
  double spill_cycles = 15;            // of a tile with any accumulator in memory
  double spill_each = 0.93;            // and of each that is
  double window_spill = 1.9;           // of each value that unrolled turns share and registers cannot keep
  double free_broadcast = 0.025;       // loads; it is an operand of the multiply-add
  double row_broadcast_cycles = 0.15;  // of one that feeds several vectors: an instruction more
  double gathered_lane = 5;            // loads
  double accumulator_cycles = 2.3;     // to clear and to hand on, a reduction
  double wanted_share = 1;             // how far an edge tile's time follows the work left in it
  double look_ahead = 95;              // instructions, over the end of a reduction
  double fma_latency = 4.8;            // cycles until an accumulator can be used again
  double long_code = 0.045;            // of the time, each time the unrolled code doubles
  double short_code = 73;              // vector operations
  double guarded_reduction = 1.05;     // a condition in each turn
  double overlap = 0.2;                // of computing and moving data that take as long, what both see
  double written = 1;                  // of a line that is stored to, against one that is loaded
  // Cache lines from each level: bytes a cycle, and cycles more for each run of lines beside each other,
  // until prefetchers follow. They say little of the caches by themselves; elsewhere than where they were
  // fitted (FittedOn), the bytes are more or fewer as those are that were measured.
  double l2_bytes = 42, l2_run = 3.2;
  double l3_bytes = 53, l3_run = 3.5;
  double memory_bytes = 11.5, memory_run = 180;
  // A first cache also serves what is read beside the lines.
  Room l1 = {0.53, 0.7}, l2 = {0.87, 0.4}, shared = {0.9, 0.4};
  Room l1_sets = {1.1, 2.1}, l2_sets = {0.92, 1};  // of lines that crowd into few sets
};

// What the calibration kernels (tuner/session/calibrate/calibration.h) read on a machine of the kind that the constants
// were fitted on, and the operations that its core does in a cycle (rates.h). Of a level that was not
// measured there, the constant holds everywhere. The constants were fitted on a Zen 4; the readings are of
// another machine of that kind, whose recorded candidates they rank better than constants fitted to these do.
struct FittedOn {
  MeasuredRates rates;
  double flops_a_cycle = 64;
  bool operator==(const FittedOn&) const = default;
};
inline constexpr FittedOn kFittedOn = {.rates = {.flops_per_s = 1.182e+11,
                                                 .l2_bytes_per_s = 1.156e+11,
                                                 .shared_bytes_per_s = 8.448e+10,
                                                 .memory_bytes_per_s = 2.998e+10},
                                       .flops_a_cycle = 32};

}  // namespace tf::model
