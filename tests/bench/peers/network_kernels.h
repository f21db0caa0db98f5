#pragma once
// Owns: the distinct kernels of networks, as kernels like those of the table. Does not know: how they are
// compared.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "tests/bench/kernels/kernel_table.h"

namespace tf::peers {

// Every task of the network after the graph's optimisation, that is what `compiler tasks` lists, in order of
// first use. Names start with the network's; of two that would be the same the later has the name of its node
// at its end. Errors: the planner's.
absl::StatusOr<std::vector<bench::Kernel>> network_kernels(const std::string& network, graph::Graph imported,
                                                           int64_t lanes);

// Of ONNX files. Errors: the import's, too.
absl::StatusOr<std::vector<bench::Kernel>> model_kernels(const std::string& model_path, int64_t lanes);

// Without those of networks' kernels that a network before has too: the same computation between the same
// layouts.
void keep_distinct(std::vector<bench::Kernel>& kernels);

// By families, in their order; within one the order stays.
void sort_by_family(std::vector<bench::Kernel>& kernels);

}  // namespace tf::peers
