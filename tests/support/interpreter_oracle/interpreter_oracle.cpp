#include "tests/support/interpreter_oracle/interpreter_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "base/status.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/backends/llvm/link.h"
#include "compiler/ir/equal.h"
#include "compiler/ir/interpret.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/physical.h"
#include "compiler/ir/print.h"
#include "compiler/passes/passes.h"
#include "tests/support/foreign_code/foreign_code.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::backends {
namespace {

using tensor::Element;

// f16 and bf16 as bits: enough of a conversion for tests, checked against tensor::round_to_element by the
// oracle.
double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  int mantissa = bits & 1023;
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double element_value(Element element, const uint8_t* p) {
  auto read = [&]<typename T>(T v) {
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (element) {
    case Element::kBool:
    case Element::kUInt8:
      return read(uint8_t{});
    case Element::kInt8:
      return read(int8_t{});
    case Element::kInt16:
      return read(int16_t{});
    case Element::kUInt16:
      return read(uint16_t{});
    case Element::kInt32:
      return read(int32_t{});
    case Element::kUInt32:
      return read(uint32_t{});
    case Element::kInt64:
      return static_cast<double>(read(int64_t{}));
    case Element::kUInt64:
      return static_cast<double>(read(uint64_t{}));
    case Element::kFloat16:
      return half_value(read(uint16_t{}));
    case Element::kBFloat16: {
      uint32_t bits = uint32_t{read(uint16_t{})} << 16;
      float v;
      std::memcpy(&v, &bits, sizeof v);
      return v;
    }
    case Element::kFloat32:
      return read(float{});
    case Element::kFloat64:
      return read(double{});
  }
  return 0;
}

// As people read it; integers of 64 bits have more digits than a double.
std::string element_text(Element element, const uint8_t* p) {
  if (tensor::is_float(element)) return std::to_string(element_value(element, p));
  if (tensor::element_bytes(element) < 8)
    return std::to_string(static_cast<int64_t>(element_value(element, p)));
  int64_t value = 0;
  std::memcpy(&value, p, sizeof value);
  return element == Element::kInt64 ? std::to_string(value) : std::to_string(static_cast<uint64_t>(value));
}

// Random elements; floats of 16 bits are random bits, of moderate exponents unless the range is wide.
class Filler {
 public:
  Filler(const OracleOptions& options, uint32_t seed) : options_(options), random_(seed) {}

  void fill(Element element, support::AlignedBytes& bytes) {
    uint64_t size = static_cast<uint64_t>(tensor::element_bytes(element));
    const bool edges = options_.edges && !tensor::is_float(element) && element != Element::kBool;
    for (uint64_t at = 0; at + size <= bytes.size(); at += size) {
      if (edges)
        edge(element, at / size, bytes.data() + at);
      else
        one(element, bytes.data() + at);
    }
    if (edges) edge_step_ *= kEdges;
  }

 private:
  static constexpr uint64_t kEdges = 6;
  template <typename T>
  static T edge_of(uint64_t which) {
    using L = std::numeric_limits<T>;
    const T all[kEdges] = {L::min(), static_cast<T>(-1), 0, L::max(), 1, static_cast<T>(L::min() + 1)};
    return all[which];
  }
  // Those of the first parameter change from element to element, those of the second once all were seen.
  void edge(Element element, uint64_t index, uint8_t* p) {
    const uint64_t which = index / edge_step_ % kEdges;
    if (element == Element::kInt8) return put(p, edge_of<int8_t>(which));
    if (element == Element::kUInt8) return put(p, edge_of<uint8_t>(which));
    if (element == Element::kInt16) return put(p, edge_of<int16_t>(which));
    if (element == Element::kUInt16) return put(p, edge_of<uint16_t>(which));
    if (element == Element::kInt32) return put(p, edge_of<int32_t>(which));
    if (element == Element::kUInt32) return put(p, edge_of<uint32_t>(which));
    if (element == Element::kUInt64) return put(p, edge_of<uint64_t>(which));
    put(p, edge_of<int64_t>(which));
  }

  template <typename T>
  void put(uint8_t* p, T v) {
    std::memcpy(p, &v, sizeof v);
  }
  template <typename T>
  void put_float(uint8_t* p, double v) {
    using L = std::numeric_limits<T>;
    const T specials[] = {L::quiet_NaN(), L::infinity(), -L::infinity(), T(0),
                          -T(0),          L::max(),      L::lowest(),    L::min()};
    put(p, options_.special_values && random_() % 3 == 0 ? specials[random_() % 8] : static_cast<T>(v));
  }
  // Any number of the type for a special one.
  template <typename T>
  void put_integer(uint8_t* p, int64_t v) {
    T integer = static_cast<T>(options_.special_values ? static_cast<int64_t>(random_()) : v);
    if (options_.nonzero && integer == 0) integer = 3;
    put(p, integer);
  }
  // Exponents from -5 to 4, as sums of larger numbers would overflow, or up to that of a wide range's end.
  uint16_t half_bits(uint32_t fraction_bits, int bias) {
    const int end = std::min(std::ilogb(std::max(options_.high, 1.0)), bias);
    const uint32_t exponents = end < 10 ? 10 : static_cast<uint32_t>(end) + 6;
    const uint32_t exponent = static_cast<uint32_t>(bias - 5) + random_() % exponents;
    return static_cast<uint16_t>((random_() % 2 << 15) | (exponent << fraction_bits) |
                                 random_() % (1U << fraction_bits));
  }
  void one(Element element, uint8_t* p) {
    double v = std::uniform_real_distribution<double>(options_.low, options_.high)(random_);
    int64_t integer = static_cast<int64_t>(v);
    if (options_.nonzero && integer == 0) integer = 3;
    switch (element) {
      case Element::kBool:
        return put<uint8_t>(p, random_() % 2);
      case Element::kInt8:
        return put_integer<int8_t>(p, integer);
      case Element::kUInt8:
        return put_integer<uint8_t>(p, integer);
      case Element::kInt16:
        return put_integer<int16_t>(p, integer);
      case Element::kUInt16:
        return put_integer<uint16_t>(p, integer);
      case Element::kInt32:
        return put_integer<int32_t>(p, integer);
      case Element::kUInt32:
        return put_integer<uint32_t>(p, integer);
      case Element::kInt64: {
        // The ends, and numbers beside the middle of two f32 or of two f64.
        const int64_t specials[] = {INT64_MIN,
                                    INT64_MAX,
                                    -1,
                                    (int64_t{1} << 24) + 1,
                                    (int64_t{1} << 53) + 1,
                                    -(int64_t{1} << 53) - 1,
                                    (int64_t{1} << 62) + (int64_t{1} << 38) + 1,
                                    -(int64_t{1} << 62) - (int64_t{1} << 38) + 1};
        return put(p, options_.special_values && random_() % 3 == 0 ? specials[random_() % 8] : integer);
      }
      case Element::kUInt64: {
        // As above, and on both sides of where i64 ends.
        const uint64_t specials[] = {UINT64_MAX,
                                     uint64_t{1} << 63,
                                     (uint64_t{1} << 63) - 1,
                                     (uint64_t{1} << 24) + 1,
                                     (uint64_t{1} << 53) + 1,
                                     (uint64_t{1} << 63) + (uint64_t{1} << 39) + 1,
                                     (uint64_t{1} << 63) + 1025,
                                     UINT64_MAX - (uint64_t{1} << 39)};
        return put(p, options_.special_values && random_() % 3 == 0 ? specials[random_() % 8]
                                                                    : static_cast<uint64_t>(integer));
      }
      case Element::kFloat16: {
        const uint16_t specials[] = {0x7e00, 0x7c00, 0xfc00, 0, 0x8000, 0x7bff, 0x0001, 0x83ff};
        const uint16_t bits = half_bits(10, 15);
        return put<uint16_t>(p,
                             options_.special_values && random_() % 3 == 0 ? specials[random_() % 8] : bits);
      }
      case Element::kBFloat16: {
        const uint16_t specials[] = {0x7fc0, 0x7f80, 0xff80, 0, 0x8000, 0x7f7f, 0x0080, 0x8080};
        const uint16_t bits = half_bits(7, 127);
        return put<uint16_t>(p,
                             options_.special_values && random_() % 3 == 0 ? specials[random_() % 8] : bits);
      }
      case Element::kFloat32:
        return put_float<float>(p, v);
      case Element::kFloat64:
        return put_float<double>(p, v);
    }
  }

  const OracleOptions& options_;
  std::mt19937 random_;
  uint64_t edge_step_ = 1;
};

using Buffers = std::vector<std::unique_ptr<support::AlignedBytes>>;

Buffers make_buffers(const ir::Function& function, const OracleOptions& options) {
  tensor::Substitution values;
  for (size_t i = 0; i < function.dims.size(); ++i)
    values[function.dims[i].var.get()] = tensor::imm(options.dims.at(i));
  Buffers buffers;
  Filler filler(options, 7);
  for (const ir::Buffer& param : function.params) {
    tensor::Expr elements = tensor::substitute(ir::physical_elements(*param), values);
    uint64_t count = static_cast<uint64_t>(tensor::as_int(elements).value());
    buffers.push_back(std::make_unique<support::AlignedBytes>(
        count * static_cast<uint64_t>(tensor::element_bytes(param->element))));
    filler.fill(param->element, *buffers.back());
  }
  return buffers;
}

bool close(Element element, double got, double want, double tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return true;
  if (std::isinf(want) || std::isinf(got) || tolerance == 0) return false;
  double coarse = element == Element::kFloat16 ? 0x1p-10 : element == Element::kBFloat16 ? 0x1p-7 : tolerance;
  // Contraction may round once where the oracle rounds twice.
  return std::abs(got - want) <= std::max(coarse, tolerance) * std::max(1.0, std::abs(want));
}

// The first difference in the buffers that are there, or "".
std::string difference(const ir::Function& function, const Buffers& got, const Buffers& want,
                       double tolerance) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == nullptr) continue;
    const ir::BufferNode& param = *function.params[i];
    if (!got[i]->guards_intact()) return "writes outside of " + param.name;
    uint64_t size = static_cast<uint64_t>(tensor::element_bytes(param.element));
    for (uint64_t at = 0; at + size <= got[i]->size(); at += size) {
      double g = element_value(param.element, got[i]->data() + at);
      double w = element_value(param.element, want[i]->data() + at);
      const bool same = std::memcmp(got[i]->data() + at, want[i]->data() + at, size) == 0;
      if (!same && !(tensor::is_float(param.element) && close(param.element, g, w, tolerance))) {
        return param.name + "[" + std::to_string(at / size) + "] is " +
               element_text(param.element, got[i]->data() + at) + ", the interpreter says " +
               element_text(param.element, want[i]->data() + at);
      }
    }
  }
  return "";
}

