// What stands for integer instructions that a CPU lacks, on this CPU, which has them: scalar and vector,
// against C++'s own arithmetic over edges, ties and random numbers.

#include "compiler/backends/llvm/expand_integers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/backends/llvm/link.h"
#include "compiler/backends/llvm/machine.h"
#include "compiler/tensor/saturate.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::backends {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr IntegerUnit kNarrow{.wide = false, .divides = true};
constexpr IntegerUnit kNone{.wide = false, .divides = false};
constexpr IntegerUnit kRoundsTwice{.rounds_once = false};

template <typename T>
std::string type_name() {
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, double>) return "double";
  return absl::StrCat("i", 8 * sizeof(T));
}

// As LLVM's names of intrinsics end.
template <typename T>
std::string suffix(int lanes) {
  const std::string scalar =
      std::is_floating_point_v<T> ? absl::StrCat("f", 8 * sizeof(T)) : absl::StrCat("i", 8 * sizeof(T));
  return lanes == 1 ? absl::StrCat(".", scalar) : absl::StrCat(".v", lanes, scalar);
}

// A function of LLVM's that applies the operation to `lanes` elements of memory.
template <typename In, typename Out>
std::string text_of(const std::string& operation, int lanes) {
  const auto type = [&](const std::string& scalar) {
    return lanes == 1 ? scalar : absl::StrCat("<", lanes, " x ", scalar, ">");
  };
  const std::string declaration =
      operation.find("@llvm") == operation.npos ? "" : "declare $U @llvm.fptosi.sat$S($T)\n";
  return absl::StrReplaceAll(absl::StrCat(declaration,
                                          "define void @f(ptr %x, ptr %y, ptr %z) nounwind {\n"
                                          "  %a = load $T, ptr %x, align 1\n"
                                          "  %b = load $T, ptr %y, align 1\n"
                                          "  %c = ",
                                          operation,
                                          "\n  store $U %c, ptr %z, align 1\n"
                                          "  ret void\n}\n"),
                             {{"$T", type(type_name<In>())},
                              {"$U", type(type_name<Out>())},
                              {"$S", suffix<Out>(lanes) + suffix<In>(lanes)}});
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// The function f of that module, its integers expanded, as code of this machine.
std::unique_ptr<support::LoadedKernel> load(const std::string& text, const IntegerUnit& unit) {
  const auto machine = make_machine(target::host_target());
  EXPECT_TRUE(machine.ok()) << machine.status();
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_NE(module, nullptr) << problem.getMessage().str() << "\n" << text;
  if (!module || !machine.ok()) return nullptr;
  module->setTargetTriple((*machine)->getTargetTriple().str());
  module->setDataLayout((*machine)->createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  expand_integers(*module, unit);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs())) << text_of(*module);
  EXPECT_THAT(text_of(*module), Not(HasSubstr("%c =")));
  optimize(*module, **machine);
  const absl::StatusOr<std::string> object = to_machine_code(*module, **machine, false);
  EXPECT_TRUE(object.ok()) << object.status();
  if (!object.ok()) return nullptr;
  const absl::StatusOr<std::string> shared = link_shared(*object, target::host_target());
  EXPECT_TRUE(shared.ok()) << shared.status();
  if (!shared.ok()) return nullptr;
  auto loaded = support::LoadedKernel::load(*shared, "f");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

template <typename In>
using Pairs = std::vector<std::pair<In, In>>;

// $T, $U: the types of operands and result; $S: what an intrinsic's name ends in.
template <typename In, typename Out, typename F>
void expect_same(const std::string& operation, const IntegerUnit& unit, const Pairs<In>& pairs,
                 const F& reference) {
  for (const size_t lanes : {1, 4}) {
    const std::string text = text_of<In, Out>(operation, static_cast<int>(lanes));
    SCOPED_TRACE(text);
    const auto loaded = load(text, unit);
    ASSERT_NE(loaded, nullptr);
    using Function = void(const In*, const In*, Out*);
    auto* function = reinterpret_cast<Function*>(reinterpret_cast<void*>(loaded->entry()));
    for (size_t at = 0; at < pairs.size(); at += lanes) {
      In a[4], b[4];
      Out got[4];
      for (size_t lane = 0; lane < lanes; ++lane)
        std::tie(a[lane], b[lane]) = pairs[std::min(at + lane, pairs.size() - 1)];
      function(a, b, got);
      for (size_t lane = 0; lane < lanes; ++lane) {
        const Out want = reference(a[lane], b[lane]);
        ASSERT_EQ(std::memcmp(&got[lane], &want, sizeof want), 0)
            << +a[lane] << ", " << +b[lane] << " give " << +got[lane] << ", not " << +want;
      }
    }
  }
}

// Powers of two and the middles between floats, the numbers around them, and random ones of every length.
std::vector<int64_t> integers() {
  std::vector<int64_t> all;
  const auto add = [&](uint64_t v) {
    for (uint64_t near = v - 2; near != v + 3; ++near) {
      all.push_back(static_cast<int64_t>(near));
      all.push_back(static_cast<int64_t>(0 - near));
    }
  };
  for (int shift = 0; shift < 64; ++shift) {
    add(uint64_t{1} << shift);
    if (shift + 24 < 64) add(((uint64_t{1} << 24) + 1) << shift);
    if (shift + 24 < 64) add(((uint64_t{1} << 24) + 3) << shift);
    if (shift + 53 < 64) add(((uint64_t{1} << 53) + 1) << shift);
    if (shift + 53 < 64) add(((uint64_t{1} << 53) + 3) << shift);
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) all.push_back(static_cast<int64_t>(random()) >> random() % 64);
  return all;
}

template <typename T>
Pairs<T> alone(const std::vector<T>& values) {
  Pairs<T> pairs;
  for (const T value : values) pairs.emplace_back(value, value);
  return pairs;
}

TEST(ExpandIntegers, WideIntegersBecomeTheNearestFloats) {
  const auto values = alone(integers());
  expect_same<int64_t, float>("sitofp $T %a to $U", kNarrow, values,
                              [](int64_t a, int64_t) { return static_cast<float>(a); });
  expect_same<int64_t, double>("sitofp $T %a to $U", kNarrow, values,
                               [](int64_t a, int64_t) { return static_cast<double>(a); });
}

TEST(ExpandIntegers, WideIntegersAreRoundedToFloatsOnce) {
  expect_same<int64_t, float>("sitofp $T %a to $U", kRoundsTwice, alone(integers()),
                              [](int64_t a, int64_t) { return static_cast<float>(a); });
}

// Special ones, those around each power of two, and random bits.
template <typename T, typename Bits>
std::vector<T> floats() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> all = {
      0, Limits::quiet_NaN(), Limits::infinity(), Limits::max(), Limits::min(), Limits::denorm_min()};
  for (int exponent = -3; exponent < 70; ++exponent) {
    const T power = std::ldexp(T{1}, exponent);
    for (const T v : {power, std::nextafter(power, T{0}), std::nextafter(power, Limits::max()),
                      power * T{1.5}, power + T{0.5}, power - T{0.5}})
      all.push_back(v);
  }
  std::mt19937_64 random(12);
  for (int i = 0; i < 20000; ++i) {
    all.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
    all.push_back(std::ldexp(static_cast<T>(random()), -static_cast<int>(random() % 64)));
  }
  const size_t positive = all.size();
  for (size_t i = 0; i < positive; ++i) all.push_back(-all[i]);
  return all;
}

