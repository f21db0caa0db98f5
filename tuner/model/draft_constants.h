#pragma once
// Owns: what the draft model takes from measurements instead of from the loop nests, under names, so that it
// can be fitted anew. Does not know: what it is used for, programs.

#include <span>
#include <string_view>

namespace tf::model {

// From what share of a cache on lines are lost between two uses, and over how much more all of them are: the
// replacement is not strictly the least recently used, and other data is read beside.
struct Room {
  double low = 1, width = 1;
};

// Of a Zen 4: what is expected of it, and as far from that as recorded candidates of every family in
// tests/bench/search insist, by order and by time. They have seen these families: how they rank those says
// less of a family that nobody recorded.
struct DraftConstants {
  double spill_cycles = 20;            // of a tile with any accumulator in memory
  double spill_each = 1;               // and of each that is
  double window_spill = 2;             // of each value that unrolled turns share and registers cannot keep
  double free_broadcast = 0.025;       // loads; it is an operand of the multiply-add
  double row_broadcast_cycles = 0.16;  // of one that feeds several vectors: an instruction more
  double gathered_lane = 5;            // loads
  double accumulator_cycles = 2;       // to clear and to hand on, a reduction
  double wanted_share = 1;             // how far an edge tile's time follows the work left in it
  double window = 200;                 // vector operations that are under way at once
  double fma_latency = 4.2;            // cycles until an accumulator can be used again
  double long_code = 0.03;             // of the time, each time the unrolled code doubles
  double short_code = 96;              // vector operations
  double guarded_reduction = 1.05;     // a condition in each turn
  double overlap = 0.144;              // of the shorter of computing and moving data, what stays visible
  double written = 0.8;                // of a line that is stored to, against one that is loaded
  // Cache lines from each level: bytes a cycle, and cycles more for each run of lines beside each other,
  // until prefetchers follow. They hold where they were fitted, and say little of the caches by themselves.
  double l2_bytes = 43, l2_run = 2.9;
  double l3_bytes = 27, l3_run = 4.8;
  double memory_bytes = 10, memory_run = 50;
  // A first cache also serves what is read beside the lines.
  Room l1 = {0.475, 0.5}, l2 = {0.88, 0.4}, shared = {0.9, 0.4};
  Room l1_sets = {1.1, 1.5}, l2_sets = {1, 1};  // of lines that crowd into few sets
};

struct NamedConstant {
  std::string_view name;
  double& (*of)(DraftConstants&);
};
// All of them.
std::span<const NamedConstant> draft_constants();

}  // namespace tf::model
