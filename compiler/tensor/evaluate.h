#pragma once
// Owns: the reference evaluation of a workload in double precision, straight from its definition: the oracle
// that tests compare kernels and the loop-IR interpreter with. Does not know: loop IR, schedules. Slow on
// purpose: nothing in it is clever.

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/tensor/workload.h"

namespace tf::tensor {

// The outputs, row-major, of a bound workload for its inputs (in its order, row-major). Floats of every type
// are computed in double and never rounded; integers wrap as their type says (i64 beyond 2^53 is not exact,
// because buffers hold doubles). INVALID_ARGUMENT: an input's size is wrong or a dimension is unbound.
// INTERNAL: a stage reads outside a buffer.
absl::StatusOr<std::vector<std::vector<double>>> evaluate(const Workload& workload,
                                                          const std::vector<std::vector<double>>& inputs);

// The number of elements of a buffer whose extents are constants.
int64_t element_count(const Buffer& buffer);

}  // namespace tf::tensor
