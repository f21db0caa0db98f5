#include "tests/support/ir/host_memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "base/check.h"
#include "base/status.h"
#include "compiler/ir/interpret.h"
#include "compiler/ir/machine_lanes.h"
#include "compiler/runtime/axis_map.h"
#include "compiler/runtime/layout.h"

namespace tf::test {
namespace {

double representable(ir::Element element, double value) {
  if (tensor::is_float(element)) return tensor::round_to_element(element, value);
  return static_cast<double>(tensor::wrap_to_element(element, static_cast<int64_t>(std::floor(value))));
}

tf_layout parse(const ir::Layout& layout, size_t rank) {
  tf_layout out;
  TF_CHECK(!layout.swizzle && tf_layout_parse(layout.text().c_str(), static_cast<int32_t>(rank), &out) == 0)
      << layout.text();
  return out;
}

bool has_copies(const ir::Function& function) {
  class Find final : public ir::Visitor {
   public:
    bool found = false;

   protected:
    bool enter(const ir::Stmt& stmt) override { return !(found = found || ir::as<ir::AsyncCopy>(stmt)); }
    bool enter(const ir::Expr&) override { return false; }
  };
  Find find;
  find(function.body);
  return find.found;
}

}  // namespace

std::vector<int64_t> extents_of(const tensor::Buffer& buffer) {
  std::vector<int64_t> extents;
  for (const tensor::Expr& extent : buffer->extents) extents.push_back(tensor::as_int(extent).value());
  return extents;
}

Bytes encode(ir::Element element, std::span<const double> values) {
  Bytes out(values.size() * static_cast<size_t>(tensor::element_bytes(element)));
  ir::machine::with_lane(element, [&](auto lane) {
    using L = decltype(lane);
    for (size_t i = 0; i < values.size(); ++i)
      L::write(out.data() + i * sizeof(typename L::Memory),
               static_cast<typename L::Lane>(representable(element, values[i])));
  });
  return out;
}

std::vector<double> decode(ir::Element element, std::span<const std::byte> bytes) {
  std::vector<double> out(bytes.size() / static_cast<size_t>(tensor::element_bytes(element)));
  ir::machine::with_lane(element, [&](auto lane) {
    using L = decltype(lane);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(L::read(bytes.data() + i * sizeof(typename L::Memory)));
  });
  return out;
}

std::vector<double> random_values(ir::Element element, int64_t count, uint64_t seed, double low,
                                  double high) {
  std::mt19937_64 random(seed);
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    if (tensor::is_float(element))
      out.push_back(representable(element, low + unit * (high - low)));
    else
      out.push_back(representable(
          element, std::floor(low) + std::floor(unit * (std::floor(high) - std::floor(low) + 1))));
  }
  return out;
}

std::vector<double> pack(const ir::Layout& layout, std::span<const int64_t> extents,
                         std::span<const double> values) {
  const tf_layout parsed = parse(layout, extents.size());
  const auto rank = static_cast<int32_t>(extents.size());
  std::vector<double> out(static_cast<size_t>(tf_layout_elements(&parsed, extents.data(), rank)));
  tf_layout_pack(&parsed, extents.data(), rank, sizeof(double), values.data(), out.data());
  return out;
}

std::vector<double> unpack(const ir::Layout& layout, std::span<const int64_t> extents,
                           std::span<const double> values) {
  const tf_layout parsed = parse(layout, extents.size());
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  std::vector<double> out(static_cast<size_t>(count));
  tf_layout_unpack(&parsed, extents.data(), static_cast<int32_t>(extents.size()), sizeof(double),
                   values.data(), out.data());
  return out;
}

std::vector<double> map_axes(const std::vector<schedule::AxisMap>& maps, std::vector<int64_t>& extents,
                             std::span<const double> values) {
  if (maps.empty()) return {values.begin(), values.end()};
  std::vector<tf_axis_map> plain;
  for (const schedule::AxisMap& map : maps) plain.push_back({map.axis, map.rows, map.matrix.data()});
  const auto count = static_cast<int32_t>(plain.size());
  const auto rank = static_cast<int32_t>(extents.size());
  const std::vector<float> source(values.begin(), values.end());
  std::vector<float> first(tf_map_axes_elements(plain.data(), count, extents.data(), rank)),
      second(first.size());
  const float* mapped =
      tf_map_axes(plain.data(), count, extents.data(), rank, source.data(), first.data(), second.data());
  return {mapped, mapped + std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>())};
}

std::vector<double> sum_axes(const schedule::ConstantSums& sums, std::vector<int64_t>& extents,
                             std::span<const double> values) {
  const std::vector<int64_t> from = extents;
  for (const int axis : sums.axes) extents[static_cast<size_t>(axis)] = 1;
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  std::vector<double> out(static_cast<size_t>(count), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t at = 0, stride = 1;
    for (size_t d = from.size(); d-- > 0; rest /= from[d]) {
      if (extents[d] == from[d]) at += rest % from[d] * stride;
      stride *= extents[d];
    }
    out[static_cast<size_t>(at)] += values[i];
  }
  return out;
}

absl::StatusOr<std::vector<std::vector<double>>> interpret_values(const ir::Function& function,
                                                                  std::vector<std::vector<double>> params,
                                                                  std::span<const int64_t> dims) {
  TF_CHECK(params.size() == function.params.size()) << "one list of values a parameter";
  std::vector<Bytes> bytes;
  std::vector<ir::Memory> memory;
  for (size_t i = 0; i < params.size(); ++i) bytes.push_back(encode(function.params[i]->element, params[i]));
  for (Bytes& each : bytes) memory.push_back({each.data(), each.size()});
  const std::vector<Bytes> before = bytes;
  TF_RETURN_IF_ERROR(ir::interpret(function, memory, dims));
  // Where copies arrive at another time, the results are the same.
  std::vector<Bytes> at_once = before;
  for (size_t i = 0; i < at_once.size(); ++i) memory[i].data = at_once[i].data();
  if (has_copies(function)) {
    TF_RETURN_IF_ERROR(ir::interpret(function, memory, dims, {.copies_land_late = false}));
    if (at_once != bytes) return absl::InternalError("asynchronous copies show when they arrive");
  }
  for (size_t i = 0; i < params.size(); ++i) params[i] = decode(function.params[i]->element, bytes[i]);
  return params;
}

}  // namespace tf::test