// On this machine, or under an emulator if it is for another processor.
absl::StatusOr<int32_t> compile_and_call(const ir::Function& function, const target::Target& target,
                                         const Buffers& buffers, const OracleOptions& options) {
  std::vector<support::AlignedBytes*> pointers;
  for (const auto& buffer : buffers) pointers.push_back(buffer.get());
  if (target.arch == target::host_target().arch) {
    TF_ASSIGN_OR_RETURN(const support::CompiledKernel kernel, support::compile_for(function, target));
    return support::call_kernel(kernel, pointers, options.dims, options.threads);
  }
  TF_ASSIGN_OR_RETURN(const KernelCode code, compile(function, target));
  TF_ASSIGN_OR_RETURN(std::string shared, link_shared(code.object, target));
  return support::call_foreign({.shared_object = std::move(shared),
                                .symbol = function.name,
                                .workspace_bytes = code.workspace_bytes,
                                .workspace_per_thread_bytes = code.workspace_per_thread_bytes},
                               target, pointers, options.dims, options.threads);
}

}  // namespace

std::vector<std::string> runnable_targets() {
  target::Target host = target::host_target();
  if (host.arch != target::Arch::kX86_64) return {"host"};
  std::vector<std::string> targets = {"x86_64"};
  if (host.has("sse4.2")) targets.push_back("x86_64:cpu=x86-64-v2");
  if (host.has("avx2")) targets.push_back("x86_64:cpu=x86-64-v3");
  if (host.has("avx512vl")) targets.push_back("x86_64:cpu=x86-64-v4");
  return targets;
}

