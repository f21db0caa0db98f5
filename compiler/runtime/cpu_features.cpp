#include "compiler/runtime/cpu_features.h"

#include <string.h>

#include "compiler/runtime/model_types.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif
#if defined(__riscv)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

#define TF_MISSING(name)                                                         \
  "this CPU or its operating system lacks " name                                 \
  ", which the model needs: build the model for this machine (`compiler build` " \
  "--target host)"

#if defined(__x86_64__)

enum Source { kLeaf1Ecx, kLeaf7Ebx, kLeaf7Ecx, kLeaf7Edx, kLeaf7Sub1Eax, kExtendedLeaf1Ecx, kSources };

// Registers that the operating system saves, as XCR0 tells.
constexpr uint64_t kNone = 0, kYmm = 0x6, kZmm = 0xe6;

struct Feature {
  const char* name;
  const char* text;
  Source source;
  uint32_t bits;
  uint64_t saved;
};

constexpr uint32_t bit(int number) {
  return uint32_t{1} << number;
}

#define TF_FEATURE(name, source, bits, saved) \
  { name, TF_MISSING(name), source, bits, saved }

// Bits as in Intel's manual, volume 2A, CPUID, and AMD's, volume 3, appendix E.
constexpr Feature kFeatures[] = {
    TF_FEATURE("sse4.2", kLeaf1Ecx, bit(0) | bit(9) | bit(19) | bit(20), kNone),
    TF_FEATURE("popcnt", kLeaf1Ecx, bit(23), kNone),
    TF_FEATURE("avx", kLeaf1Ecx, bit(28), kYmm),
    TF_FEATURE("avx2", kLeaf7Ebx, bit(5), kYmm),
    TF_FEATURE("fma", kLeaf1Ecx, bit(12), kYmm),
    TF_FEATURE("f16c", kLeaf1Ecx, bit(29), kYmm),
    TF_FEATURE("bmi", kLeaf7Ebx, bit(3), kNone),
    TF_FEATURE("bmi2", kLeaf7Ebx, bit(8), kNone),
    TF_FEATURE("lzcnt", kExtendedLeaf1Ecx, bit(5), kNone),
    TF_FEATURE("movbe", kLeaf1Ecx, bit(22), kNone),
    TF_FEATURE("gfni", kLeaf7Ecx, bit(8), kNone),
    TF_FEATURE("avxvnni", kLeaf7Sub1Eax, bit(4), kYmm),
    TF_FEATURE("avx512f", kLeaf7Ebx, bit(16), kZmm),
    TF_FEATURE("avx512bw", kLeaf7Ebx, bit(30), kZmm),
    TF_FEATURE("avx512cd", kLeaf7Ebx, bit(28), kZmm),
    TF_FEATURE("avx512dq", kLeaf7Ebx, bit(17), kZmm),
    TF_FEATURE("avx512vl", kLeaf7Ebx, bit(31), kZmm),
    TF_FEATURE("avx512vnni", kLeaf7Ecx, bit(11), kZmm),
    TF_FEATURE("avx512vbmi", kLeaf7Ecx, bit(1), kZmm),
    TF_FEATURE("avx512vbmi2", kLeaf7Ecx, bit(6), kZmm),
    TF_FEATURE("avx512ifma", kLeaf7Ebx, bit(21), kZmm),
    TF_FEATURE("avx512bitalg", kLeaf7Ecx, bit(12), kZmm),
    TF_FEATURE("avx512vpopcntdq", kLeaf7Ecx, bit(14), kZmm),
    TF_FEATURE("avx512bf16", kLeaf7Sub1Eax, bit(5), kZmm),
    TF_FEATURE("avx512fp16", kLeaf7Edx, bit(23), kZmm),
};

struct Machine {
  uint32_t registers[kSources];
  uint64_t saved;  // XCR0
};

Machine read_machine() {
  Machine machine = {};
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d)) machine.registers[kLeaf1Ecx] = c;
  constexpr uint32_t kReadsXcr0 = bit(27);  // OSXSAVE
  if (machine.registers[kLeaf1Ecx] & kReadsXcr0) {
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    machine.saved = (uint64_t{high} << 32) | low;
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    machine.registers[kLeaf7Ebx] = b;
    machine.registers[kLeaf7Ecx] = c;
    machine.registers[kLeaf7Edx] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) machine.registers[kLeaf7Sub1Eax] = a;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) machine.registers[kExtendedLeaf1Ecx] = c;
  return machine;
}

