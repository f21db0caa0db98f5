#pragma once
// Owns: the reference evaluation of a workload in double precision, straight from its definition: the oracle
// that tests compare kernels and the loop-IR interpreter with. Does not know: loop IR, schedules. Slow on
// purpose: nothing in it is clever.

#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/tensor/workload.h"

namespace tf::tensor {

// A tensor's elements, row-major: doubles if its element type is a float, else whole numbers (bool is 0 or
// 1).
using Values = std::variant<std::vector<double>, std::vector<int64_t>>;

// The outputs of a bound workload for its inputs, in its order. Floats of every type are computed in double
// and never rounded. Whole numbers are exact and wrap as their types do. INVALID_ARGUMENT: an input has the
// wrong kind or number of elements, or a dimension is unbound. INTERNAL: a stage reads outside a buffer.
absl::StatusOr<std::vector<Values>> evaluate_exactly(const Workload& workload,
                                                     const std::vector<Values>& inputs);

// The same with all values as doubles, which do not hold whole numbers beyond 2^53.
absl::StatusOr<std::vector<std::vector<double>>> evaluate(const Workload& workload,
                                                          const std::vector<std::vector<double>>& inputs);

// The number of elements of a buffer whose extents are constants.
int64_t element_count(const Buffer& buffer);

}  // namespace tf::tensor
