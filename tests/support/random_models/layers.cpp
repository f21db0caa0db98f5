// Products, normalisations, losses, recurrences and attention.
#include <algorithm>
#include <map>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

using Names = std::vector<std::string>;

Shape full_shape(RandomModel& m, int64_t least, int64_t most, int64_t elements = 1000) {
  Shape shape = m.shape(least, most, elements);
  for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 1);
  return shape;
}

void matmul(RandomModel& m) {
  const int type = m.type(m.opset() >= 9 ? "fffhdilIL" : "fhd");
  const int64_t inner = m.one_in(20) ? 0 : m.extent();
  const Shape batch = m.shape(0, 3, 12);
  Shape a = m.broadcast_to(batch), b = m.broadcast_to(batch);
  const bool row = m.one_in(6), column = m.one_in(6);
  if (row)
    a.clear();
  else
    a.push_back(m.extent());
  a.push_back(inner);
  if (column) b.clear();
  b.push_back(inner);
  if (!column) b.push_back(m.extent());
  const std::string x = m.operand(type, a);
  m.node("MatMul", {x, m.operand(type, b)});
}

void gemm(RandomModel& m) {
  const int type = m.type(m.opset() >= 9 ? "ffffhdil" : "fhd");
  const int64_t rows = m.extent(), inner = m.extent(), columns = m.extent();
  const bool a = m.flip(), b = m.flip();
  Names inputs = {m.operand(type, a ? Shape{inner, rows} : Shape{rows, inner})};
  inputs.push_back(m.operand(type, b ? Shape{columns, inner} : Shape{inner, columns}));
  if (m.opset() < 11 || m.flip())
    inputs.push_back(m.operand(
        type, m.pick(std::vector<Shape>{{rows, columns}, {columns}, {1, columns}, {rows, 1}, {1}, {}})));
  auto& node = m.node("Gemm", inputs);
  if (a || m.flip()) set(node, "transA", a ? 1 : 0);
  if (b || m.flip()) set(node, "transB", b ? 1 : 0);
  const bool whole = !is_real(type);
  if (m.flip()) set(node, "alpha", whole ? 2.0 : m.real(-2, 2));
  if (m.flip()) set(node, "beta", whole ? 3.0 : m.real(-2, 2));
}

void einsum(RandomModel& m) {
  struct Form {
    const char* equation;
    std::vector<const char*> operands;
  };
  static const std::vector<Form> kForms = {{"ij,jk->ik", {"ij", "jk"}},
                                           {"bij,bjk->bik", {"bij", "bjk"}},
                                           {"ij->ji", {"ij"}},
                                           {"ii->i", {"ii"}},
                                           {"ii", {"ii"}},
                                           {"ij->", {"ij"}},
                                           {"i,j->ij", {"i", "j"}},
                                           {"bhid,bhjd->bhij", {"bhid", "bhjd"}},
                                           {"ijk,jil->kl", {"ijk", "jil"}},
                                           {"ij,ij->i", {"ij", "ij"}},
                                           {"ij,kj", {"ij", "kj"}},
                                           {"i,ij,j->", {"i", "ij", "j"}},
                                           {"bij,jk->bik", {"bij", "jk"}},
                                           {"ab,cd->abcd", {"ab", "cd"}},
                                           {"...ij,...jk->...ik", {"bij", "bjk"}},
                                           {"b...,b...->...", {"bij", "bij"}},
                                           {" i j , j k -> i k ", {"ij", "jk"}}};
  const Form& form = m.pick(kForms);
  std::map<char, int64_t> extents;
  Names inputs;
  const int type = m.type("ffdil");
  for (const char* operand : form.operands) {
    Shape shape;
    for (const char* axis = operand; *axis != '\0'; ++axis) {
      if (!extents.contains(*axis)) extents[*axis] = m.extent(6);
      shape.push_back(extents[*axis]);
    }
    inputs.push_back(m.operand(type, shape));
  }
  set(m.node("Einsum", inputs), "equation", form.equation);
}

void det(RandomModel& m) {
  Shape shape = m.shape(0, 2, 12);
  const int64_t n = m.between(1, 5);
  shape.insert(shape.end(), {n, n});
  m.node("Det", {m.operand(m.type("fd"), shape, Fill::kSmall)});
}

void batch_normalization(RandomModel& m) {
  const Shape shape = full_shape(m, 2, 5);
  const int type = m.type("ffdh");
  Names inputs = {m.operand(type, shape)};
  for (int i = 0; i < 4; ++i)
    inputs.push_back(m.constant(type, {shape[1]}, i == 3 ? Fill::kPositive : Fill::kSmall));
  auto& node = m.node("BatchNormalization", inputs);
  if (m.flip()) set(node, "epsilon", m.real(1e-5, 0.1));
  if (m.flip()) set(node, "momentum", m.real(0.5, 1));
}

