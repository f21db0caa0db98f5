#include "compiler/tensor_units/tensor_unit.h"

#include <algorithm>
#include <bit>

namespace tf::tensor_units {
namespace {

using tensor::Element;

constexpr Digit lane(int divisor, int count, int step) {
  return {Digit::kLane, divisor, count, step};
}
constexpr Digit element(int divisor, int count, int step) {
  return {Digit::kElement, divisor, count, step};
}

// PTX ISA, "Warp-level matrix instructions": groups of four lanes share a row of a and c, and a column of b; the lanes of a
// group stand side by side. What a lane holds beyond that: its neighbours within a register, then rows + 8, then columns + 8.

// c of 16 x 8 and of 8 x 8.
LaneMap sums(int rows) {
  std::vector<Digit> row = {lane(4, 8, 1)};
  if (rows == 16) row.push_back(element(2, 2, 8));
  return {rows, 8, row, {lane(1, 4, 2), element(1, 2, 1)}};
}

// a of `rows` x k, `packed` elements to a register.
LaneMap left(int rows, int k, int packed) {
  LaneMap map{rows, k, {lane(4, 8, 1)}, {lane(1, 4, packed)}};
  if (packed > 1) map.column.push_back(element(1, packed, 1));
  int next = packed;
  if (rows == 16) {
    map.row.push_back(element(next, 2, 8));
    next *= 2;
  }
  if (k > 4 * packed) map.column.push_back(element(next, 2, 4 * packed));
  return map;
}

// b of k x 8.
LaneMap right(int k, int packed) {
  LaneMap map{k, 8, {lane(1, 4, packed)}, {lane(4, 8, 1)}};
  if (packed > 1) map.row.push_back(element(1, packed, 1));
  if (k > 4 * packed) map.row.push_back(element(packed, 2, 4 * packed));
  return map;
}

TensorUnit unit(std::string_view name, std::string_view ptx, std::string_view feature, int m, int k,
                Element a, Element b, Element c, bool tf32 = false) {
  const int packed = elements_in_register(a);
  return {.name = name,
          .ptx = ptx,
          .feature = feature,
          .m = m,
          .n = 8,
          .k = k,
          .a_element = a,
          .b_element = b,
          .c_element = c,
          .takes_tf32 = tf32,
          .a = left(m, k, packed),
          .b = right(k, packed),
          .c = sums(m)};
}

// PTX ISA, "Asynchronous warpgroup-level matrix instructions": each of the four warps holds 16 rows of c, as of 16 x 8 tiles
// side by side.
TensorUnit group_unit(std::string_view name, std::string_view ptx, int n, int k, Element factor, Element c,
                      bool tf32 = false) {
  constexpr int kRows = 64, kGroup = 4 * kLanes;
  return {.name = name,
          .ptx = ptx,
          .feature = "wgmma",
          .m = kRows,
          .n = n,
          .k = k,
          .a_element = factor,
          .b_element = factor,
          .c_element = c,
          .takes_tf32 = tf32,
          .a = {kRows, k, {}, {}, kGroup},
          .b = {k, n, {}, {}, kGroup},
          .c = {kRows,
                n,
                {lane(32, 4, 16), lane(4, 8, 1), element(2, 2, 8)},
                {lane(1, 4, 2), element(1, 2, 1), element(4, n / 8, 8)},
                kGroup},
          .reads_shared = true};
}

constexpr Element kF16 = Element::kFloat16, kBF16 = Element::kBFloat16, kF32 = Element::kFloat32,
                  kF64 = Element::kFloat64, kI8 = Element::kInt8, kU8 = Element::kUInt8,
                  kI32 = Element::kInt32;

// A row for each width of one type.
#define TF_GROUP_UNIT(n, k, type, ptx_types, factor, sum, ...)                                             \
  group_unit("wgmma_m64n" #n "k" #k "_" type, "wgmma.mma_async.sync.aligned.m64n" #n "k" #k "." ptx_types, \
             n, k, factor, sum __VA_OPT__(, ) __VA_ARGS__)
#define TF_GROUP_UNITS(...) \
  TF_GROUP_UNIT(64, __VA_ARGS__), TF_GROUP_UNIT(128, __VA_ARGS__), TF_GROUP_UNIT(256, __VA_ARGS__)

const std::vector<TensorUnit>& all_units() {
  static const std::vector<TensorUnit> kUnits = {
      unit("mma_m16n8k8_f16", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "mma_f16", 16, 8, kF16,
           kF16, kF32),
      unit("mma_m8n8k16_i8", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "mma_s8", 8, 16, kI8, kI8,
           kI32),
      unit("mma_m8n8k16_u8", "mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32", "mma_s8", 8, 16, kU8, kU8,
           kI32),
      unit("mma_m8n8k16_u8i8", "mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32", "mma_s8", 8, 16, kU8, kI8,
           kI32),
      unit("mma_m8n8k16_i8u8", "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32", "mma_s8", 8, 16, kI8, kU8,
           kI32),
      unit("mma_m16n8k16_f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma_k16", 16, 16, kF16,
           kF16, kF32),
      unit("mma_m16n8k8_bf16", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "mma_bf16", 16, 8, kBF16,
           kBF16, kF32),
      unit("mma_m16n8k16_bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "mma_bf16", 16, 16,
           kBF16, kBF16, kF32),
      unit("mma_m16n8k4_tf32", "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "mma_tf32", 16, 4, kF32,
           kF32, kF32, true),
      unit("mma_m16n8k8_tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "mma_tf32", 16, 8, kF32,
           kF32, kF32, true),
      unit("mma_m16n8k16_i8", "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "mma_k16", 16, 16, kI8, kI8,
           kI32),
      unit("mma_m16n8k32_i8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "mma_k16", 16, 32, kI8, kI8,
           kI32),
      unit("mma_m16n8k32_u8", "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32", "mma_k16", 16, 32, kU8, kU8,
           kI32),
      unit("mma_m16n8k32_u8i8", "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", "mma_k16", 16, 32, kU8,
           kI8, kI32),
      unit("mma_m16n8k32_i8u8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "mma_k16", 16, 32, kI8,
           kU8, kI32),
      unit("mma_m8n8k4_f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "mma_f64", 8, 4, kF64, kF64,
           kF64),
      TF_GROUP_UNITS(16, "f16", "f32.f16.f16", kF16, kF32),
      TF_GROUP_UNITS(16, "bf16", "f32.bf16.bf16", kBF16, kF32),
      TF_GROUP_UNITS(8, "tf32", "f32.tf32.tf32", kF32, kF32, true),
      TF_GROUP_UNITS(32, "i8", "s32.s8.s8", kI8, kI32),
  };
  return kUnits;
}

}  // namespace

std::span<const TensorUnit> tensor_units() {
  return all_units();
}

const TensorUnit* find_tensor_unit(std::string_view name) {
  const auto found = std::ranges::find(all_units(), name, &TensorUnit::name);
  return found == all_units().end() ? nullptr : &*found;
}

int elements_in_register(tensor::Element element) {
  return std::max(1, 4 / tensor::element_bytes(element));
}

Piece piece_of(const LaneMap& map, tensor::Element element, int register_number) {
  const int first = register_number * elements_in_register(element);
  return {map.row_of(0, first), map.column_of(0, first)};
}

tensor::Swizzle line_swizzle(tensor::Element element, int64_t line_bytes) {
  const int base = std::countr_zero(16u / static_cast<unsigned>(tensor::element_bytes(element)));
  return {std::countr_zero(static_cast<uint64_t>(line_bytes) / 16), base, 3};
}

std::optional<SharedDescriptor> describe(const TensorUnit& unit, bool is_a, const SharedTile& tile) {
  const Element element = is_a ? unit.a_element : unit.b_element;
  const int bytes = tensor::element_bytes(element);
  const int64_t term = is_a ? tile.column_step : tile.row_step,
                other = is_a ? tile.row_step : tile.column_step;
  const int64_t line = std::max(term, other), line_bytes = line * bytes;
  if (std::min(term, other) != 1 || line_bytes != kLineBytes || tile.swizzle != line_swizzle(element))
    return std::nullopt;
  SharedDescriptor found{.has_lines_of_terms = term == 1,
                         .leading_bytes = 16,
                         .stride_bytes = 8 * line_bytes,
                         .swizzle_code = 1};
  const int64_t in_line = term == 1 ? unit.k : is_a ? unit.m : unit.n;
  if (term == 1) return tile.block_columns == 0 && in_line <= line ? std::optional(found) : std::nullopt;
  if (bytes != 2) return std::nullopt;
  if (in_line > line) {
    if (is_a || tile.block_columns != line) return std::nullopt;
    found.leading_bytes = tile.next_block * bytes;
  }
  return found;
}

bool lines_are_columns(const LaneMap& map) {
  return map.column_of(4, 0) == 1;
}

}  // namespace tf::tensor_units