bool has(const Machine& machine, const Feature& feature) {
  return (machine.registers[feature.source] & feature.bits) == feature.bits &&
         (machine.saved & feature.saved) == feature.saved;
}

#else

// Where the kernel tells of a feature; kAlways: every processor of the architecture has it.
enum Source { kAlways, kHwcap, kHwcap2, kRiscvProbe, kSources };

struct Feature {
  const char* name;
  const char* text;
  Source source;
  int bit;
};

#define TF_FEATURE(name, source, bit) \
  { name, TF_MISSING(name), source, bit }

#if defined(__aarch64__)
// Bits as in Linux's arch/arm64/include/uapi/asm/hwcap.h.
constexpr Feature kFeatures[] = {
    TF_FEATURE("neon", kHwcap, 1),   TF_FEATURE("fullfp16", kHwcap, 10), TF_FEATURE("dotprod", kHwcap, 20),
    TF_FEATURE("bf16", kHwcap2, 14), TF_FEATURE("i8mm", kHwcap2, 13),    TF_FEATURE("sve", kHwcap, 22),
};
#elif defined(__arm__)
// Bits as in Linux's arch/arm/include/uapi/asm/hwcap.h.
constexpr Feature kFeatures[] = {TF_FEATURE("neon", kHwcap, 12), TF_FEATURE("vfp4", kHwcap, 16)};
#elif defined(__riscv)
// AT_HWCAP has a bit a letter. For what has no letter, the bits are those of RISCV_HWPROBE_KEY_IMA_EXT_0.
constexpr Feature kFeatures[] = {
    TF_FEATURE("m", kAlways, 0),         TF_FEATURE("a", kAlways, 0), TF_FEATURE("f", kAlways, 0),
    TF_FEATURE("d", kAlways, 0),         TF_FEATURE("c", kAlways, 0), TF_FEATURE("v", kHwcap, 'v' - 'a'),
    TF_FEATURE("zvfh", kRiscvProbe, 30),
};
#else
#error "say which features this processor has"
#endif

struct Machine {
  unsigned long words[kSources];
};

// Linux 6.4 and later: riscv_hwprobe. An older one tells of no extension.
[[maybe_unused]] unsigned long riscv_extensions() {
#if defined(__riscv)
  constexpr long kHwprobe = 258;
  constexpr int64_t kImaExtensions = 4;
  struct {
    int64_t key;
    uint64_t value;
  } pair = {kImaExtensions, 0};
  if (syscall(kHwprobe, &pair, 1ul, 0ul, nullptr, 0u) == 0 && pair.key == kImaExtensions) return pair.value;
#endif
  return 0;
}

Machine read_machine() {
  return {{~0ul, getauxval(AT_HWCAP), getauxval(AT_HWCAP2), riscv_extensions()}};
}

bool has(const Machine& machine, const Feature& feature) {
  return (machine.words[feature.source] >> feature.bit & 1) != 0;
}

#endif

constexpr int32_t kCount = sizeof kFeatures / sizeof kFeatures[0];
static_assert(kCount <= TF_MODEL_MISSING_FEATURE_LAST - TF_MODEL_MISSING_FEATURE + 1);

// Or kCount.
int32_t number_of(const char* name) {
  int32_t number = 0;
  while (number < kCount && strcmp(kFeatures[number].name, name) != 0) ++number;
  return number;
}

}  // namespace

extern "C" {

int32_t tf_missing_feature(const char* names) {
  const Machine machine = read_machine();
  for (const char* name = names; *name != '\0'; name += strlen(name) + 1) {
    const int32_t number = number_of(name);
    if (number == kCount) return TF_MODEL_BAD_LIBRARY;
    if (!has(machine, kFeatures[number])) return TF_MODEL_MISSING_FEATURE + number;
  }
  return TF_MODEL_OK;
}

const char* tf_missing_feature_text(int32_t error) {
  const int32_t number = error - TF_MODEL_MISSING_FEATURE;
  return number >= 0 && number < kCount ? kFeatures[number].text : nullptr;
}

const char* tf_cpu_feature_name(int32_t number) {
  return number >= 0 && number < kCount ? kFeatures[number].name : nullptr;
}

}  // extern "C"
