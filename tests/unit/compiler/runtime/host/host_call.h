#pragma once
// Owns: calling host functions with tensors of any element, whose values tests give and take as doubles. Every buffer is
// as large as it must be and no larger, so that sanitizers find what lies outside.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/model_types.h"
#include "compiler/runtime/narrow.h"

namespace tf::runtime::host_test {

using Extents = std::vector<int64_t>;
using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr int32_t kFloats[] = {TF_ELEMENT_FLOAT16, TF_ELEMENT_BFLOAT16, TF_ELEMENT_FLOAT32,
                               TF_ELEMENT_FLOAT64};
constexpr int32_t kElements[] = {
    TF_ELEMENT_BOOL,    TF_ELEMENT_INT8,     TF_ELEMENT_UINT8,   TF_ELEMENT_INT32,   TF_ELEMENT_INT64,
    TF_ELEMENT_FLOAT16, TF_ELEMENT_BFLOAT16, TF_ELEMENT_FLOAT32, TF_ELEMENT_FLOAT64, TF_ELEMENT_INT16,
    TF_ELEMENT_UINT16,  TF_ELEMENT_UINT32,   TF_ELEMENT_UINT64};

inline bool is_float(int32_t element) {
  return element >= TF_ELEMENT_FLOAT16 && element <= TF_ELEMENT_FLOAT64;
}
inline bool is_signed(int32_t element) {
  return element != TF_ELEMENT_BOOL && element != TF_ELEMENT_UINT8 && element < TF_ELEMENT_UINT16;
}

inline size_t element_bytes(int32_t element) {
  constexpr size_t kBytes[] = {0, 1, 1, 1, 4, 8, 2, 2, 4, 8, 2, 2, 4, 8};
  return kBytes[element];
}

inline int64_t count_of(const Extents& extents) {
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  return count;
}

template <typename T>
void store(T value, uint8_t* at) {
  std::memcpy(at, &value, sizeof value);
}

template <typename T>
T loaded(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Integers wrap around; a bool is whether the value is not 0.
inline void encode(int32_t element, double value, uint8_t* at) {
  const int64_t whole = is_float(element) ? 0 : static_cast<int64_t>(value);
  const auto single = static_cast<float>(is_float(element) ? value : 0);
  uint16_t half = 0;
  switch (element) {
    case TF_ELEMENT_BOOL:
      return store<uint8_t>(value != 0, at);
    case TF_ELEMENT_INT8:
    case TF_ELEMENT_UINT8:
      return store(static_cast<uint8_t>(whole), at);
    case TF_ELEMENT_INT16:
    case TF_ELEMENT_UINT16:
      return store(static_cast<uint16_t>(whole), at);
    case TF_ELEMENT_INT32:
    case TF_ELEMENT_UINT32:
      return store(static_cast<uint32_t>(whole), at);
    case TF_ELEMENT_INT64:
    case TF_ELEMENT_UINT64:
      return store(whole, at);
    case TF_ELEMENT_FLOAT32:
      return store(single, at);
    case TF_ELEMENT_FLOAT64:
      return store(value, at);
    default:
      tf_narrow(element, 1, &single, &half);
      store(half, at);
  }
}

inline double decode_float16(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return fraction != 0 ? kNan : sign * kInfinity;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

inline double decode(int32_t element, const uint8_t* at) {
  switch (element) {
    case TF_ELEMENT_BOOL:
    case TF_ELEMENT_UINT8:
      return loaded<uint8_t>(at);
    case TF_ELEMENT_INT8:
      return loaded<int8_t>(at);
    case TF_ELEMENT_INT16:
      return loaded<int16_t>(at);
    case TF_ELEMENT_UINT16:
      return loaded<uint16_t>(at);
    case TF_ELEMENT_INT32:
      return loaded<int32_t>(at);
    case TF_ELEMENT_UINT32:
      return loaded<uint32_t>(at);
    case TF_ELEMENT_INT64:
      return static_cast<double>(loaded<int64_t>(at));
    case TF_ELEMENT_UINT64:
      return static_cast<double>(loaded<uint64_t>(at));
    case TF_ELEMENT_FLOAT16:
      return decode_float16(loaded<uint16_t>(at));
    case TF_ELEMENT_FLOAT32:
      return loaded<float>(at);
    case TF_ELEMENT_FLOAT64:
      return loaded<double>(at);
    default:
      break;
  }
  uint8_t wide[4] = {0, 0, at[0], at[1]};  // bf16 is f32's upper half
  return loaded<float>(wide);
}

// As the element holds it.
inline double held(int32_t element, double value) {
  uint8_t bytes[8];
  encode(element, value, bytes);
  return decode(element, bytes);
}

struct Tensor {
  int32_t element;
  Extents extents;
  std::unique_ptr<uint8_t[]> bytes;

  Tensor(int32_t element_in, Extents extents_in) : element(element_in), extents(std::move(extents_in)) {
    bytes = std::make_unique<uint8_t[]>(size());
    std::memset(bytes.get(), 0xcd, size());
  }
  Tensor(int32_t element_in, Extents extents_in, const Values& values)
      : Tensor(element_in, std::move(extents_in)) {
    EXPECT_EQ(count_of(extents), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      encode(element, values[i], bytes.get() + i * element_bytes(element));
  }
  size_t size() const { return static_cast<size_t>(count_of(extents)) * element_bytes(element); }

  Values values() const { return values(count_of(extents)); }
  Values values(int64_t count) const {
    Values all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(decode(element, bytes.get() + static_cast<size_t>(i) * element_bytes(element)));
    return all;
  }
};

inline int64_t bits_of(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

using WorkspaceOf = tf_host_workspace (*)(const int64_t* dims);

// Its parallel loops take the iterations from the last to the first.
struct Backwards : tf_runtime {
  static int32_t run(const tf_runtime* self, int64_t count, tf_parallel_task task, void* closure) {
    for (int64_t i = count; i-- > 0;)
      if (const int32_t error = task(closure, i, static_cast<int32_t>(i % self->threads)); error != 0)
        return error;
    return 0;
  }
};

// Calls the function with operands, then results; returns its error.
inline int32_t call(tf_kernel function, WorkspaceOf workspace_of, const std::vector<int64_t>& attributes,
                    const std::vector<Tensor*>& tensors, int32_t threads = 1) {
  std::vector<int64_t> dims = {static_cast<int64_t>(attributes.size())};
  dims.insert(dims.end(), attributes.begin(), attributes.end());
  std::vector<void*> buffers;
  std::vector<uint64_t> sizes;
  for (Tensor* tensor : tensors) {
    dims.push_back(tensor->element);
    dims.push_back(static_cast<int64_t>(tensor->extents.size()));
    dims.insert(dims.end(), tensor->extents.begin(), tensor->extents.end());
    buffers.push_back(tensor->bytes.get());
    sizes.push_back(tensor->size());
  }
  const tf_host_workspace size =
      workspace_of != nullptr ? workspace_of(dims.data()) : tf_host_workspace{0, 0};
  const size_t bytes = size.bytes + static_cast<size_t>(threads) * size.bytes_per_thread;
  const auto workspace = std::make_unique<uint8_t[]>(bytes);
  std::memset(workspace.get(), 0xcd, bytes);
  const tf_runtime runtime = {threads, threads > 1 ? Backwards::run : nullptr};
  const tf_call arguments = {TF_ABI_VERSION, static_cast<uint32_t>(buffers.size()),
                             buffers.data(), sizes.data(),
                             dims.data(),    workspace.get(),
                             &runtime};
  return function(&arguments);
}

inline bool same(double a, double b) {
  return a == b || (a != a && b != b);
}

inline void expect_same(const Values& found, const Values& expected, const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(same(found[i], expected[i]))
        << what << " " << i << ": " << found[i] << ", not " << expected[i];
}

// Small whole numbers, many of them equal; of floats also what is special.
inline Values some_values(int32_t element, int64_t count, std::mt19937& random) {
  Values values;
  for (int64_t i = 0; i < count; ++i) {
    const auto kind = random() % 16;
    double value = static_cast<double>(random() % 9) - (is_signed(element) ? 4 : 0);
    if (is_float(element) && kind < 4)
      value = kind == 0 ? kNan : kind == 1 ? kInfinity : kind == 2 ? -kInfinity : -0.0;
    values.push_back(held(element, value));
  }
  return values;
}

// By row-major index.
struct Places {
  const Extents& extents;

  Extents at(int64_t index) const {
    Extents place(extents.size());
    for (size_t d = extents.size(); d-- > 0; index /= extents[d]) place[d] = index % extents[d];
    return place;
  }
  int64_t index(const Extents& place) const {
    int64_t index = 0;
    for (size_t d = 0; d < extents.size(); ++d) index = index * extents[d] + place[d];
    return index;
  }
};

}  // namespace tf::runtime::host_test