void channel_normalization(RandomModel& m) {
  const bool in_groups = m.opset() >= 18 && m.flip();
  const int64_t groups = m.between(1, 3), channels = in_groups ? groups * m.extent(4) : m.extent(7);
  Shape shape = {m.extent(3), channels, m.extent(9)};
  if (m.flip()) shape.push_back(m.extent(7));
  const int64_t scales = in_groups && m.opset() < 21 ? groups : channels;
  const int type = m.type("ffd");
  Names inputs = {m.operand(type, shape), m.operand(type, {scales})};
  inputs.push_back(m.operand(type, {scales}));
  auto& node = m.node(in_groups ? "GroupNormalization" : "InstanceNormalization", inputs);
  if (in_groups) set(node, "num_groups", groups);
  if (m.flip()) set(node, "epsilon", m.real(1e-5, 0.1));
}

void layer_normalization(RandomModel& m) {
  const bool by_square = m.opset() >= 23 && m.flip();
  const Shape shape = full_shape(m, 1, 4);
  const auto axis = m.below(std::ssize(shape));
  const Shape inner(shape.begin() + axis, shape.end());
  const int type = m.type("fffhd");
  Names inputs = {m.operand(type, shape), m.operand(type, inner)};
  if (!by_square && m.flip()) inputs.push_back(m.operand(type, inner));
  auto& node = m.node(by_square ? "RMSNormalization" : "LayerNormalization", inputs,
                      by_square ? 1 : static_cast<int>(m.pick(Shape{1, 1, 3})));
  if (axis != std::ssize(shape) - 1 || m.flip()) set(node, "axis", m.signed_axis(axis, std::ssize(shape)));
  if (m.flip()) set(node, "epsilon", m.real(1e-5, 0.1));
}

void mean_variance_normalization(RandomModel& m) {
  auto& node = m.node("MeanVarianceNormalization",
                      {m.operand(1, {m.between(2, 4), m.extent(4), m.between(2, 6), m.between(2, 6)})});
  if (m.flip()) set(node, "axes", m.flip() ? Shape{0, 2, 3} : Shape{0, 1, 2, 3});
}

void lp_normalization(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 4);
  auto& node = m.node("LpNormalization", {m.operand(m.type("fd"), shape)});
  const int64_t rank = std::ssize(shape);
  if (m.flip()) set(node, "axis", m.between(-rank, rank - 1));
  if (m.flip()) set(node, "p", m.between(1, 2));
}

void lrn(RandomModel& m) {
  auto& node = m.node("LRN", {m.operand(1, full_shape(m, 4, 4))});
  set(node, "size", m.pick(Shape{1, 3, 5, 7}));
  if (m.flip()) set(node, "alpha", m.real(1e-4, 0.5));
  if (m.flip()) set(node, "beta", m.real(0.3, 1));
  if (m.flip()) set(node, "bias", m.real(0.5, 2));
}

// ONNX Runtime's mask is of zeros before set 12, where the text leaves it open.
void dropout(RandomModel& m) {
  const int type = m.type("fhd");
  Names inputs = {m.operand(type, m.shape(0, 4))};
  if (m.opset() >= 12 && m.flip()) inputs.push_back(m.scalar(1, 0.4));
  if (inputs.size() == 2 && m.flip()) inputs.push_back(m.reals(9, {}, {0}, true));
  auto& node = m.node("Dropout", inputs, m.opset() >= 12 && m.flip() ? 2 : 1);
  if (m.opset() < 12 && m.flip()) set(node, "ratio", 0.3);
}

void loss(RandomModel& m) {
  const int64_t classes = m.between(1, 7);
  Shape rest = m.shape(0, 2, 30);
  for (int64_t& extent : rest) extent = std::max<int64_t>(extent, 1);
  Shape labels_shape = {m.extent(5)};
  Shape shape = {labels_shape[0], classes};
  labels_shape.insert(labels_shape.end(), rest.begin(), rest.end());
  shape.insert(shape.end(), rest.begin(), rest.end());
  const bool ignores = m.flip();
  const int64_t ignored = m.flip() ? 0 : -1;
  Shape labels;
  for (int64_t i = 0; i < count_of(labels_shape); ++i)
    labels.push_back(ignores && i > 0 && m.one_in(4) ? ignored : m.below(classes));
  const bool negative = m.flip();
  const int type = m.type("fd");
  Names inputs = {m.operand(type, shape), m.whole(m.type("li"), labels_shape, labels, m.flip())};
  if (m.flip()) inputs.push_back(m.operand(type, {classes}, Fill::kPositive));
  auto& node = m.node(negative ? "NegativeLogLikelihoodLoss" : "SoftmaxCrossEntropyLoss", inputs,
                      !negative && m.one_in(3) ? 2 : 1);
  if (ignores) set(node, "ignore_index", ignored);
  if (m.flip()) set(node, "reduction", m.pick({"mean", "sum", "none"}));
}

