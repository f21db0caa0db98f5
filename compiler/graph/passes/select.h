#pragma once
// Owns: operators whose results' sizes depend on their operands' values, of values that are known when the model is
// built. Computed by the runtime's host functions, whose order and ties they have.

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/host_tensor.h"

namespace tf::graph {

// i64 [rank, count]: the places of elements that are not 0, in row-major order.
absl::StatusOr<std::vector<HostTensor>> nonzero_of(const HostTensor& x);

// Each different element once, or each different slice along the axis (-1: elements); its first place; for each of x its
// number among them; how often it occurs. Sorted, or by first place.
absl::StatusOr<std::vector<HostTensor>> unique_of(const HostTensor& x, int64_t axis, bool sorted);

// i64 [count, 3]: batch, class and box of what is selected. Operands: boxes f32 [batches, n, 4], scores f32 [batches,
// classes, n], and one element each: the most of a class (i64), the overlap threshold and the score threshold (f32),
// which counts if `scored`. Boxes are given by two corners, or by their centers.
absl::StatusOr<std::vector<HostTensor>> non_max_suppression_of(std::span<const HostTensor> operands,
                                                               bool centered, bool scored);

}  // namespace tf::graph