TEST(ExpandIntegers, FloatsAreCutOffToWideIntegersAndSaturate) {
  expect_same<float, int64_t>("call $U @llvm.fptosi.sat$S($T %a)", kNarrow, alone(floats<float, uint32_t>()),
                              [](float a, float) { return tensor::saturate<int64_t>(a); });
  expect_same<double, int64_t>("call $U @llvm.fptosi.sat$S($T %a)", kNarrow,
                               alone(floats<double, uint64_t>()),
                               [](double a, double) { return tensor::saturate<int64_t>(a); });
}

// Each of `values` by each of some and by random ones; never by zero.
Pairs<int64_t> wide_pairs() {
  const std::vector<int64_t> values = integers();
  std::mt19937_64 random(13);
  Pairs<int64_t> pairs;
  for (const int64_t a : values) {
    for (const int64_t b :
         {int64_t{1}, int64_t{-1}, int64_t{7}, int64_t{1} << 32, (int64_t{1} << 53) + 1, INT64_MIN, INT64_MAX,
          a, values[random() % values.size()], static_cast<int64_t>(random()) >> random() % 64})
      if (b != 0) pairs.emplace_back(a, b);
  }
  return pairs;
}

// By -1 C++ cannot divide the lowest number.
int64_t quotient(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}

int64_t remainder(int64_t a, int64_t b) {
  return b == -1 ? 0 : a % b;
}

