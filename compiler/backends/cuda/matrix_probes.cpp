#include "compiler/backends/cuda/matrix_probes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/gpu/matrix_text.h"

namespace tf::backends {
namespace {

using tensor::Element;
using tensor_units::kLanes;
using tensor_units::TensorUnit;

// Numbers that every element type holds, in two passes: the number's lower part, then its upper, each from 1 on.
constexpr int kPassNumbers = 64, kPasses = 2;
int number_of(int position, int pass) {
  return (pass == 0 ? position % kPassNumbers : position / kPassNumbers) + 1;
}

// The bits of a small whole number as an element.
const char* bits_of(Element element) {
  switch (element) {
    case Element::kFloat16:  // of 1 … 64: exponent and the bits behind the first
      return "unsigned e = 0; while ((x >> (e + 1)) != 0) ++e; return x == 0 ? 0u : ((e + 15) << 10 | (x - "
             "(1u << e)) << (10 - "
             "e));";
    case Element::kBFloat16:
      return "return __float_as_uint((float)x) >> 16;";
    case Element::kFloat32:
      return "return __float_as_uint((float)x);";
    default:
      return "return x;";
  }
}

constexpr char kUnitProbe[] = R"(
extern "C" __global__ void __launch_bounds__(32) probe_$NAME($C* out) {
  const int lane = threadIdx.x;
  for (int pass = 0; pass < $PASSES; ++pass)
    for (int holder = 0; holder < 32; ++holder)
      for (int element = 0; element < $A_COUNT; ++element) {
        $REGISTER a[$A_REGISTERS], b[$B_REGISTERS];
        $C c[$C_COUNT];
        for (int i = 0; i < $A_REGISTERS; ++i) a[i] = 0;
        for (int i = 0; i < $B_REGISTERS; ++i) b[i] = 0;
        for (int i = 0; i < $C_COUNT; ++i) c[i] = 0;
        for (int i = 0; i < $A_COUNT; ++i) $PUT_A
        for (int i = 0; i < $B_COUNT; ++i) {
          const int position = lane * $B_COUNT + i;
          const unsigned number = (pass == 0 ? position % $NUMBERS : position / $NUMBERS) + 1;
          $PUT_B
        }
        $MULTIPLY(c, a, b);
        for (int i = 0; i < $C_COUNT; ++i)
          out[(((pass * 32 + holder) * $A_COUNT + element) * 32 + lane) * $C_COUNT + i] = c[i];
      }
}
)";

MatrixProbe probe_of(const TensorUnit& unit) {
  const GpuDialect& dialect = cuda_dialect();
  const bool wide = unit.a_element == Element::kFloat64;
  const int packed = tensor_units::elements_in_register(unit.a_element);
  const int bits = 8 * tensor::element_bytes(unit.a_element);
  const auto put = [&](const char* array, const std::string& value) {
    if (wide) return absl::StrCat(array, "[i] = ", value, ";");
    return absl::StrCat(array, "[i / ", packed, "] |= probe_bits(", value, ") << (i % ", packed, " * ",
                        bits % 32, ");");
  };
  MatrixFunctions functions;
  const std::string multiply = functions.multiply(unit);
  MatrixProbe probe{.name = std::string(unit.name), .entry = absl::StrCat("probe_", std::string(unit.name))};
  probe.element = unit.c_element;
  probe.source = absl::StrCat(
      functions.text(dialect), probe_bits_text(unit.a_element),
      absl::StrReplaceAll(kUnitProbe, {{"$NAME", std::string(unit.name)},
                                       {"$C_COUNT", absl::StrCat(unit.c.elements())},
                                       {"$C", value_type(dialect, unit.c_element)},
                                       {"$PASSES", absl::StrCat(kPasses)},
                                       {"$NUMBERS", absl::StrCat(kPassNumbers)},
                                       {"$REGISTER", register_type(unit.a_element)},
                                       {"$A_REGISTERS", absl::StrCat(unit.a.elements() / packed)},
                                       {"$B_REGISTERS", absl::StrCat(unit.b.elements() / packed)},
                                       {"$A_COUNT", absl::StrCat(unit.a.elements())},
                                       {"$B_COUNT", absl::StrCat(unit.b.elements())},
                                       {"$PUT_A", put("a", "(lane == holder && i == element ? 1u : 0u)")},
                                       {"$PUT_B", put("b", "number")},
                                       {"$MULTIPLY", multiply}}));
  for (int pass = 0; pass < kPasses; ++pass)
    for (int holder = 0; holder < kLanes; ++holder)
      for (int element = 0; element < unit.a.elements(); ++element)
        for (int lane = 0; lane < kLanes; ++lane)
          for (int i = 0; i < unit.c.elements(); ++i) {
            const bool hit = unit.a.row_of(holder, element) == unit.c.row_of(lane, i);
            const int k = unit.a.column_of(holder, element), j = unit.c.column_of(lane, i);
            const int position = unit.b.lane_of(k, j) * unit.b.elements() + unit.b.element_of(k, j);
            probe.expected.push_back(hit ? number_of(position, pass) : 0);
          }
  return probe;
}

// Element (row, column) of matrix i is 64 i + 8 row + column.
constexpr char kLoadProbe[] = R"(
extern "C" __global__ void __launch_bounds__(32) probe_ldmatrix_$NAME(int* out) {
  __shared__ __align__(16) unsigned short memory[$COUNT * 64];
  const int lane = threadIdx.x;
  for (int i = lane; i < $COUNT * 64; i += 32) memory[i] = (unsigned short)i;
  __syncthreads();
  unsigned r[$COUNT];
  $LOAD(r, memory + lane % ($COUNT * 8) * 8);
  for (int i = 0; i < $COUNT; ++i)
    for (int half = 0; half < 2; ++half) out[(lane * $COUNT + i) * 2 + half] = (int)(r[i] >> (16 * half) & 0xffffu);
}
)";

MatrixProbe load_probe(int count, bool transposed) {
  MatrixFunctions functions;
  const std::string load = functions.load(count, transposed);
  const std::string name = absl::StrCat("x", count, transposed ? "_trans" : "");
  MatrixProbe probe{.name = "ldmatrix " + name, .entry = "probe_ldmatrix_" + name};
  probe.element = Element::kInt32;
  probe.source = absl::StrCat(
      functions.text(cuda_dialect()),
      absl::StrReplaceAll(kLoadProbe, {{"$NAME", name}, {"$COUNT", absl::StrCat(count)}, {"$LOAD", load}}));
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < count; ++i)
      for (int half = 0; half < 2; ++half) {
        const int line = lane / 4, place = lane % 4 * 2 + half;
        probe.expected.push_back(64 * i + (transposed ? 8 * place + line : 8 * line + place));
      }
  return probe;
}

}  // namespace

std::string probe_bits_text(Element element) {
  return absl::StrCat("__device__ inline unsigned probe_bits(unsigned x) { ", bits_of(element), " }\n");
}

std::vector<MatrixProbe> matrix_probes(const target::Target& target) {
  std::vector<MatrixProbe> all;
  if (target.has("ldmatrix"))
    for (const int count : {1, 2, 4})
      for (const bool transposed : {false, true}) all.push_back(load_probe(count, transposed));
  for (const TensorUnit& unit : tensor_units::tensor_units())
    if (!unit.reads_shared && target.has(unit.feature)) all.push_back(probe_of(unit));
  return all;
}

}  // namespace tf::backends
