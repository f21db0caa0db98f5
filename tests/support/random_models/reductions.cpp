// Reductions, positions of extremes, and normalised exponentials.
#include <algorithm>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

void reduce(RandomModel& m, const char* op_type, std::string_view types) {
  const bool is_sum = std::string_view(op_type) == "ReduceSum";
  const bool by_operand = m.opset() >= (is_sum ? 13 : 18);
  const int type = m.type(types);
  Shape shape = m.shape(m.one_in(15) ? 0 : 1, 5);
  for (int64_t& extent : shape)
    extent = std::max<int64_t>(extent, 1);  // of nothing ONNX Runtime has odd shapes
  const bool needs_positive =
      std::string_view(op_type).starts_with("ReduceLogSum") && !std::string_view(op_type).ends_with("Exp");
  std::vector<std::string> inputs = {m.operand(type, shape, needs_positive ? Fill::kPositive : Fill::kSmall)};
  const int64_t rank = std::ssize(shape);
  const bool has_axes = !m.one_in(4) && rank > 0;
  const Shape axes = m.some_axes(rank, by_operand ? 0 : 1);
  if (by_operand && has_axes) inputs.push_back(m.list(axes));
  auto& node = m.node(op_type, inputs);
  if (!by_operand && has_axes) set(node, "axes", axes);
  if (m.flip()) set(node, "keepdims", m.below(2));
  if (by_operand && m.one_in(3)) set(node, "noop_with_empty_axes", m.below(2));
}

void position(RandomModel& m, const char* op_type) {
  const int type = m.type(m.opset() >= 13 ? "fhdilbB" : "fdilbB");
  Shape shape = m.shape(1, 4);
  for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 1);
  auto& node = m.node(op_type, {m.operand(type, shape, m.flip() ? Fill::kUnit : Fill::kSmall)});
  const int64_t rank = std::ssize(shape);
  if (m.flip()) set(node, "axis", m.opset() >= 11 ? m.between(-rank, rank - 1) : m.below(rank));
  if (m.flip()) set(node, "keepdims", m.below(2));
  if (m.opset() >= 12 && m.flip()) set(node, "select_last_index", m.below(2));
}

void softmax(RandomModel& m, const char* op_type) {
  const Shape shape = m.shape(m.opset() >= 13 ? 1 : 2, 4);
  const Fill fill = std::string_view(op_type) == "Hardmax" ? Fill::kDistinct : Fill::kSmall;
  auto& node = m.node(op_type, {m.operand(m.type("fhd"), shape, fill)});
  const int64_t rank = std::ssize(shape);
  if (m.flip()) set(node, "axis", m.opset() >= 11 ? m.between(-rank, rank - 1) : m.below(rank));
}

void cumulate(RandomModel& m) {
  const int type = m.type("fdil");
  const Shape shape = m.shape(1, 4);
  const int64_t rank = std::ssize(shape);
  const std::string x = m.operand(type, shape);
  auto& node = m.node(m.opset() >= 26 ? "CumProd" : "CumSum",
                      {x, m.scalar(m.type("li"), static_cast<double>(m.between(-rank, rank - 1)))});
  if (m.flip()) set(node, "exclusive", m.below(2));
  if (m.flip()) set(node, "reverse", m.below(2));
}

}  // namespace

RandomOperators reduction_operators() {
#define TF_REDUCE(op, types)                               \
  {                                                        \
#op, 7, [](RandomModel & m) { reduce(m, #op, types); } \
  }
#define TF_POSITION(op)                               \
  {                                                   \
#op, 7, [](RandomModel & m) { position(m, #op); } \
  }
#define TF_SOFTMAX(op)                               \
  {                                                  \
#op, 7, [](RandomModel & m) { softmax(m, #op); } \
  }
  return {
      TF_REDUCE(ReduceSum, "fhdilIL"),
      TF_REDUCE(ReduceMean, "fhdilIL"),
      TF_REDUCE(ReduceProd, "fhdilIL"),
      TF_REDUCE(ReduceMax, m.opset() >= 20   ? "fhdilbB?"
                           : m.opset() >= 12 ? "fhdilbBIL"
                                             : "fhdilIL"),
      TF_REDUCE(ReduceMin, m.opset() >= 20   ? "fhdilbB?"
                           : m.opset() >= 12 ? "fhdilbBIL"
                                             : "fhdilIL"),
      TF_REDUCE(ReduceL1, "fhdilIL"),
      TF_REDUCE(ReduceL2, "fhdilIL"),
      TF_REDUCE(ReduceSumSquare, "fhdilIL"),
      TF_REDUCE(ReduceLogSum, "fhdilIL"),
      TF_REDUCE(ReduceLogSumExp, "fhd"),  // of integers ONNX Runtime takes exponentials that are whole
      TF_POSITION(ArgMax),
      TF_POSITION(ArgMin),
      TF_SOFTMAX(Softmax),
      TF_SOFTMAX(LogSoftmax),
      TF_SOFTMAX(Hardmax),
      {"CumSum", 11, cumulate},
      {"CumProd", 26, cumulate},
  };
#undef TF_REDUCE
#undef TF_POSITION
#undef TF_SOFTMAX
}

}  // namespace tf::onnx