TEST(ExpandIntegers, WideQuotientsAndRemaindersAreExact) {
  const Pairs<int64_t> pairs = wide_pairs();
  const auto as_unsigned = [](int64_t v) { return static_cast<uint64_t>(v); };
  for (const IntegerUnit& unit : {kNarrow, kNone}) {
    expect_same<int64_t, int64_t>("sdiv $T %a, %b", unit, pairs, quotient);
    expect_same<int64_t, int64_t>("srem $T %a, %b", unit, pairs, remainder);
    expect_same<int64_t, int64_t>("udiv $T %a, %b", unit, pairs, [&](int64_t a, int64_t b) {
      return static_cast<int64_t>(as_unsigned(a) / as_unsigned(b));
    });
    expect_same<int64_t, int64_t>("urem $T %a, %b", unit, pairs, [&](int64_t a, int64_t b) {
      return static_cast<int64_t>(as_unsigned(a) % as_unsigned(b));
    });
  }
}

template <typename T>
void expect_narrow_division(const Pairs<T>& pairs) {
  const bool is_signed = std::is_signed_v<T>;
  expect_same<T, T>(is_signed ? "sdiv $T %a, %b" : "udiv $T %a, %b", kNone, pairs,
                    [](T a, T b) { return static_cast<T>(quotient(a, b)); });
  expect_same<T, T>(is_signed ? "srem $T %a, %b" : "urem $T %a, %b", kNone, pairs,
                    [](T a, T b) { return static_cast<T>(remainder(a, b)); });
}

template <typename T>
Pairs<T> all_pairs_of_bytes() {
  Pairs<T> pairs;
  for (int a = 0; a < 256; ++a) {
    for (int b = 1; b < 256; ++b) pairs.emplace_back(static_cast<T>(a), static_cast<T>(b));
  }
  return pairs;
}

// The lowest by -1 is among them.
template <typename T>
Pairs<T> words() {
  Pairs<T> pairs;
  for (const auto& [a, b] : wide_pairs()) {
    const std::pair<T, T> pair(static_cast<T>(a), static_cast<T>(b));
    if (pair.second != 0) pairs.push_back(pair);
  }
  return pairs;
}

TEST(ExpandIntegers, NarrowQuotientsByFloatsAreExact) {
  expect_narrow_division(all_pairs_of_bytes<int8_t>());
  expect_narrow_division(all_pairs_of_bytes<uint8_t>());
  expect_narrow_division(words<int32_t>());
  expect_narrow_division(words<uint32_t>());
}

TEST(ExpandIntegers, LeavesWhatTheCpuDoesAndNarrowDivisionsByConstants) {
  const auto after = [](const std::string& type, const std::string& operation, const IntegerUnit& unit) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic problem;
    const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
        absl::StrReplaceAll("define $T @f($T %a, $T %b) {\n  %c = $O\n  ret $T %c\n}\n",
                            {{"$T", type}, {"$O", operation}}),
        problem, context);
    EXPECT_NE(module, nullptr) << problem.getMessage().str();
    expand_integers(*module, unit);
    return text_of(*module);
  };
  EXPECT_THAT(after("i32", "sdiv i32 %a, 7", kNone), HasSubstr("sdiv i32 %a, 7"));
  EXPECT_THAT(after("i32", "sdiv i32 %a, %b", kNarrow), HasSubstr("sdiv i32 %a, %b"));
  EXPECT_THAT(after("i64", "sdiv i64 %a, %b", {}), HasSubstr("sdiv i64 %a, %b"));
  EXPECT_THAT(after("i64", "sdiv i64 %a, 7", kNarrow), HasSubstr("call i64 @tf.udiv64("));
}

TEST(ExpandIntegers, OnlyArmsProcessorsLackInstructions) {
  const auto unit = [](const char* name) {
    const auto machine = make_machine(*target::parse_target(name));
    EXPECT_TRUE(machine.ok()) << machine.status();
    const IntegerUnit found = integer_unit(**machine);
    return std::tuple(found.wide, found.divides, found.rounds_once);
  };
  EXPECT_EQ(unit("x86_64"), std::tuple(true, true, true));
  EXPECT_EQ(unit("aarch64"), std::tuple(true, true, false));
  EXPECT_EQ(unit("armv7"), std::tuple(false, false, true));
  EXPECT_EQ(unit("armv7:cpu=cortex-a9"), std::tuple(false, false, true));
  EXPECT_EQ(unit("armv7:cpu=cortex-a7"), std::tuple(false, true, true));
  EXPECT_EQ(unit("armv7:cpu=cortex-a15"), std::tuple(false, true, true));
}

}  // namespace
}  // namespace tf::backends
