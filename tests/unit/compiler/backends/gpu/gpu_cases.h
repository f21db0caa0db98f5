#pragma once
// Kernels for GPUs as loop IR, buffers for them, and what the interpreter makes of these: what each dialect is compared with.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/shared_memory.h"
#include "compiler/backends/gpu/gpu_source.h"
#include "compiler/ir/interpret.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/physical.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/gpu/flat.h"
#include "compiler/recipes/gpu/product.h"
#include "compiler/recipes/gpu/rows.h"
#include "compiler/recipes/gpu/stages.h"
#include "compiler/recipes/gpu/transposes.h"
#include "tests/unit/compiler/passes/flat_workloads.h"
#include "tests/unit/compiler/passes/small_workloads.h"
#include "tests/unit/compiler/passes/transposes.h"

namespace tf::backends::test {

inline tensor::Workload matmul(int64_t m, int64_t n, int64_t k, bool epilogue) {
  ops::Builder b;
  const tensor::Buffer x = tf::test::f32_input(b, {m, k});
  tensor::Buffer y = ops::matmul(b, x, tf::test::f32_constant(b, {k, n}));
  if (epilogue) y = ops::relu(b, ops::bias_add(b, y, tf::test::f32_constant(b, {n}), 1));
  return *b.finish({y});
}

inline ir::Function lowered(const tensor::Workload& workload, const schedule::Schedule& schedule,
                            const std::string& name) {
  const auto result = passes::lower(workload, schedule, {},
                                    {.name = name, .pipeline = passes::gpu_pipeline(), .verify_each = true});
  EXPECT_TRUE(result.ok()) << result.status() << "\n" << to_string(schedule);
  return result->function;
}

inline ir::Function lowered(const tensor::Workload& workload, const std::string& name,
                            const recipes::GpuTile& tile = {}) {
  std::vector<recipes::Sketch> sketches = recipes::product_on_gpu({.workload = workload}, tile);
  if (sketches.empty())
    sketches = recipes::stages_on_gpu({.workload = workload, .target = *target::parse_target("opencl")});
  return lowered(workload, recipes::instantiate(sketches.at(0), sketches.at(0).default_point()), name);
}

struct Case {
  std::string name;
  ir::Function function;
  bool has_specials = false;  // NaN and infinities among what it reads
};

// Written by hand: what no operator gives, or none in so few lines.
struct HandWritten {
  const char* name;
  const char* text;
};
inline constexpr HandWritten kHandWritten[] = {
    {"casts beyond the range, and of a NaN",
     R"(function casts(a: f32[64], b: f32[64], c: f32[64], d: f32[64]) {
  for i = 0 extent 64 thread_x {
    b[i] = cast<f32>(cast<u8>((a[i] - 0.6f32) * 1000f32))
    c[i] = cast<f32>(cast<i8>((a[i] - 0.6f32) * 1000f32))
    d[i] = cast<f32>(cast<i32>((a[i] - a[i]) / (a[i] - a[i])))
  }
})"},
    // Of the lowest numbers by -1, 0 and 1; and their sums, which wrap.
    {"divisions that C leaves undefined",
     R"(function divisions(a: f32[64], b: f32[64], c: f32[64], d: f32[64]) {
  for i = 0 extent 64 thread_x {
    b[i] = cast<f32>(cast<i32>(a[i] * -1000000000000f32) // cast<i32>((a[i] - 0.6f32) * 5f32))
    c[i] = cast<f32>(cast<i32>(a[i] * -1000000000000f32) % cast<i32>((a[i] - 0.6f32) * 5f32))
    let x = cast<i64>(a[i] * -1000000000000000000000f32)
    d[i] = cast<f32>(x // cast<i64>((a[i] - 0.6f32) * 5f32) - 9223372036854775807 + -x)
  }
})"},
    {"two launches with memory between them", R"(function two(a: f32[64], b: f32[64]) {
  allocate t: f32[64] {
    for i = 0 extent 8 grid_x { for j = 0 extent 8 thread_x { t[i * 8 + j] = a[63 - (i * 8 + j)] * 2f32 } }
    for k = 0 extent 4 grid_x { for l = 0 extent 16 thread_x { b[k * 16 + l] = t[63 - (k * 16 + l)] + a[0] } }
  }
})"},
    {"a name that is a word of OpenCL C",
     R"(function kernel(a: f32[4]) { for i = 0 extent 4 thread_x { a[i] = 1f32 } })"},
    {"one thread", R"(function one(a: f32[64], b: f32[1]) {
  b[0] = 0f32
  for i = 0 extent 64 { b[0] = b[0] + a[i] }
})"},
    {"scratch of a thread", R"(function scratch(a: f32[64], b: f32[64]) {
  for i = 0 extent 8 thread_x {
    allocate t: f32[8] {
      for j = 0 extent 8 { t[j] = a[i * 8 + j] + 1f32 }
      for j = 0 extent 8 { b[i * 8 + j] = t[7 - j] }
    }
  }
})"},
    {"vectors, aligned and not", R"(function vectors(a: f32[64], b: f32[64], c: f32[64]) {
  for i = 0 extent 8 thread_x {
    b[ramp(i * 8, 1, 8)] = a[ramp(i * 8, 1, 8)] * broadcast(2f32, 8)
    if i < 7 { c[ramp(i * 8 + 1, 1, 8)] = a[ramp(i * 8 + 3, 1, 8)] }
  }
})"},
    {"vectors that overlap what they store", R"(function shift(a: f32[64], b: f32[64]) {
  for i = 0 extent 1 thread_x {
    b[ramp(0, 1, 4)] = a[ramp(0, 1, 4)]
    b[ramp(1, 1, 4)] = b[ramp(0, 1, 4)]
    b[ramp(8, 2, 4)] = a[ramp(3, -1, 4)]
  }
})"},
    {"f16", R"(function halves(a: f16[64], b: f16[64], c: f16[64], d: f32[64]) {
  for i = 0 extent 64 thread_x {
    c[i] = a[i] * b[i] + a[i]
    d[i] = cast<f32>(sqrt(a[i]) - min(a[i], b[i]))
  }
})"},
    {"bf16", R"(function bfloats(a: bf16[64], b: f32[64], c: bf16[64], d: bf16[64]) {
  for i = 0 extent 64 thread_x {
    c[i] = a[i] / (a[i] + a[63 - i])
    d[i] = cast<bf16>(b[i] * 1.0039062f32)
  }
})"},
    {"f64 to narrower floats, rounded once",
     R"(function once(a: f64[64], b: f16[64], c: bf16[64], d: f32[64]) {
  for i = 0 extent 64 thread_x {
    b[i] = cast<f16>(a[i] * 1.00048828125f64)
    c[i] = cast<bf16>(a[i])
    d[i] = cast<f32>(exp(a[i]))
  }
})"},
    {"i64 and bool", R"(function whole(a: i64[64], b: i64[64], c: bool[64], d: i64[64]) {
  for i = 0 extent 64 thread_x {
    b[i] = a[i] * 4611686018427387905 + i
    c[i] = a[i] < i
    d[i] = select(c[i], a[i] // 3, a[i] % -7)
  }
})"},
};

