#pragma once
// Owns: a planned network as people look at it: which kernels it calls, on whose results. Does not know:
// times, where it is shown.

#include <string>

#include "compiler/graph/program/program.h"
#include "compiler/target/target.h"
#include "proto/tune/v1/report.pb.h"

namespace tf::service {

// In order of execution, bodies of branches and loops before the call that runs them; of a very large network the first
// 5000 calls, and of each call 16 nodes. Of a network with open dimensions, the program that is right for all sizes. Kernels are named as in the
// records of that target and so many threads.
tunefarm::tune::v1::NetworkReport network_calls(const graph::Program& program, const target::Target& target,
                                                int threads);

// As a store keeps it: protobuf's mapping.
std::string to_json(const tunefarm::tune::v1::NetworkReport& report);

}  // namespace tf::service
