#include "compiler/backends/cuda/group_probes.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/gpu/helpers.h"
#include "compiler/backends/gpu/matrix_text.h"

namespace tf::backends {
namespace {

using tensor_units::SharedDescriptor;
using tensor_units::SharedTile;
using tensor_units::TensorUnit;

// Numbers that every element type holds, in two passes: the number's lower part, then its upper, each from 1 on.
constexpr int kGroupNumbers = 96, kGroupPasses = 2;
constexpr int kShifts[] = {0, 3, 6, 13};

constexpr char kGroupProbe[] = R"(
typedef $ELEMENT probe_element;
extern "C" __global__ void __launch_bounds__(128) $ENTRY($C* out) {
  __shared__ __align__(1024) probe_element a[$A_ELEMENTS + $B_ELEMENTS];  // b starts 1024 bytes or more behind
  probe_element* b = a + $A_ELEMENTS;
  const int lane = threadIdx.x;
  const int shifts[] = {$SHIFTS};
  for (int turn = 0; turn < $TURNS; ++turn) {
    __syncthreads();
    for (int i = lane; i < $A_ELEMENTS; i += 128) a[i] = 0;
    for (int i = lane; i < $B_ELEMENTS; i += 128) b[i] = 0;
    __syncthreads();
    for (int line = lane; line < 64; line += 128) {
      const int term = $K + (line + shifts[turn / 2]) % $K;
      a[$SWIZZLE($A_PLACE)] = (probe_element)probe_bits(1);
    }
    for (int i = lane; i < $K * $N; i += 128) {
      const int line = i % $N, term = $K + i / $N;
      b[$SWIZZLE($B_PLACE)] = (probe_element)probe_bits((turn % 2 == 0 ? i % $NUMBERS : i / $NUMBERS) + 1);
    }
    tf_publish();
    __syncthreads();
    $C c[$COUNT];
#pragma unroll
    for (int i = 0; i < $COUNT; ++i) c[i] = 0;
    $FENCE(c);
    $MULTIPLY(c, $A_DESCRIPTOR, $B_DESCRIPTOR);
    $WAIT(c);
#pragma unroll
    for (int i = 0; i < $COUNT; ++i) out[(turn * 128 + lane) * $COUNT + i] = c[i];
  }
}
)";

const char* bits_type(tensor::Element element) {
  const int bytes = tensor::element_bytes(element);
  return bytes == 1 ? "unsigned char" : bytes == 2 ? "unsigned short" : "unsigned";
}

// A factor of so many lines (rows of a, columns of b) that holds two steps of terms.
struct ProbeFactor {
  int64_t elements = 0;
  std::string place;  // of (line, term)
  std::string descriptor;
};

ProbeFactor probe_factor(const TensorUnit& unit, bool is_a, bool lines_of_terms) {
  const tensor::Element element = unit.a_element;
  const int64_t width = tensor_units::kLineBytes / tensor::element_bytes(element),
                count = is_a ? unit.m : unit.n;
  SharedTile tile{.swizzle = tensor_units::line_swizzle(element)};
  (is_a == lines_of_terms ? tile.row_step : tile.column_step) = width;
  (is_a == lines_of_terms ? tile.column_step : tile.row_step) = 1;
  ProbeFactor factor;
  if (lines_of_terms) {
    factor.elements = count * width;
    factor.place = absl::StrCat("line * ", width, " + term");
  } else {
    const int64_t block = 2 * width * unit.k;
    factor.elements = (count + width - 1) / width * block;
    factor.place = absl::StrCat("line / ", width, " * ", block, " + term * ", width, " + line % ", width);
    if (count > width) {
      tile.block_columns = width;
      tile.next_block = block;
    }
  }
  const std::optional<SharedDescriptor> how = tensor_units::describe(unit, is_a, tile);
  TF_CHECK(how) << unit.name << " reads lines of 128 bytes";
  factor.descriptor =
      descriptor_text(*how, element, is_a ? "a" : "b", absl::StrCat(unit.k * (lines_of_terms ? 1 : width)));
  return factor;
}

MatrixProbe group_probe(const TensorUnit& unit, bool lines_of_terms) {
  const GpuDialect& dialect = cuda_dialect();
  MatrixFunctions functions;
  Helpers helpers(dialect);
  const ProbeFactor a = probe_factor(unit, true, lines_of_terms),
                    b = probe_factor(unit, false, lines_of_terms);
  const int count = unit.c.elements(), turns = kGroupPasses * static_cast<int>(std::size(kShifts));
  const std::string name = absl::StrCat(std::string(unit.name), lines_of_terms ? "" : "_turned");
  MatrixProbe probe{.name = name, .entry = absl::StrCat("probe_", name), .threads = unit.c.lanes};
  probe.element = unit.c_element;
  std::string shifts;
  for (const int shift : kShifts) absl::StrAppend(&shifts, shifts.empty() ? "" : ", ", shift);
  const std::string body = absl::StrReplaceAll(
      kGroupProbe, {{"$ELEMENT", bits_type(unit.a_element)},
                    {"$ENTRY", probe.entry},
                    {"$COUNT", absl::StrCat(count)},
                    {"$C", value_type(dialect, unit.c_element)},
                    {"$A_ELEMENTS", absl::StrCat(a.elements)},
                    {"$B_ELEMENTS", absl::StrCat(b.elements)},
                    {"$A_PLACE", a.place},
                    {"$B_PLACE", b.place},
                    {"$A_DESCRIPTOR", a.descriptor},
                    {"$B_DESCRIPTOR", b.descriptor},
                    {"$SHIFTS", shifts},
                    {"$TURNS", absl::StrCat(turns)},
                    {"$NUMBERS", absl::StrCat(kGroupNumbers)},
                    {"$K", absl::StrCat(unit.k)},
                    {"$N", absl::StrCat(unit.n)},
                    {"$SWIZZLE", helpers.swizzle(tensor_units::line_swizzle(unit.a_element))},
                    {"$FENCE", functions.meet({unit.c_element, count, -1})},
                    {"$MULTIPLY", functions.multiply({&unit, lines_of_terms, lines_of_terms})},
                    {"$WAIT", functions.meet({unit.c_element, count, 0})}});
  probe.source = absl::StrCat(helpers.text(), functions.text(dialect), probe_bits_text(unit.a_element), body);
  for (int turn = 0; turn < turns; ++turn)
    for (int lane = 0; lane < unit.c.lanes; ++lane)
      for (int i = 0; i < count; ++i) {
        const int term = (unit.c.row_of(lane, i) + kShifts[turn / kGroupPasses]) % unit.k;
        const int position = term * unit.n + unit.c.column_of(lane, i);
        probe.expected.push_back(
            (turn % kGroupPasses == 0 ? position % kGroupNumbers : position / kGroupNumbers) + 1);
      }
  return probe;
}

}  // namespace

std::vector<MatrixProbe> group_probes(const target::Target& target) {
  std::vector<MatrixProbe> all;
  for (const TensorUnit& unit : tensor_units::tensor_units()) {
    if (!unit.reads_shared || !target.has(unit.feature)) continue;
    all.push_back(group_probe(unit, true));
    if (tensor::element_bytes(unit.a_element) == 2) all.push_back(group_probe(unit, false));
  }
  return all;
}

}  // namespace tf::backends
