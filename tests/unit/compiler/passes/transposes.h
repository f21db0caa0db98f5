#pragma once
// What reads along one axis and writes along another, at extents that tiles divide and do not.

#include "tests/unit/compiler/passes/flat_workloads.h"

namespace tf::test {

inline const std::vector<SmallWorkload>& transposes() {
  using ops::Builder;
  using tensor::Buffer;
  using tensor::Element;
  static const std::vector<SmallWorkload> all = {
      {"matrices of 37x41",
       [](Builder& b) {
         return ops::transpose(b, f32_input(b, {3, 37, 41}), {0, 2, 1});
       }},
      {"channels last",
       [](Builder& b) {
         return ops::transpose(b, f32_input(b, {2, 64, 3, 32}), {0, 2, 3, 1});
       }},
      {"channels first",
       [](Builder& b) {
         return ops::transpose(b, f32_input(b, {1, 5, 19, 67}), {0, 3, 1, 2});
       }},
      {"a sum with its own transpose",
       [](Builder& b) {
         const Buffer turned = ops::transpose(b, f32_input(b, {40, 33}), {1, 0});
         return ops::relu(b, ops::binary(b, ops::BinaryKind::kAdd, turned, f32_input(b, {33, 40})));
       }},
      {"two of them, one turned and one not",
       [](Builder& b) {
         return ops::concat(b, {ops::transpose(b, f32_input(b, {33, 40}), {1, 0}), f32_input(b, {40, 9})}, 1);
       }},
      {"of f16",
       [](Builder& b) {
         return ops::transpose(b, input_of(b, Element::kFloat16, {48, 34}), {1, 0});
       }},
      {"of bytes",
       [](Builder& b) {
         return ops::transpose(b, input_of(b, Element::kInt8, {45, 66}, {-128, 127}), {1, 0});
       }},
  };
  return all;
}

}  // namespace tf::test
