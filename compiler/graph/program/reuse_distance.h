#pragma once
// Owns: how much a network reads and writes between two runs of one of its kernels. Does not know: layouts,
// kernels.

#include "compiler/graph/graph.h"

namespace tf::graph {

// About the distinct bytes that one run of the network touches, and so the reuse distance of its constants
// (Ding, Zhong, "Predicting whole-program locality through reuse distance analysis", PLDI 2003): all
// constants that are read, but of tables only as much as is looked up; and the largest activation, for the
// memory that all share. The nearest of 1 and 1.5 times powers of two, so that networks of about the same
// size share measurements.
uint64_t reuse_distance_bytes(const Graph& graph);

}  // namespace tf::graph