namespace {

// With the output in the bytes of that parameter.
void expect_agrees_in_place(const ir::Function& function, const target::Target& target, int input,
                            const Buffers& want, const OracleOptions& options) {
  if (target.arch != target::host_target().arch) return;  // an emulator's buffers are copies
  const absl::StatusOr<support::CompiledKernel> kernel = support::compile_for(function, target);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  Buffers got = make_buffers(function, options);
  std::vector<support::AlignedBytes*> pointers;
  for (const auto& buffer : got) pointers.push_back(buffer.get());
  pointers.back() = pointers[static_cast<size_t>(input)];
  ASSERT_EQ(support::call_kernel(*kernel, pointers, options.dims, options.threads), TF_KERNEL_OK);
  std::swap(got[static_cast<size_t>(input)], got.back());
  got[static_cast<size_t>(input)] = nullptr;
  ASSERT_EQ(difference(function, got, want, options.tolerance), "")
      << target.text() << ", parameter " << input << " in place\n"
      << ir::to_string(function);
}

}  // namespace

void expect_agrees(const ir::Function& function, const OracleOptions& options) {
  expect_agrees_with(function, passes::hoist_loads(function), options);
}

void expect_agrees_with(const ir::Function& meant, const ir::Function& function,
                        const OracleOptions& options) {
  Buffers want = make_buffers(function, options);
  std::vector<ir::Memory> memory;
  for (const auto& buffer : want) memory.push_back({buffer->data(), buffer->size()});
  absl::Status status = ir::interpret(meant, memory, options.dims);
  ASSERT_TRUE(status.ok()) << status << "\n" << ir::to_string(function);

  std::optional<std::string> missing;
  for (const std::string& name : options.targets.empty() ? runnable_targets() : options.targets) {
    absl::StatusOr<target::Target> target = target::parse_target(name);
    ASSERT_TRUE(target.ok()) << target.status();
    if (target->arch != target::host_target().arch) {
      if (auto reason = support::missing_emulator(*target)) {
        missing = std::move(reason);
        continue;
      }
    }
    Buffers got = make_buffers(function, options);
    const absl::StatusOr<int32_t> code = compile_and_call(function, *target, got, options);
    ASSERT_TRUE(code.ok()) << name << ": " << code.status() << "\n" << ir::to_string(function);
    ASSERT_EQ(*code, TF_KERNEL_OK) << name << "\n" << ir::to_string(function);
    ASSERT_EQ(difference(function, got, want, options.tolerance), "") << name << "\n"
                                                                      << ir::to_string(function);
    for (const int input : function.in_place) expect_agrees_in_place(function, *target, input, want, options);
  }
  // Last, so that the targets that can run here were checked.
  if (missing) GTEST_SKIP() << *missing;
}

void expect_agrees(std::string_view text, const OracleOptions& options) {
  absl::StatusOr<ir::Function> function = ir::parse_function(text);
  ASSERT_TRUE(function.ok()) << function.status() << "\n" << text;
  absl::StatusOr<ir::Function> again = ir::parse_function(ir::to_string(*function));
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << ir::to_string(*function);
  EXPECT_TRUE(ir::equal(*function, *again)) << ir::to_string(*again);
  expect_agrees(*function, options);
}

}  // namespace tf::backends
