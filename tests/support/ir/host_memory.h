#pragma once
// Tensors of any element type in host memory, filled from and read back as doubles, in any layout.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"
#include "compiler/schedule/schedule.h"

namespace tf::test {

using Bytes = std::vector<std::byte>;

// Of a buffer whose extents are constants.
std::vector<int64_t> extents_of(const tensor::Buffer& buffer);

// Values as the element type stores them (rounded, wrapped), one after another.
Bytes encode(ir::Element element, std::span<const double> values);
std::vector<double> decode(ir::Element element, std::span<const std::byte> bytes);

// Seeded values in [low, high], each exactly representable; whole numbers for integers.
std::vector<double> random_values(ir::Element element, int64_t count, uint64_t seed, double low = -1,
                                  double high = 1);

// Row-major values in the layout's physical order, padding 0; and back. Layouts without swizzle.
std::vector<double> pack(const ir::Layout& layout, std::span<const int64_t> extents,
                         std::span<const double> values);
std::vector<double> unpack(const ir::Layout& layout, std::span<const int64_t> extents,
                           std::span<const double> values);

// Row-major f32 values after the maps; `extents` are the values' and become the result's.
std::vector<double> map_axes(const std::vector<schedule::AxisMap>& maps, std::vector<int64_t>& extents,
                             std::span<const double> values);

// The sums of row-major values of bytes; `extents` are the values' and become the result's.
std::vector<double> sum_axes(const schedule::ConstantSums& sums, std::vector<int64_t>& extents,
                             std::span<const double> values);

// Interprets the function on the parameters' physical values and gives them back as they are afterwards.
absl::StatusOr<std::vector<std::vector<double>>> interpret_values(const ir::Function& function,
                                                                  std::vector<std::vector<double>> params,
                                                                  std::span<const int64_t> dims = {});

}  // namespace tf::test
