#pragma once
// Owns: the descriptions of small models whose sizes vary; their kernels are tests/support/kernels/sized_kernels.c.

#include <string>
#include <vector>

#include "compiler/runtime/blob/model_blob.h"
#include "compiler/runtime/model_types.h"

namespace tf::runtime {

using Code = std::vector<int64_t>;

inline Code number(int64_t value) {
  return {TF_CODE_NUMBER, value};
}
inline Code dim(int64_t index) {
  return {TF_CODE_DIM, index};
}
inline Code apply(int64_t operation, Code left, const Code& right) {
  left.insert(left.end(), right.begin(), right.end());
  left.push_back(operation);
  return left;
}
inline Code operator*(const Code& left, const Code& right) {
  return apply(TF_CODE_MUL, left, right);
}
inline Code operator+(const Code& left, const Code& right) {
  return apply(TF_CODE_ADD, left, right);
}
inline Code aligned(const Code& bytes) {
  return apply(TF_CODE_FLOOR_DIV, bytes + number(63), number(64)) * number(64);
}

inline constexpr int64_t kMostBatch = 4, kMostLength = 8, kMark = 1000;

// Numbers of rows and columns: as codes in the first program, fixed in a variant.
struct Extents {
  Sized batch, length, length_2;
  Sized row_bytes, batch_bytes, all_bytes, all_2_bytes, offset_bytes;
};

inline Extents extents_at(int64_t batch, int64_t length) {
  const int64_t all_bytes = 4 * batch * length;
  return {batch,     length,    2 * length,    4 * length,
          4 * batch, all_bytes, 2 * all_bytes, (all_bytes + 63) / 64 * 64};
}

// The same, where TF_ANY_VALUE stands for the dimension.
inline Extents varying_extents(int64_t batch = TF_ANY_VALUE, int64_t length = TF_ANY_VALUE) {
  const bool batch_varies = batch == TF_ANY_VALUE, length_varies = length == TF_ANY_VALUE;
  Extents extents = extents_at(batch_varies ? kMostBatch : batch, length_varies ? kMostLength : length);
  const Code rows = batch_varies ? dim(0) : number(batch), columns = length_varies ? dim(1) : number(length);
  const Code all_bytes = number(4) * rows * columns;
  if (batch_varies) {
    extents.batch.code = rows;
    extents.batch_bytes.code = number(4) * rows;
  }
  if (length_varies) {
    extents.length.code = columns;
    extents.length_2.code = number(2) * columns;
    extents.row_bytes.code = number(4) * columns;
  }
  if (batch_varies || length_varies) {
    extents.all_bytes.code = all_bytes;
    extents.all_2_bytes.code = number(2) * all_bytes;
    extents.offset_bytes.code = aligned(all_bytes);
  }
  return extents;
}

// x [batch, length], bias [length] -> y [batch, 2 length] := (x, x + bias), s [batch] := the sums of y's rows + mark.
inline ModelProgram pairs_program(const Extents& e, int64_t mark) {
  ModelProgram program;
  program.inputs = {
      {.name = "x", .element = TF_ELEMENT_FLOAT32, .extents = {e.batch, e.length}, .size_bytes = e.all_bytes},
      {.name = "bias", .element = TF_ELEMENT_FLOAT32, .extents = {e.length}, .size_bytes = e.row_bytes}};
  program.outputs = {
      {.name = "y",
       .element = TF_ELEMENT_FLOAT32,
       .extents = {e.batch, e.length_2},
       .size_bytes = e.all_2_bytes},
      {.name = "s", .element = TF_ELEMENT_FLOAT32, .extents = {e.batch}, .size_bytes = e.batch_bytes}};
  const ModelBuffer x = {TF_SPACE_INPUT, 0, 0, e.all_bytes}, bias = {TF_SPACE_INPUT, 1, 0, e.row_bytes},
                    y = {TF_SPACE_OUTPUT, 0, 0, e.all_2_bytes}, s = {TF_SPACE_OUTPUT, 1, 0, e.batch_bytes},
                    t = {TF_SPACE_ARENA, 0, 0, e.all_bytes},
                    u = {TF_SPACE_ARENA, 0, e.offset_bytes, e.batch_bytes};
  program.steps = {
      {.name = "bias", .kernel = 0, .buffers = {x, bias, t}, .dims = {e.batch, e.length}},
      {.name = "pair", .kernel = 1, .buffers = {x, t, y}, .dims = {e.batch, e.length}},
      {.name = "sums", .kernel = 2, .buffers = {y, u}, .dims = {e.batch, e.length_2, mark}},
      {.name = "copy", .kernel = 3, .buffers = {u, s}, .dims = {e.batch, 1}},
  };
  program.arena_bytes = static_cast<uint64_t>(e.offset_bytes.value) + 64;
  return program;
}

// With variants for (2, 4), which marks sums with 1000, and for the greatest sizes, with 2000.
inline ModelDescription pairs_model() {
  ModelDescription model;
  static_cast<ModelProgram&>(model) = pairs_program(varying_extents(), 0);
  model.bodies = {pairs_program(extents_at(2, 4), kMark),
                  pairs_program(extents_at(kMostBatch, kMostLength), 2 * kMark)};
  model.dims = {{.name = "batch", .low = 1, .high = kMostBatch},
                {.name = "length", .low = 0, .high = kMostLength}};
  model.variants = {{1, {2, 4}}, {2, {kMostBatch, kMostLength}}};
  model.kernel_count = 5;
  return model;
}

// With variants for batch 2, for length 4 and for (2, 4), which mark sums with 1000, 2000 and 3000.
inline ModelDescription partly_fixed_model() {
  ModelDescription model = pairs_model();
  model.bodies = {pairs_program(varying_extents(2, TF_ANY_VALUE), kMark),
                  pairs_program(varying_extents(TF_ANY_VALUE, 4), 2 * kMark),
                  pairs_program(extents_at(2, 4), 3 * kMark)};
  model.variants = {{1, {2, TF_ANY_VALUE}}, {2, {TF_ANY_VALUE, 4}}, {3, {2, 4}}};
  return model;
}

// x [rows, length] -> y := 3 x, by a loop over the rows, of which there are up to 5, of up to 16 elements.
inline ModelDescription rows_model() {
  const Sized rows(5, dim(0)), length(16, dim(1)), row_bytes(64, number(4) * dim(1)),
      all_bytes(320, number(4) * dim(0) * dim(1));
  const ModelTensor row = {
      .name = "row", .element = TF_ELEMENT_FLOAT32, .extents = {length}, .size_bytes = row_bytes};
  ModelProgram body;
  body.inputs = {{.name = "i", .element = TF_ELEMENT_INT64, .extents = {}, .size_bytes = 8}, row};
  body.outputs = {row};
  body.steps = {{.name = "scale",
                 .kernel = 3,
                 .buffers = {{TF_SPACE_INPUT, 1, 0, row_bytes}, {TF_SPACE_OUTPUT, 0, 0, row_bytes}},
                 .dims = {length, 3}}};
  ModelDescription model;
  model.inputs = {
      {.name = "x", .element = TF_ELEMENT_FLOAT32, .extents = {rows, length}, .size_bytes = all_bytes}};
  model.outputs = {
      {.name = "y", .element = TF_ELEMENT_FLOAT32, .extents = {rows, length}, .size_bytes = all_bytes}};
  model.steps = {{.name = "rows", .kernel = 4, .buffers = {{TF_SPACE_ARENA, 0, 0, 8}}, .dims = {rows}},
                 {.name = "loop",
                  .kind = TF_STEP_LOOP,
                  .body = 1,
                  .buffers = {{TF_SPACE_ARENA, 0, 0, 8},
                              {TF_SPACE_INPUT, 0, 0, all_bytes},
                              {TF_SPACE_OUTPUT, 0, 0, all_bytes},
                              {TF_SPACE_ARENA, 0, 64, 8},
                              {TF_SPACE_ARENA, 0, 128, 1},
                              {TF_SPACE_ARENA, 0, 192, row_bytes},
                              {TF_SPACE_ARENA, 0, 256, row_bytes},
                              {TF_SPACE_ARENA, 0, 320, 0}},
                  .dims = {0, 0, 1, 1, 0, 0}}};
  model.arena_bytes = 320;
  model.bodies = {body};
  model.dims = {{.name = "rows", .low = 0, .high = 5}, {.name = "length", .low = 1, .high = 16}};
  model.kernel_count = 5;
  return model;
}

inline constexpr int64_t kMostFound = 8;

// x [n] -> places [1, found] of the elements that are not 0; y [found] := these elements - shift;
// z [rest] := twice those of y that are not 0. Two steps make dimensions 1 and 2, found and rest.
inline ModelProgram found_program(const Sized& n, const Sized& n_bytes, const Sized& n_place_bytes,
                                  int64_t shift) {
  const Sized found(kMostFound, dim(1)), found_bytes(4 * kMostFound, number(4) * dim(1)),
      found_place_bytes(8 * kMostFound, number(8) * dim(1)), rest(kMostFound, dim(2)),
      rest_bytes(4 * kMostFound, number(4) * dim(2)), rest_place_bytes(8 * kMostFound, number(8) * dim(2)),
      w_offset_bytes(128 + 8 * kMostFound, number(128) + aligned(number(8) * dim(2)));
  const ModelBuffer x = {TF_SPACE_INPUT, 0, 0, n_bytes}, y = {TF_SPACE_OUTPUT, 1, 0, found_bytes},
                    w = {TF_SPACE_ARENA, 0, w_offset_bytes, rest_bytes};
  const auto nonzero = [](const Sized& extent) -> std::vector<Sized> {
    const int64_t f32 = TF_ELEMENT_FLOAT32, i64 = TF_ELEMENT_INT64;
    return {0, f32, 1, extent, i64, 2, 1, extent, i64, 0};
  };
  ModelProgram program;
  program.inputs = {{.name = "x", .element = TF_ELEMENT_FLOAT32, .extents = {n}, .size_bytes = n_bytes}};
  program.outputs = {
      {.name = "places", .element = TF_ELEMENT_INT64, .extents = {1, found}, .size_bytes = found_place_bytes},
      {.name = "y", .element = TF_ELEMENT_FLOAT32, .extents = {found}, .size_bytes = found_bytes},
      {.name = "z", .element = TF_ELEMENT_FLOAT32, .extents = {rest}, .size_bytes = rest_bytes}};
  program.steps = {{.name = "find",
                    .kernel = 5,
                    .buffers = {x, {TF_SPACE_OUTPUT, 0, 0, n_place_bytes}, {TF_SPACE_ARENA, 0, 0, 8}},
                    .dims = nonzero(n),
                    .made = {1, 2}},
                   {.name = "take",
                    .kernel = 6,
                    .buffers = {x, {TF_SPACE_OUTPUT, 0, 0, found_place_bytes}, y},
                    .dims = {n, found, shift}},
                   {.name = "find rest",
                    .kernel = 5,
                    .buffers = {y, {TF_SPACE_ARENA, 0, 128, found_place_bytes}, {TF_SPACE_ARENA, 0, 64, 8}},
                    .dims = nonzero(found),
                    .made = {2, 2}},
                   {.name = "take rest",
                    .kernel = 6,
                    .buffers = {y, {TF_SPACE_ARENA, 0, 128, rest_place_bytes}, w},
                    .dims = {found, rest, 0}},
                   {.name = "double",
                    .kernel = 3,
                    .buffers = {w, {TF_SPACE_OUTPUT, 2, 0, rest_bytes}},
                    .dims = {rest, 2}}};
  program.arena_bytes = 256;
  return program;
}

// With the shift 1, and a variant with the shift 3 for n = 4.
inline ModelDescription found_model() {
  ModelDescription model;
  static_cast<ModelProgram&>(model) =
      found_program(Sized(kMostFound, dim(0)), Sized(4 * kMostFound, number(4) * dim(0)),
                    Sized(8 * kMostFound, number(8) * dim(0)), 1);
  model.bodies = {found_program(4, 16, 32, 3)};
  model.dims = {{.name = "n", .low = 0, .high = kMostFound},
                {.name = "found", .low = 0, .high = kMostFound, .made_by = TF_DIM_MADE},
                {.name = "rest", .low = 0, .high = kMostFound, .made_by = TF_DIM_MADE}};
  model.variants = {{1, {4, TF_ANY_VALUE, TF_ANY_VALUE}}};
  model.kernel_count = 7;
  return model;
}

}  // namespace tf::runtime
