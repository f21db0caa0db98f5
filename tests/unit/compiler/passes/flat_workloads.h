#pragma once
// What is computed element by element, at extents that vectors of four do and do not divide.

#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {

inline tensor::Buffer input_of(ops::Builder& b, tensor::Element element, const std::vector<int64_t>& shape,
                               ops::Domain domain = {}) {
  std::vector<tensor::Expr> extents;
  for (const int64_t extent : shape) extents.push_back(tensor::imm(extent));
  return b.input("x", element, std::move(extents), domain);
}

inline const std::vector<SmallWorkload>& flat_workloads() {
  using ops::Builder;
  using tensor::Buffer;
  using tensor::Element;
  static const std::vector<SmallWorkload> all = {
      {"sum of 3x37x11",
       [](Builder& b) {
         return ops::relu(
             b, ops::binary(b, ops::BinaryKind::kAdd, f32_input(b, {3, 37, 11}), f32_input(b, {3, 37, 11})));
       }},
      {"by channels of 49",
       [](Builder& b) {
         return ops::binary(b, ops::BinaryKind::kMul, f32_input(b, {5, 7, 49}), f32_input(b, {7, 1}));
       }},
      {"by channels of 12",
       [](Builder& b) {
         return ops::binary(b, ops::BinaryKind::kMul, f32_input(b, {5, 7, 12}), f32_input(b, {7, 1}));
       }},
      {"rows and columns",
       [](Builder& b) {
         return ops::binary(b, ops::BinaryKind::kMax, f32_input(b, {19, 1}), f32_input(b, {20}));
       }},
      {"one beside the other, 12 long",
       [](Builder& b) {
         return ops::concat(b, {f32_input(b, {2, 3, 12}), f32_input(b, {2, 5, 12}), f32_input(b, {2, 1, 12})},
                            1);
       }},
      {"one beside the other, 9 long",
       [](Builder& b) {
         return ops::concat(b, {f32_input(b, {2, 3, 9}), f32_input(b, {2, 5, 9})}, 1);
       }},
      {"columns beside each other",
       [](Builder& b) {
         return ops::concat(b, {f32_input(b, {7, 8}), f32_input(b, {7, 5})}, 1);
       }},
      {"a part, aligned",
       [](Builder& b) {
         return ops::slice(b, f32_input(b, {9, 24}),
                           {.axes = {1}, .starts = {8}, .sizes = {12}, .steps = {1}});
       }},
      {"a part, not aligned",
       [](Builder& b) {
         return ops::slice(b, f32_input(b, {9, 24}),
                           {.axes = {1}, .starts = {3}, .sizes = {12}, .steps = {1}});
       }},
      {"every other from the end",
       [](Builder& b) {
         return ops::slice(b, f32_input(b, {5, 33}),
                           {.axes = {1}, .starts = {32}, .sizes = {16}, .steps = {-2}});
       }},
      {"a border",
       [](Builder& b) {
         return ops::pad(b, f32_input(b, {5, 8}), {1, 4}, {2, 4}, 0.5);
       }},
      {"rows of 12 by number",
       [](Builder& b) {
         const Buffer rows = b.input("rows", Element::kInt64, {tensor::imm(11)}, {-5, 4});
         return ops::gather(b, f32_input(b, {5, 12}), rows, 0);
       }},
      {"columns by number",
       [](Builder& b) {
         const Buffer columns = b.input("columns", Element::kInt64, {tensor::imm(8)}, {0, 11});
         return ops::gather(b, f32_input(b, {7, 12}), columns, 1);
       }},
      {"chosen by what is greater",
       [](Builder& b) {
         const Buffer x = f32_input(b, {9, 13}), y = f32_input(b, {13});
         return ops::where(b, ops::binary(b, ops::BinaryKind::kLess, x, y), x, y);
       }},
      {"chosen by a mask of rows",
       [](Builder& b) {
         const Buffer mask = input_of(b, Element::kBool, {9, 1});
         return ops::where(b, mask, f32_input(b, {9, 16}), f32_input(b, {16}));
       }},
      {"from f16",
       [](Builder& b) {
         return ops::cast(b, input_of(b, Element::kFloat16, {7, 41}), Element::kFloat32);
       }},
      {"to f16",
       [](Builder& b) {
         return ops::cast(b, f32_input(b, {7, 41}), Element::kFloat16);
       }},
      {"to bytes",
       [](Builder& b) {
         return ops::cast(b, f32_input(b, {7, 48}, {-99, 99}), Element::kInt8);
       }},
      {"bytes",
       [](Builder& b) {
         const Buffer x = input_of(b, Element::kInt8, {3, 67}, {-128, 127});
         return ops::binary(b, ops::BinaryKind::kMax, x, input_of(b, Element::kInt8, {67}, {-128, 127}));
       }},
      {"blocks of channels to places",
       [](Builder& b) {
         return ops::depth_to_space(b, f32_input(b, {1, 12, 3, 5}),
                                    {.blocks = {2, 2}, .begin = {0, 0}, .sizes = {6, 10}});
       }},
  };
  return all;
}

}  // namespace tf::test
