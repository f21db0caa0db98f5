#pragma once
// Owns: the convolutions and matrix products of a network, as kernels like those of the table. Does not know:
// how they are compared.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/kernels/kernel_table.h"

namespace tf::peers {

// Each distinct one once, after the graph's optimisation, in order of first use. Left out, with a line on
// stderr: products of more than one pair of matrices and convolutions that are not two-dimensional, square
// and of batch 1. Errors: the import's.
absl::StatusOr<std::vector<bench::Kernel>> network_kernels(const std::string& model_path);

}  // namespace tf::peers
