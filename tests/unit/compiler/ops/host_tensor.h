#pragma once
// Owns: plain arrays that tests compute expected answers with, and running a finished builder on them. Does
// not know: any operator.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compiler/ops/builder.h"
#include "compiler/tensor/evaluate.h"

namespace tf::ops {

using Shape = std::vector<int64_t>;

inline int64_t count_of(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

struct HostTensor {
  Shape shape;
  std::vector<double> values;

  // The element at a place; `outside` where the place is not in the tensor.
  double at(const Shape& place, double outside = std::nan("")) const {
    int64_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (place[d] < 0 || place[d] >= shape[d]) return outside;
      offset = offset * shape[d] + place[d];
    }
    return values[static_cast<size_t>(offset)];
  }
};

// Calls f for every place of the shape in row-major order and collects the results.
inline HostTensor generate(const Shape& shape, const std::function<double(const Shape&)>& f) {
  HostTensor out{shape, {}};
  Shape place(shape.size(), 0);
  const int64_t count = count_of(shape);
  for (int64_t n = 0; n < count; ++n) {
    out.values.push_back(f(place));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++place[d] < shape[d]) break;
      place[d] = 0;
    }
  }
  return out;
}

inline HostTensor random_tensor(const Shape& shape, uint32_t seed, double low = -1, double high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> values(low, high);
  return generate(shape, [&](const Shape&) { return values(random); });
}

inline std::vector<Expr> extents_of(const Shape& shape) {
  std::vector<Expr> extents;
  for (int64_t extent : shape) extents.push_back(tensor::imm(extent));
  return extents;
}

inline Buffer input_like(Builder& b, const std::string& name, const HostTensor& x,
                         Element element = Element::kFloat32) {
  return b.input(name, element, extents_of(x.shape));
}

// Finishes the builder, evaluates it, and checks what holds for every workload: its text reads back, and its
// magnitudes are at least its values.
inline HostTensor run(Builder& b, const Buffer& output, const std::vector<HostTensor>& inputs) {
  const absl::StatusOr<Workload> workload = b.finish({output});
  EXPECT_TRUE(workload.ok()) << workload.status();
  if (!workload.ok()) return {};
  const std::string text = tensor::canonical_text(*workload);
  const auto parsed = tensor::parse_workload(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(parsed.ok() ? tensor::canonical_text(*parsed) : "", text);
  std::vector<std::vector<double>> values;
  for (const HostTensor& input : inputs) values.push_back(input.values);
  const auto outputs = tensor::evaluate(tensor::with_magnitudes(*workload), values);
  EXPECT_TRUE(outputs.ok()) << outputs.status() << "\n" << text;
  if (!outputs.ok()) return {};
  for (size_t n = 0; n < (*outputs)[0].size(); ++n)
    EXPECT_GE((*outputs)[1][n], std::fabs((*outputs)[0][n]) * (1 - 1e-6)) << text;
  HostTensor result{{}, (*outputs)[0]};
  for (const Expr& extent : workload->outputs[0]->extents) result.shape.push_back(*tensor::as_int(extent));
  return result;
}

inline void expect_near(const HostTensor& got, const HostTensor& expected, double tolerance = 1e-6) {
  ASSERT_EQ(got.shape, expected.shape);
  ASSERT_EQ(got.values.size(), expected.values.size());
  for (size_t n = 0; n < got.values.size(); ++n) {
    if (std::isinf(expected.values[n])) {
      EXPECT_EQ(got.values[n], expected.values[n]) << "element " << n;
    } else {
      EXPECT_NEAR(got.values[n], expected.values[n], tolerance) << "element " << n;
    }
  }
}

// The error of a builder that was given operands that do not fit.
inline std::string error_of(Builder& b, const Buffer& output) {
  return std::string(b.finish({output}).status().message());
}

}  // namespace tf::ops
