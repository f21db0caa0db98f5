#pragma once
// Every operator on extents small enough to interpret: what lowering is tested with.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/fold_transposes.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/pooling.h"
#include "compiler/ops/reduction.h"
#include "gtest/gtest.h"

namespace tf::test {

struct SmallWorkload {
  std::string name;
  std::function<tensor::Buffer(ops::Builder&)> make;
};

inline void PrintTo(const SmallWorkload& small, std::ostream* out) {
  *out << small.name;
}

inline tensor::Buffer f32_input(ops::Builder& b, const std::vector<int64_t>& shape, ops::Domain domain = {}) {
  std::vector<tensor::Expr> extents;
  for (int64_t extent : shape) extents.push_back(tensor::imm(extent));
  return b.input("x", tensor::Element::kFloat32, std::move(extents), domain);
}

inline tensor::Buffer f32_constant(ops::Builder& b, const std::vector<int64_t>& shape) {
  std::vector<tensor::Expr> extents;
  for (int64_t extent : shape) extents.push_back(tensor::imm(extent));
  return b.constant("w", tensor::Element::kFloat32, std::move(extents));
}

inline const std::vector<SmallWorkload>& small_workloads() {
  using ops::Builder;
  using tensor::Buffer;
  static const std::vector<SmallWorkload> all = {
      {"add_relu",
       [](Builder& b) {
         return ops::relu(b, ops::binary(b, ops::BinaryKind::kAdd, f32_input(b, {3, 7}), f32_input(b, {7})));
       }},
      {"sigmoid_mul",
       [](Builder& b) {
         Buffer x = f32_input(b, {2, 9});
         return ops::binary(b, ops::BinaryKind::kMul, x, ops::unary(b, ops::UnaryKind::kSigmoid, x));
       }},
      {"tanh",
       [](Builder& b) {
         return ops::unary(b, ops::UnaryKind::kTanh, f32_input(b, {11}, {-4, 4}));
       }},
      {"leaky_relu",
       [](Builder& b) {
         return ops::leaky_relu(b, f32_input(b, {4, 5}), 0.1);
       }},
      {"clip",
       [](Builder& b) {
         return ops::clip(b, f32_input(b, {4, 5}), -0.5, 0.25);
       }},
      {"matmul",
       [](Builder& b) {
         return ops::matmul(b, f32_input(b, {5, 6}), f32_constant(b, {6, 7}));
       }},
      {"matmul_transposed",
       [](Builder& b) {
         return ops::matmul(b, f32_input(b, {5, 6}), f32_constant(b, {7, 5}),
                            {.transpose_a = true, .transpose_b = true});
       }},
      {"dense_bias_relu",
       [](Builder& b) {
         Buffer y = ops::matmul(b, f32_input(b, {3, 10}), f32_constant(b, {10, 9}));
         return ops::relu(b, ops::bias_add(b, y, f32_constant(b, {9}), 1));
       }},
      {"dense_of_bytes",
       [](Builder& b) {
         const auto extent = [](int64_t n) { return tensor::imm(n); };
         Buffer x = b.input("x", tensor::Element::kInt8, {extent(5), extent(8)});
         Buffer y = ops::matmul(b, x, b.constant("w", tensor::Element::kInt8, {extent(8), extent(7)}));
         return ops::relu(b,
                          ops::bias_add(b, y, b.constant("bias", tensor::Element::kInt32, {extent(7)}), 1));
       }},
      {"batch_matmul",
       [](Builder& b) {
         return ops::matmul(b, f32_input(b, {2, 3, 4}), f32_input(b, {2, 4, 3}));
       }},
      {"dense_u8_i8",
       [](Builder& b) {
         return ops::matmul(
             b, b.input("x", tensor::Element::kUInt8, {tensor::imm(3), tensor::imm(8)}, {0, 255}),
             b.constant("w", tensor::Element::kInt8, {tensor::imm(8), tensor::imm(9)}, {-128, 127}));
       }},
      {"conv_pad_bias_relu",
       [](Builder& b) {
         Buffer y = ops::conv(b, f32_input(b, {1, 3, 6, 5}), f32_constant(b, {4, 3, 3, 3}),
                              {.pads_begin = {1, 1}, .pads_end = {1, 1}});
         return ops::relu(b, ops::bias_add(b, y, f32_constant(b, {4}), 1));
       }},
      {"conv_strided",
       [](Builder& b) {
         return ops::conv(b, f32_input(b, {1, 2, 7, 7}), f32_constant(b, {3, 2, 3, 3}),
                          {.strides = {2, 2}, .pads_begin = {1, 0}, .pads_end = {0, 1}});
       }},
      {"conv_dilated",
       [](Builder& b) {
         return ops::conv(b, f32_input(b, {1, 2, 7, 6}), f32_constant(b, {2, 2, 2, 2}),
                          {.dilations = {2, 3}});
       }},
      {"conv_1x1_residual",
       [](Builder& b) {
         Buffer y = ops::conv(b, f32_input(b, {1, 5, 3, 4}), f32_constant(b, {6, 5, 1, 1}));
         return ops::relu(b, ops::binary(b, ops::BinaryKind::kAdd, y, f32_input(b, {1, 6, 3, 4})));
       }},
      {"depthwise",
       [](Builder& b) {
         return ops::conv(b, f32_input(b, {1, 5, 6, 6}), f32_constant(b, {5, 1, 3, 3}),
                          {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 5});
       }},
      {"grouped_conv",
       [](Builder& b) {
         return ops::conv(b, f32_input(b, {1, 4, 5, 4}), f32_constant(b, {6, 2, 2, 2}), {.groups = 2});
       }},
      {"max_pool",
       [](Builder& b) {
         return ops::max_pool(
             b, f32_input(b, {1, 3, 7, 6}),
             {.kernel = {3, 2}, .strides = {2, 2}, .pads_begin = {1, 0}, .pads_end = {1, 1}});
       }},
      {"avg_pool",
       [](Builder& b) {
         return ops::avg_pool(b, f32_input(b, {1, 3, 6, 6}),
                              {.kernel = {3, 3}, .strides = {1, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}},
                              false);
       }},
      {"softmax",
       [](Builder& b) {
         return ops::softmax(b, f32_input(b, {3, 9}), 1);
       }},
      {"log_softmax",
       [](Builder& b) {
         return ops::softmax(b, f32_input(b, {4, 5}), 0, true);
       }},
      {"softmax_of_long_rows",
       [](Builder& b) {
         return ops::softmax(b, f32_input(b, {2, 3, 149}), 2);
       }},
      {"attention",
       [](Builder& b) {
         Buffer scores = ops::matmul(b, f32_input(b, {2, 19, 8}), f32_input(b, {2, 8, 37}));
         scores = ops::binary(b, ops::BinaryKind::kAdd, scores, f32_input(b, {1, 1, 37}));
         return ops::matmul(b, ops::softmax(b, scores, 2), f32_input(b, {2, 37, 24}));
       }},
      {"attention_of_heads",
       [](Builder& b) {
         const auto heads = [&](int64_t rows) {
           return ops::transpose(b, f32_input(b, {2, rows, 3, 8}), {0, 2, 1, 3});
         };
         const Buffer queries = heads(9), values = heads(21);
         const Buffer scores = ops::softmax(b, ops::matmul(b, queries, f32_input(b, {2, 3, 8, 21})), 3);
         return ops::transpose(b, ops::matmul(b, scores, values), {0, 2, 1, 3});
       }},
      {"softmax_across",
       [](Builder& b) {
         return ops::softmax(b, f32_input(b, {2, 5, 19}), 1);
       }},
      {"softmax_of_one_row", [](Builder& b) { return ops::softmax(b, f32_input(b, {70}), 0); }},
      {"layer_norm",
       [](Builder& b) {
         const auto binary = [&](ops::BinaryKind kind, const Buffer& x, const Buffer& y) {
           return ops::binary(b, kind, x, y);
         };
         Buffer x = f32_input(b, {2, 3, 83});
         Buffer apart =
             binary(ops::BinaryKind::kSub, x, ops::reduce(b, ops::ReduceKind::kMean, x, {2}, true));
         Buffer square = ops::binary(b, ops::BinaryKind::kPow, apart, 2);
         Buffer variance = ops::reduce(b, ops::ReduceKind::kMean, square, {2}, true);
         Buffer deviation =
             ops::unary(b, ops::UnaryKind::kSqrt, ops::binary(b, ops::BinaryKind::kAdd, variance, 1e-5));
         Buffer y = binary(ops::BinaryKind::kDiv, apart, deviation);
         y = binary(ops::BinaryKind::kMul, y, f32_constant(b, {83}));
         return binary(ops::BinaryKind::kAdd, y, f32_constant(b, {83}));
       }},
      {"instance_norm",
       [](Builder& b) {
         Buffer x = f32_input(b, {1, 18, 3, 5});
         Buffer mean = ops::reduce(b, ops::ReduceKind::kMean, x, {2, 3}, true);
         return ops::binary(b, ops::BinaryKind::kSub, x, mean);
       }},
      {"largest_of_a_row",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kMax, f32_input(b, {3, 131}), {1}, false);
       }},
      {"sum_of_all",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kSum, f32_input(b, {3, 31}), {0, 1}, false);
       }},
      {"reduce_mean",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kMean, f32_input(b, {3, 4, 5}), {0, 2}, false);
       }},
      {"lrn",
       [](Builder& b) {
         return ops::lrn(b, f32_input(b, {1, 7, 3, 3}), {.size = 5});
       }},
      {"transpose",
       [](Builder& b) {
         return ops::transpose(b, f32_input(b, {3, 4, 5}), {2, 0, 1});
       }},
      {"reshape",
       [](Builder& b) {
         return ops::reshape(b, f32_input(b, {3, 4, 5}), {tensor::imm(6), tensor::imm(10)});
       }},
      {"unary_chain",
       [](Builder& b) {
         Buffer x = f32_input(b, {2, 9}, {0.25, 2});
         for (auto kind : {ops::UnaryKind::kLog, ops::UnaryKind::kErf, ops::UnaryKind::kSigmoid,
                           ops::UnaryKind::kExp, ops::UnaryKind::kTanh, ops::UnaryKind::kSqrt})
           x = ops::unary(b, kind, ops::unary(b, ops::UnaryKind::kAbs, x));
         return x;
       }},
      {"sin_cos_erf",
       [](Builder& b) {
         Buffer x = f32_input(b, {13}, {-3, 3});
         Buffer y = ops::binary(b, ops::BinaryKind::kAdd, ops::unary(b, ops::UnaryKind::kSin, x),
                                ops::unary(b, ops::UnaryKind::kCos, x));
         return ops::unary(b, ops::UnaryKind::kErf, y);
       }},
      {"rounding",
       [](Builder& b) {
         Buffer x = f32_input(b, {17}, {-3, 3});
         Buffer y = ops::binary(b, ops::BinaryKind::kSub, ops::unary(b, ops::UnaryKind::kFloor, x),
                                ops::unary(b, ops::UnaryKind::kCeil, x));
         return ops::binary(b, ops::BinaryKind::kDiv, ops::unary(b, ops::UnaryKind::kRound, x), y);
       }},
      {"pow",
       [](Builder& b) {
         return ops::binary(b, ops::BinaryKind::kPow, f32_input(b, {3, 5}, {0.5, 2}), f32_input(b, {5}));
       }},
      {"remainder_atan",
       [](Builder& b) {
         Buffer rest =
             ops::binary(b, ops::BinaryKind::kFmod, f32_input(b, {3, 5}, {-9, 9}), f32_input(b, {5}, {2, 3}));
         return ops::unary(b, ops::UnaryKind::kAtan, rest);
       }},
      {"bits",
       [](Builder& b) {
         const std::vector<tensor::Expr> extents = {tensor::imm(4), tensor::imm(9)};
         Buffer x = b.input("x", tensor::Element::kInt8, extents, {-128, 127});
         Buffer y = b.input("y", tensor::Element::kInt8, extents, {-128, 127});
         Buffer both = ops::binary(b, ops::BinaryKind::kBitAnd, x, y);
         return ops::binary(b, ops::BinaryKind::kBitXor, ops::binary(b, ops::BinaryKind::kBitOr, both, x), y);
       }},
      {"divide_integers",
       [](Builder& b) {
         const std::vector<tensor::Expr> extents = {tensor::imm(4), tensor::imm(9)};
         Buffer x = b.input("x", tensor::Element::kInt8, extents, {-128, 127});
         Buffer y = b.input("y", tensor::Element::kInt8, extents, {-3, 3});
         return ops::binary(b, ops::BinaryKind::kDiv, x, y);
       }},
      {"divide_wide_integers",
       [](Builder& b) {
         const std::vector<tensor::Expr> extents = {tensor::imm(4), tensor::imm(9)};
         Buffer x = b.input("x", tensor::Element::kInt64, extents, {-1e6, 1e6});
         Buffer y = b.input("y", tensor::Element::kInt64, extents, {-3, 3});
         return ops::binary(b, ops::BinaryKind::kDiv, x, y);
       }},
      {"where",
       [](Builder& b) {
         Buffer x = f32_input(b, {3, 6}), y = f32_input(b, {6});
         return ops::where(b, ops::binary(b, ops::BinaryKind::kLess, x, y), x, y);
       }},
      {"cast_to_i32",
       [](Builder& b) {
         return ops::cast(b, f32_input(b, {3, 6}, {-9, 9}), tensor::Element::kInt32);
       }},
      {"gemm",
       [](Builder& b) {
         Buffer product =
             ops::matmul(b, f32_input(b, {4, 6}), f32_constant(b, {5, 6}), {.transpose_b = true});
         product = ops::binary(b, ops::BinaryKind::kMul, product, 0.5);
         return ops::binary(b, ops::BinaryKind::kAdd, product, f32_constant(b, {5}));
       }},
      {"reduce_max",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kMax, f32_input(b, {3, 7}), {1}, true);
       }},
      {"reduce_prod",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kProd, f32_input(b, {3, 7}), {0}, false);
       }},
      {"batch_norm",
       [](Builder& b) {
         return ops::batch_norm(
             b, f32_input(b, {2, 3, 4}),
             {f32_constant(b, {3}), f32_constant(b, {3}), f32_constant(b, {3}),
              b.constant("variance", tensor::Element::kFloat32, {tensor::imm(3)}, {0.5, 2})},
             1e-5);
       }},
      {"slice",
       [](Builder& b) {
         return ops::slice(b, f32_input(b, {6, 8}),
                           {.axes = {0, 1}, .starts = {1, 6}, .sizes = {4, 3}, .steps = {1, -2}});
       }},
      {"pad",
       [](Builder& b) {
         return ops::pad(b, f32_input(b, {3, 4}), {1, 0}, {2, 3}, 0.5);
       }},
      {"expand",
       [](Builder& b) {
         return ops::expand(b, f32_input(b, {3, 1}), {tensor::imm(3), tensor::imm(5)});
       }},
      {"gather",
       [](Builder& b) {
         Buffer indices = b.input("indices", tensor::Element::kInt64, {tensor::imm(4)}, {0, 4});
         return ops::gather(b, f32_input(b, {5, 3}), indices, 0);
       }},
      {"concat",
       [](Builder& b) {
         return ops::concat(b, {f32_input(b, {2, 3, 4}), f32_input(b, {2, 5, 4})}, 1);
       }},
  };
  return all;
}

// Whether an input holds integers, whose ends ask for more than other values do.
inline bool has_integers(const tensor::Workload& workload) {
  return std::ranges::any_of(workload.inputs, [](const tensor::Input& input) {
    return !tensor::is_float(input.buffer->element) && input.buffer->element != tensor::Element::kBool;
  });
}

inline tensor::Workload build_small(const SmallWorkload& small) {
  ops::Builder builder;
  tensor::Buffer output = small.make(builder);
  absl::StatusOr<tensor::Workload> workload = builder.finish({output});
  EXPECT_TRUE(workload.ok()) << small.name << ": " << workload.status();
  return ops::fold_transposes(*std::move(workload));  // as graphs do
}

}  // namespace tf::test