// Named kernel_0, kernel_1, …
inline std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const std::string& name, const tensor::Workload& workload,
                       const recipes::GpuTile& tile) {
    all.push_back({name, lowered(workload, absl::StrCat("kernel_", all.size()), tile)});
  };
  for (const tf::test::SmallWorkload& small : tf::test::small_workloads())
    add(small.name, tf::test::build_small(small), {.threads_m = 4, .threads_n = 4});
  add("product", matmul(64, 32, 32, false), {.threads_m = 8, .threads_n = 8});
  add("odd product", matmul(37, 41, 19, true), {.threads_m = 4, .threads_n = 8, .rows = 3, .reduce = 7});
  add("row", matmul(1, 70, 33, true), {.threads_n = 8});
  // Pipelines of as many, fewer and more steps than tiles; copies of vectors and of single elements; rows of blocks in groups.
  for (const int64_t k : {8, 17, 32, 56})
    for (const int64_t stages : {2, 3})
      add(absl::StrCat("pipeline of ", stages, " over ", k), matmul(19, 24, k, k == 17),
          {.threads_m = 4,
           .threads_n = 8,
           .rows = 2,
           .reduce = 8,
           .stages = stages,
           .fetch = stages == 2 ? 1 : 4,
           .pad = stages == 2 ? 1 : 4,
           .group = 2});
  // Threads that share a row: all of one, and several rows a block; with and without what is kept of a row.
  for (const tf::test::SmallWorkload& small : tf::test::small_workloads()) {
    const tensor::Workload workload = tf::test::build_small(small);
    for (const recipes::Sketch& sketch :
         recipes::rows_on_gpu({.workload = workload, .target = *target::parse_target("opencl")}))
      all.push_back({absl::StrCat(sketch.family, " of ", small.name),
                     lowered(workload, recipes::instantiate(sketch, sketch.default_point()),
                             absl::StrCat("kernel_", all.size()))});
  }
  // Vectors and single elements, several a thread, with a rest.
  for (const tf::test::SmallWorkload& small : tf::test::flat_workloads()) {
    const tensor::Workload workload = tf::test::build_small(small);
    recipes::Sketch sketch =
        recipes::flat_on_gpu({.workload = workload, .target = *target::parse_target("opencl")}).at(0);
    recipes::Point point;  // threads, items, lanes
    for (size_t p = 0; p < sketch.parameters.size(); ++p)
      point.push_back(p % 3 == 2 ? static_cast<uint32_t>(sketch.parameters[p].choices.size()) - 1 : p % 3);
    all.push_back(
        {absl::StrCat("flat: ", small.name),
         lowered(workload, recipes::instantiate(sketch, point), absl::StrCat("kernel_", all.size())), true});
  }
  for (const tf::test::SmallWorkload& small : tf::test::transposes()) {
    const tensor::Workload workload = tf::test::build_small(small);
    const recipes::Sketch sketch =
        recipes::transposes_on_gpu({.workload = workload, .target = *target::parse_target("opencl")}).at(0);
    all.push_back({absl::StrCat("transpose: ", small.name),
                   lowered(workload, recipes::instantiate(sketch, sketch.default_point()),
                           absl::StrCat("kernel_", all.size()))});
  }
  for (const int64_t rows : {1, 3}) {
    ops::Builder b;
    const tensor::Workload workload = *b.finish(
        {ops::reduce(b, ops::ReduceKind::kMean, tf::test::f32_input(b, {rows, 20000}), {1}, rows == 3)});
    const recipes::Sketch sketch = recipes::long_rows_on_gpu({.workload = workload}).at(0);
    all.push_back({absl::StrCat(rows, " long rows"),
                   lowered(workload, recipes::instantiate(sketch, sketch.default_point()),
                           absl::StrCat("kernel_", all.size()))});
  }
  // Terms in parts, which a second launch adds up; a convolution whose matrices are gathered, at once and in parts.
  const auto add_matrices = [&](const std::string& name, const tensor::Workload& workload, int64_t part) {
    const recipes::Sketch sketch =
        recipes::matrix_product_on_gpu({.workload = workload, .target = *target::parse_target("opencl")},
                                       {.threads_m = 4, .threads_n = 8, .rows = 2, .reduce = 8}, part)
            .at(0);
    all.push_back({name, lowered(workload, recipes::instantiate(sketch, sketch.default_point()),
                                 absl::StrCat("kernel_", all.size()))});
  };
  add_matrices("product in parts", matmul(9, 17, 131, true), 32);
  add_matrices("product of fewer terms than parts", matmul(9, 17, 3, false), 1);
  for (const int64_t part : {0, 24}) {
    ops::Builder b;
    const tensor::Buffer y =
        ops::conv(b, tf::test::f32_input(b, {2, 5, 9, 7}), tf::test::f32_constant(b, {6, 5, 3, 3}),
                  {.strides = {2, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
    add_matrices(absl::StrCat("convolution as product in parts of ", part), *b.finish({ops::relu(b, y)}),
                 part);
  }
  // Without any step: each stage is a launch of one thread.
  all.push_back({"product by one thread",
                 lowered(matmul(5, 3, 7, true), schedule::Schedule{}, absl::StrCat("kernel_", all.size()))});
  for (const HandWritten& hand : kHandWritten) {
    absl::StatusOr<ir::Function> function = ir::parse_function(hand.text);
    EXPECT_TRUE(function.ok()) << hand.name << ": " << function.status();
    if (!function.ok()) continue;
    if (function->name != "kernel") function->name = absl::StrCat("kernel_", all.size());
    all.push_back({hand.name, *std::move(function)});
  }
  return all;
}

using Bytes = std::vector<unsigned char>;
using Buffers = std::vector<Bytes>;

inline double value_at(const Bytes& bytes, tensor::Element element, size_t i) {
  using tensor::Element;
  const auto read = [&]<typename T>(T value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  };
  switch (element) {
    case Element::kFloat32:
      return read(float{});
    case Element::kFloat64:
      return read(double{});
    case Element::kBFloat16: {
      const uint32_t bits = uint32_t{read(uint16_t{})} << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    case Element::kFloat16:
      return static_cast<double>(read(_Float16{}));
    default:
      return NAN;
  }
}

inline Buffers random_buffers(const ir::Function& function, bool has_specials = false) {
  using tensor::Element;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0.25, 1);
  Buffers buffers;
  for (const ir::Buffer& param : function.params) {
    const auto count = static_cast<size_t>(tensor::as_int(ir::physical_elements(*param)).value());
    const auto size = static_cast<size_t>(tensor::element_bytes(param->element));
    Bytes bytes(count * size);
    for (size_t i = 0; i < count; ++i) {
      const auto put = [&](auto value) { std::memcpy(bytes.data() + i * size, &value, size); };
      const auto put_low = [&](int64_t value) { std::memcpy(bytes.data() + i * size, &value, size); };
      double x = uniform(random);
      if (has_specials && i % 7 == 3) x = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
      if (param->element == Element::kFloat32)
        put(static_cast<float>(x));
      else if (param->element == Element::kFloat64)
        put(x);
      else if (param->element == Element::kFloat16)
        put(static_cast<_Float16>(x));
      else if (param->element == Element::kBFloat16) {
        const auto value = static_cast<float>(x);
        uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        put(static_cast<uint16_t>(bits >> 16));
      } else if (param->element == Element::kBool)
        put(static_cast<unsigned char>(random() % 2));
      else
        put_low(static_cast<int64_t>(random()) >> (size == 8 ? 20 : 0));
    }
    buffers.push_back(std::move(bytes));
  }
  return buffers;
}

inline void interpret(const ir::Function& function, Buffers& buffers) {
  std::vector<ir::Memory> memory;
  for (Bytes& buffer : buffers) memory.push_back({buffer.data(), buffer.size()});
  const analysis::SharedMemory shared = analysis::plan_shared_memory(function.body);
  const absl::Status status = ir::interpret(function, memory, {}, {.shared_offsets = &shared.offsets});
  ASSERT_TRUE(status.ok()) << status;
}

// Whole numbers are equal; floats are nearly so: sums may be contracted, and functions are the device's.
inline void expect_equal(const ir::Function& function, const Buffers& got, const Buffers& want) {
  for (size_t b = 0; b < got.size(); ++b) {
    const tensor::Element element = function.params[b]->element;
    if (!tensor::is_float(element)) {
      ASSERT_EQ(got[b], want[b]) << "parameter " << b;
      continue;
    }
    const double tolerance = element == tensor::Element::kFloat16    ? 2e-3
                             : element == tensor::Element::kBFloat16 ? 1e-2
                                                                     : 1e-4;
    for (size_t i = 0; i < got[b].size() / static_cast<size_t>(tensor::element_bytes(element)); ++i) {
      const double x = value_at(got[b], element, i), y = value_at(want[b], element, i);
      if ((std::isnan(x) && std::isnan(y)) || x == y) continue;
      ASSERT_NEAR(x, y, tolerance * std::max(1.0, std::fabs(y))) << "parameter " << b << ", element " << i;
    }
  }
}

// The numbers of a launch that does not depend on dims.
struct LaunchNumbers {
  std::string entry;
  long long grid[3], block[3];
  uint32_t shared_bytes;
};
inline std::vector<LaunchNumbers> numbers_of(const GpuSource& source) {
  std::vector<LaunchNumbers> all;
  for (const Launch& launch : source.launches) {
    LaunchNumbers& numbers = all.emplace_back();
    numbers.entry = launch.entry;
    numbers.shared_bytes = static_cast<uint32_t>(std::stoul(launch.shared_bytes));
    for (size_t axis = 0; axis < 3; ++axis) {
      numbers.grid[axis] = std::stoll(launch.grid[axis]);
      numbers.block[axis] = std::stoll(launch.block[axis]);
    }
  }
  return all;
}

}  // namespace tf::backends::test
