// Operators of domain com.microsoft.
#include <algorithm>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

using Names = std::vector<std::string>;
constexpr const char* kDomain = "com.microsoft";
constexpr int kU8 = 2, kI32 = 6;

Shape full_shape(RandomModel& m, int64_t least, int64_t most) {
  Shape shape = m.shape(least, most);
  for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 1);
  return shape;
}
void gelu(RandomModel& m) {
  const std::string op_type = m.pick({"BiasGelu", "FastGelu", "Gelu", "QuickGelu"});
  const int type = m.type("ffh");
  const Shape shape = full_shape(m, 1, 4);
  Names inputs = {m.operand(type, shape)};
  if (op_type == "BiasGelu" || (op_type == "FastGelu" && m.flip()))
    inputs.push_back(m.operand(type, {shape.back()}));
  auto& node = m.node(op_type, inputs, 1, kDomain);
  if (op_type == "QuickGelu" && m.flip()) set(node, "alpha", m.real(0.5, 2));
}

void skip_layer_normalization(RandomModel& m) {
  const bool simplified = m.flip();
  const int type = m.type("ffh");
  const int64_t units = m.extent();
  const Shape shape = {m.extent(4), m.extent(6), units};
  Names inputs = {m.operand(type, shape), m.operand(type, shape)};
  inputs.push_back(m.operand(type, {units}));
  if (!simplified) inputs.push_back(m.flip() ? m.operand(type, {units}) : "");
  if (m.flip()) inputs.push_back(m.operand(type, {units}));
  auto& node =
      m.node(simplified ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization", inputs, 1, kDomain);
  if (m.flip()) m.more_results(node, 3);
  if (m.flip()) set(node, "epsilon", m.real(1e-5, 0.01));
}

void simplified_layer_normalization(RandomModel& m) {
  const Shape shape = full_shape(m, 2, 4);
  const std::string x = m.operand(1, shape);
  auto& node = m.node("SimplifiedLayerNormalization", {x, m.operand(1, {shape.back()})});
  set(node, "axis", -1);
  if (m.flip()) set(node, "epsilon", m.real(1e-5, 0.01));
}

void embed_layer_normalization(RandomModel& m) {
  const int64_t batch = m.between(1, 3), rows = m.between(1, 7), units = m.extent();
  const auto ids = [&](int64_t most) {
    Shape values;
    for (int64_t i = 0; i < batch * rows; ++i) values.push_back(m.below(most));
    return m.whole(kI32, {batch, rows}, values, false);
  };
  const bool has_segments = m.flip();
  Names inputs = {ids(11)};
  inputs.push_back(has_segments ? ids(2) : "");
  inputs.push_back(m.constant(1, {11, units}));
  inputs.push_back(m.constant(1, {9, units}));
  inputs.push_back(has_segments ? m.constant(1, {2, units}) : "");
  inputs.push_back(m.constant(1, {units}));
  inputs.push_back(m.constant(1, {units}));
  m.node("EmbedLayerNormalization", inputs, 2, kDomain);
}

void fused_product(RandomModel& m) {
  const bool is_gemm = m.flip(), a = m.flip(), b = m.flip();
  const int64_t rows = m.extent(), inner = m.extent(), columns = m.extent();
  Shape left = a ? Shape{inner, rows} : Shape{rows, inner},
        right = b ? Shape{columns, inner} : Shape{inner, columns};
  if (!is_gemm && m.flip()) left.insert(left.begin(), 2);
  Names inputs = {m.operand(1, left), m.operand(1, right)};
  if (is_gemm && m.flip()) inputs.push_back(m.operand(1, {columns}));
  auto& node = m.node(is_gemm ? "FusedGemm" : "FusedMatMul", inputs, 1, kDomain);
  set(node, "transA", a ? 1 : 0);
  set(node, "transB", b ? 1 : 0);
  if (m.flip()) set(node, "alpha", m.real(-2, 2));
  if (is_gemm) set(node, "activation", m.pick({"Relu", "Tanh", "Sigmoid", "LeakyRelu"}));
}

void fused_conv(RandomModel& m) {
  const int64_t channels = m.extent(4), out = m.extent(6);
  Names inputs = {m.operand(1, {m.between(1, 2), channels, m.between(3, 8), m.between(3, 8)}),
                  m.constant(1, {out, channels, 3, m.between(1, 3)})};
  if (m.flip()) inputs.push_back(m.constant(1, {out}));
  auto& node = m.node("FusedConv", inputs, 1, kDomain);
  const std::string activation = m.pick({"Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"});
  set(node, "activation", activation);
  if (activation == "LeakyRelu") set(node, "activation_params", std::vector<double>{0.1});
  if (activation == "Clip") set(node, "activation_params", std::vector<double>{-1, 2});
  if (activation == "HardSigmoid") set(node, "activation_params", std::vector<double>{0.2, 0.5});
  if (m.flip()) set(node, "pads", Shape{1, 1, 0, 0});
}

void matmul_n_bits(RandomModel& m) {
  const int64_t bits = m.pick(Shape{4, 4, 8}), block = m.pick(Shape{16, 32}),
                inner = m.pick(Shape{16, 32, 48, 64, 40}), columns = m.extent();
  const int64_t blocks = (inner + block - 1) / block, blob = block * bits / 8;
  Names inputs = {m.operand(1, {m.extent(5), inner})};
  Shape bytes(static_cast<size_t>(columns * blocks * blob));
  for (int64_t& byte : bytes) byte = m.below(256);
  inputs.push_back(m.whole(kU8, {columns, blocks, blob}, bytes, true));
  std::vector<double> scales(static_cast<size_t>(columns * blocks));
  for (double& each : scales) each = m.real(0.01, 0.1);
  inputs.push_back(m.reals(1, {columns * blocks}, scales, true));
  if (m.flip()) {
    Shape zeros(static_cast<size_t>(columns * ((blocks * bits + 7) / 8)));
    for (int64_t& byte : zeros) byte = m.below(256);
    inputs.push_back(m.whole(kU8, {std::ssize(zeros)}, zeros, true));
  }
  auto& node = m.node("MatMulNBits", inputs, 1, kDomain);
  set(node, "K", inner);
  set(node, "N", columns);
  set(node, "bits", bits);
  set(node, "block_size", block);
}

// What ONNX's domain has too, or had not when models came to need it.
void distances(RandomModel& m) {
  const int64_t inner = m.extent();
  Names inputs = {m.operand(m.type("f"), {m.extent(), inner})};
  inputs.push_back(m.operand(1, {m.extent(), inner}));
  set(m.node("CDist", inputs, 1, kDomain), "metric", m.pick({"euclidean", "sqeuclidean"}));
}

void trilu(RandomModel& m) {
  Names inputs = {m.operand(1, {m.extent(4), m.extent(), m.extent()})};
  if (m.flip()) inputs.push_back(m.whole(7, {}, {m.between(-3, 3)}, true));
  auto& node = m.node("Trilu", inputs, 1, kDomain);
  if (m.flip()) set(node, "upper", m.below(2));
}

void matmul_of_four_bits(RandomModel& m) {
  const int64_t block = m.pick(Shape{16, 32, 64}), inner = m.pick(Shape{16, 32, 48, 64, 40}),
                columns = m.extent();
  const int64_t blocks = (inner * columns + block - 1) / block;
  Names inputs = {m.operand(1, {m.extent(5), inner})};
  Shape bytes(static_cast<size_t>((inner * columns + 1) / 2));
  for (int64_t& byte : bytes) byte = m.below(256);
  inputs.push_back(m.whole(kU8, {std::ssize(bytes)}, bytes, true));
  std::vector<double> scales(static_cast<size_t>(blocks));
  for (double& each : scales) each = m.real(0.1, 2);
  inputs.push_back(m.reals(1, {blocks}, scales, true));
  auto& node = m.node("MatMulBnb4", inputs, 1, kDomain);
  set(node, "K", inner);
  set(node, "N", columns);
  set(node, "block_size", block);
  set(node, "quant_type", m.below(2));
}

void gather_of_blocks(RandomModel& m) {
  const int64_t block = m.pick(Shape{16, 32}), rows = m.between(2, 9), columns = block * m.between(1, 3);
  const int64_t blocks = columns / block;
  Shape bytes(static_cast<size_t>(rows * columns / 2));
  for (int64_t& byte : bytes) byte = m.below(256);
  const Shape indices = m.shape(0, 2, 12);
  Shape picked;
  for (int64_t i = 0; i < count_of(indices); ++i) picked.push_back(m.below(rows));
  Names inputs = {m.whole(kU8, {rows, columns / 2}, bytes, true)};
  inputs.push_back(m.whole(m.flip() ? 7 : kI32, indices, picked, false));
  std::vector<double> scales(static_cast<size_t>(rows * blocks));
  for (double& each : scales) each = m.real(0.1, 2);
  inputs.push_back(m.reals(1, {rows, blocks}, scales, true));
  if (m.flip()) {
    Shape zeros(static_cast<size_t>(rows * ((blocks + 1) / 2)));
    for (int64_t& byte : zeros) byte = m.below(256);
    inputs.push_back(m.whole(kU8, {rows, (blocks + 1) / 2}, zeros, true));
  }
  auto& node = m.node("GatherBlockQuantized", inputs, 1, kDomain);
  set(node, "block_size", block);
  set(node, "gather_axis", 0);
  set(node, "quantize_axis", 1);
}

void attention(RandomModel& m) {
  const int64_t batch = m.between(1, 2), rows = m.between(1, 6), heads = m.between(1, 3),
                size = m.pick(Shape{2, 4, 8}), in = m.extent();
  const int64_t units = heads * size;
  Names inputs = {m.operand(1, {batch, rows, in}, Fill::kUnit), m.constant(1, {in, 3 * units}, Fill::kUnit)};
  inputs.push_back(m.constant(1, {3 * units}, Fill::kUnit));
  if (m.flip()) {
    Shape lengths;
    const bool is_raw = m.flip();
    for (int64_t i = 0; i < (is_raw ? batch * rows : batch); ++i)
      lengths.push_back(is_raw ? (i % rows == 0 ? 1 : m.below(2)) : m.between(1, rows));
    inputs.push_back(m.whole(kI32, is_raw ? Shape{batch, rows} : Shape{batch}, lengths, m.flip()));
  }
  if (m.one_in(3)) {
    inputs.resize(5);
    inputs.push_back(m.operand(1, {batch, heads, rows, rows}, Fill::kUnit));
  }
  auto& node = m.node("Attention", inputs, 1, kDomain);
  set(node, "num_heads", heads);
  if (m.one_in(3)) set(node, "unidirectional", 1);
  if (m.one_in(4)) set(node, "scale", m.real(0.1, 1));
}

void multi_head_attention(RandomModel& m) {
  const int64_t batch = m.between(1, 2), rows = m.between(1, 6), keys = m.between(1, 6),
                heads = m.between(1, 3), size = m.pick(Shape{2, 4, 8});
  const int64_t units = heads * size;
  Names inputs = {m.operand(1, {batch, rows, units}, Fill::kUnit),
                  m.operand(1, {batch, keys, units}, Fill::kUnit)};
  inputs.push_back(m.operand(1, {batch, keys, units}, Fill::kUnit));
  if (m.flip()) inputs.push_back(m.constant(1, {3 * units}, Fill::kUnit));
  if (m.one_in(3)) {
    inputs.resize(4);
    Shape mask;
    for (int64_t i = 0; i < batch * keys; ++i) mask.push_back(i % keys == 0 ? 1 : m.below(2));
    inputs.push_back(m.whole(kI32, {batch, keys}, mask, m.flip()));
  }
  if (m.one_in(3)) {
    inputs.resize(5);
    inputs.push_back(m.operand(1, {batch, heads, rows, keys}, Fill::kUnit));
  }
  auto& node = m.node("MultiHeadAttention", inputs, 1, kDomain);
  set(node, "num_heads", heads);
  if (m.one_in(4)) set(node, "scale", m.real(0.1, 1));
  if (m.one_in(4)) set(node, "unidirectional", 1);
}

void group_query_attention(RandomModel& m) {
  const int64_t batch = m.between(1, 2), rows = m.between(1, 5), kept = m.between(1, 2),
                heads = kept * m.between(1, 2), size = m.pick(Shape{16, 32});
  Names inputs = {m.operand(1, {batch, rows, heads * size}, Fill::kUnit),
                  m.operand(1, {batch, rows, kept * size}, Fill::kUnit)};
  inputs.push_back(m.operand(1, {batch, rows, kept * size}, Fill::kUnit));
  inputs.insert(inputs.end(), {"", ""});
  inputs.push_back(m.whole(kI32, {batch, 1}, Shape(static_cast<size_t>(batch), rows - 1), true));
  inputs.push_back(m.whole(kI32, {1}, {rows}, true));
  const bool rotates = m.flip();
  if (rotates) {
    inputs.push_back(m.constant(1, {16, size / 2}, Fill::kUnit));
    inputs.push_back(m.constant(1, {16, size / 2}, Fill::kUnit));
  }
  auto& node = m.node("GroupQueryAttention", inputs, 3, kDomain);
  set(node, "num_heads", heads);
  set(node, "kv_num_heads", kept);
  if (rotates) set(node, "do_rotary", 1);
  if (m.one_in(4)) set(node, "scale", m.real(0.1, 1));
  if (m.one_in(4)) set(node, "softcap", 2.0);
}

void rotary(RandomModel& m) {
  const int64_t batch = m.between(1, 2), heads = m.between(1, 3), rows = m.between(1, 5),
                half = m.pick(Shape{4, 8});
  const bool by_heads = m.flip();
  Names inputs = {
      m.operand(1, by_heads ? Shape{batch, heads, rows, 2 * half} : Shape{batch, rows, heads * 2 * half})};
  Shape places;
  for (int64_t i = 0; i < batch * rows; ++i) places.push_back(m.below(9));
  inputs.push_back(m.flip() ? m.whole(7, {1}, {m.below(4)}, true)
                            : m.whole(7, {batch, rows}, places, m.flip()));
  inputs.push_back(m.constant(1, {9, half}, Fill::kUnit));
  inputs.push_back(m.constant(1, {9, half}, Fill::kUnit));
  auto& node = m.node("RotaryEmbedding", inputs, 1, kDomain);
  if (m.flip()) set(node, "interleaved", m.below(2));
}

}  // namespace

RandomOperators microsoft_operators() {
  return {{"com.microsoft.Gelu", 13, gelu},
          {"com.microsoft.SkipLayerNormalization", 13, skip_layer_normalization},
          {"SimplifiedLayerNormalization", 13, simplified_layer_normalization},
          {"com.microsoft.EmbedLayerNormalization", 13, embed_layer_normalization},
          {"com.microsoft.FusedProduct", 13, fused_product},
          {"com.microsoft.FusedConv", 13, fused_conv},
          {"com.microsoft.MatMulNBits", 13, matmul_n_bits},
          {"com.microsoft.MatMulBnb4", 13, matmul_of_four_bits},
          {"com.microsoft.GatherBlockQuantized", 13, gather_of_blocks},
          {"com.microsoft.CDist", 13, distances},
          {"com.microsoft.Trilu", 13, trilu},
          {"com.microsoft.Attention", 13, attention},
          {"com.microsoft.MultiHeadAttention", 13, multi_head_attention},
          {"com.microsoft.GroupQueryAttention", 13, group_query_attention},
          {"com.microsoft.RotaryEmbedding", 13, rotary}};
}

}  // namespace tf::onnx