void recurrence(RandomModel& m) {
  const std::string op_type = m.pick({"RNN", "GRU", "LSTM"});
  const int64_t gates = op_type == "LSTM" ? 4 : op_type == "GRU" ? 3 : 1;
  const std::string direction = m.pick({"forward", "reverse", "bidirectional"});
  const int64_t d = direction == "bidirectional" ? 2 : 1;
  const int64_t steps = m.between(1, 5), batch = m.between(1, 4), inputs = m.extent(9), units = m.extent(17);
  Names operands = {m.operand(1, {steps, batch, inputs}, Fill::kUnit),
                    m.constant(1, {d, gates * units, inputs}, Fill::kUnit),
                    m.constant(1, {d, gates * units, units}, Fill::kUnit),
                    "",
                    "",
                    ""};
  if (m.flip()) operands[3] = m.constant(1, {d, 2 * gates * units}, Fill::kUnit);
  Shape lengths;
  for (int64_t i = 0; i < batch; ++i) lengths.push_back(m.between(1, steps));
  if (m.flip()) operands[4] = m.whole(6, {batch}, lengths, m.flip());
  if (m.flip()) operands[5] = m.operand(1, {d, batch, units}, Fill::kUnit);
  if (op_type == "LSTM") {
    operands.push_back(m.flip() ? m.operand(1, {d, batch, units}, Fill::kUnit) : "");
    operands.push_back(m.flip() ? m.constant(1, {d, 3 * units}, Fill::kUnit) : "");
  }
  while (operands.back().empty()) operands.pop_back();
  auto& node = m.node(op_type, operands, static_cast<int>(m.between(1, op_type == "LSTM" ? 3 : 2)));
  set(node, "hidden_size", units);
  if (d == 2 || direction == "reverse" || m.flip()) set(node, "direction", direction);
  if (op_type == "GRU" && m.flip()) set(node, "linear_before_reset", m.below(2));
  if (m.one_in(4)) set(node, "clip", 0.5);
}

// Rows of queries, keys and values by heads, or with the heads side by side.
void attention(RandomModel& m) {
  const int64_t batch = m.between(1, 2), kept = m.between(1, 2), heads = kept * m.between(1, 2),
                size = m.pick(Shape{2, 4, 8});
  const int64_t rows = m.between(1, 6), keys = m.between(1, 7), value_size = m.flip() ? size : 3;
  const bool flat = m.flip();
  const int type = m.type("ffh");
  const auto rows_of = [&](int64_t h, int64_t n, int64_t d) {
    return flat ? Shape{batch, n, h * d} : Shape{batch, h, n, d};
  };
  Names inputs = {m.operand(type, rows_of(heads, rows, size)), m.operand(type, rows_of(kept, keys, size))};
  inputs.push_back(m.operand(type, rows_of(kept, keys, value_size)));
  if (m.one_in(3)) {
    const bool is_truth = m.flip();
    inputs.push_back(
        m.operand(is_truth ? 9 : type,
                  m.pick(std::vector<Shape>{{rows, keys}, {1, 1, rows, keys}, {batch, heads, rows, keys}})));
  }
  auto& node = m.node("Attention", inputs);
  if (flat) set(node, "q_num_heads", heads), set(node, "kv_num_heads", kept);
  if (m.one_in(3)) set(node, "is_causal", 1);
  if (m.one_in(3)) set(node, "scale", m.real(0.1, 1));
  if (m.one_in(4)) set(node, "softcap", m.real(1, 4));
}

void rotary(RandomModel& m) {
  const int64_t batch = m.between(1, 2), heads = m.between(1, 3), rows = m.between(1, 5),
                half = m.pick(Shape{1, 2, 4});
  const bool flat = m.flip(), has_places = m.flip();
  const int type = m.type("ffh");
  const int64_t most = 9;
  Names inputs = {
      m.operand(type, flat ? Shape{batch, rows, heads * half * 2} : Shape{batch, heads, rows, half * 2})};
  const Shape table = has_places ? Shape{most, half} : Shape{batch, rows, half};
  inputs.push_back(m.operand(type, table, Fill::kUnit));
  inputs.push_back(m.operand(type, table, Fill::kUnit));
  Shape places;
  for (int64_t i = 0; i < batch * rows; ++i) places.push_back(m.below(most));
  if (has_places) inputs.push_back(m.whole(7, {batch, rows}, places, m.flip()));
  auto& node = m.node("RotaryEmbedding", inputs);
  if (flat) set(node, "num_heads", heads);
  if (m.flip()) set(node, "interleaved", m.below(2));
}

}  // namespace

RandomOperators layer_operators() {
  return {{"MatMul", 7, matmul},
          {"Gemm", 7, gemm},
          {"Einsum", 12, einsum},
          {"Det", 11, det},
          {"BatchNormalization", 9, batch_normalization},
          {"ChannelNormalization", 7, channel_normalization},
          {"LayerNormalization", 17, layer_normalization},
          {"MeanVarianceNormalization", 9, mean_variance_normalization},
          {"LpNormalization", 7, lp_normalization},
          {"LRN", 7, lrn},
          {"Dropout", 7, dropout},
          {"Loss", 13, loss},
          {"Recurrence", 7, recurrence},
          {"Attention", 23, attention},
          {"RotaryEmbedding", 23, rotary}};
}

}  // namespace tf::onnx
