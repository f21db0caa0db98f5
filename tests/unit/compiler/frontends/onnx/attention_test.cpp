// Attention and rotary embeddings against plain loops, and functions of a model's own.
#include <google/protobuf/unknown_field_set.h>

#include <cmath>
#include <limits>

#include "tests/support/onnx/attention_loops.h"
#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using testing::HasSubstr;
using Doubles = std::vector<double>;

constexpr double kHidden = -std::numeric_limits<double>::infinity();

TEST(Attention, AgreesWithLoopsForHeadsMasksAndCaps) {
  for (const int64_t kept : {4, 2, 1}) {
    const size_t keys = 5, n = static_cast<size_t>(kept);
    const Doubles q = drawn(kBatch * 4 * kRows * kSize, -1, 1, 1),
                  k = drawn(kBatch * n * keys * kSize, -1, 1, 2),
                  v = drawn(kBatch * n * keys * kSize, -1, 1, 3), mask = drawn(4 * kRows * keys, -1, 1, 4);
    const Operand query{Element::kFloat32, {2, 4, 3, 4}, q}, key{Element::kFloat32, {2, kept, 5, 4}, k},
        value{Element::kFloat32, {2, kept, 5, 4}, v};
    expect_values(node_outputs({.op_type = "Attention", .operands = {query, key, value}}),
                  attention_by_loops(q, k, v, 4, n, keys, 0.5, 0, [](auto...) { return 0; }));
    expect_values(
        node_outputs({.op_type = "Attention",
                      .operands = {query, key, value, {Element::kFloat32, {1, 4, 3, 5}, mask}},
                      .attributes = [](auto& node) { set(node, "scale", 2.0), set(node, "softcap", 0.75); }}),
        attention_by_loops(q, k, v, 4, n, keys, 2, 0.75, [&](size_t, size_t h, size_t i, size_t j) {
          return mask[(h * kRows + i) * keys + j];
        }));
    expect_values(node_outputs({.op_type = "Attention",
                                .operands = {query, key, value},
                                .attributes = [](auto& node) { set(node, "is_causal", 1); }}),
                  attention_by_loops(q, k, v, 4, n, keys, 0.5, 0, [](size_t, size_t, size_t i, size_t j) {
                    return j <= i ? 0 : kHidden;
                  }));
    // Of bool, for fewer keys than there are: the last one is hidden.
    expect_values(
        node_outputs({.op_type = "Attention",
                      .operands = {query,
                                   key,
                                   value,
                                   {Element::kBool, {3, 4}, {1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1}}}}),
        attention_by_loops(q, k, v, 4, n, keys, 0.5, 0, [](size_t, size_t, size_t i, size_t j) {
          const bool hidden = j == 4 || (i == 0 && j == 1) || (i == 1 && (j == 0 || j == 3));
          return hidden ? kHidden : 0;
        }));
    expect_values(node_outputs({.op_type = "Attention",
                                .operands = {query, key, value, {}, {}, {}, {Element::kInt64, {2}, {5, 4}}},
                                .attributes = [](auto& node) { set(node, "is_causal", 1); }}),
                  attention_by_loops(q, k, v, 4, n, keys, 0.5, 0, [](size_t b, size_t, size_t i, size_t j) {
                    return j <= i + (b == 0 ? 2 : 1) ? 0 : kHidden;
                  }));
  }
}

TEST(Attention, PastKeysComeFirst) {
  const Doubles q = drawn(2 * 3 * 8, -1, 1, 1), k = drawn(2 * 3 * 8, -1, 1, 2),
                v = drawn(2 * 3 * 8, -1, 1, 3), past_k = drawn(2 * 2 * 2 * 4, -1, 1, 4),
                past_v = drawn(2 * 2 * 2 * 4, -1, 1, 5);
  // [batch, rows, heads, size] → [batch, heads, rows, size], behind the past.
  const auto split = [](const Doubles& x, const Doubles& past) {
    Doubles y;
    for (size_t b = 0; b < 2; ++b) {
      for (size_t h = 0; h < 2; ++h) {
        for (size_t r = 0; r < 2 && !past.empty(); ++r)
          for (size_t d = 0; d < 4; ++d) y.push_back(past[((b * 2 + h) * 2 + r) * 4 + d]);
        for (size_t r = 0; r < 3; ++r)
          for (size_t d = 0; d < 4; ++d) y.push_back(x[((b * 3 + r) * 2 + h) * 4 + d]);
      }
    }
    return y;
  };
  const OneNode test{.op_type = "Attention",
                     .operands = {{Element::kFloat32, {2, 3, 8}, q},
                                  {Element::kFloat32, {2, 3, 8}, k},
                                  {Element::kFloat32, {2, 3, 8}, v},
                                  {},
                                  {Element::kFloat32, {2, 2, 2, 4}, past_k},
                                  {Element::kFloat32, {2, 2, 2, 4}, past_v}},
                     .attributes =
                         [](auto& node) {
                           set(node, "is_causal", 1), set(node, "q_num_heads", 2),
                               set(node, "kv_num_heads", 2);
                         },
                     .outputs = 3};
  const Doubles heads =
      attention_by_loops(split(q, {}), split(k, past_k), split(v, past_v), 2, 2, 5, 0.5, 0,
                         [](size_t, size_t, size_t i, size_t j) { return j <= i + 2 ? 0 : kHidden; });
  Doubles merged;
  for (size_t b = 0; b < 2; ++b)
    for (size_t r = 0; r < 3; ++r)
      for (size_t h = 0; h < 2; ++h)
        for (size_t d = 0; d < 4; ++d) merged.push_back(heads[((b * 2 + h) * 3 + r) * 4 + d]);
  expect_values(node_outputs(test), merged);
  expect_values(node_outputs(test, 1), split(k, past_k));
  expect_values(node_outputs(test, 2), split(v, past_v));
}

TEST(Attention, AQueryThatSeesNothingGivesZeros) {
  const Operand q{Element::kFloat32, {1, 1, 2, 2}, {1, 2, 3, 4}},
      k{Element::kFloat32, {1, 1, 2, 2}, {1, 0, 0, 1}};
  const Operand v{Element::kFloat32, {1, 1, 2, 1}, {5, 7}};
  const Operand of_bool{Element::kBool, {2, 2}, {0, 0, 0, 1}},
      added{Element::kFloat32, {2, 2}, {kHidden, kHidden, kHidden, 0}};
  for (const Operand& mask : {of_bool, added})
    expect_values(node_outputs({.op_type = "Attention", .operands = {q, k, v, mask}}), {0, 7});
}

TEST(RotaryEmbedding, TurnsPairsOfColumns) {
  const Doubles x = drawn(2 * 2 * 3 * 6, -1, 1, 1), cos = drawn(10 * 2, -1, 1, 2),
                sin = drawn(10 * 2, -1, 1, 3), positions = {0, 4, 9, 3, 2, 1};
  for (const bool interleaved : {false, true}) {
    Doubles want = x;
    for (size_t b = 0; b < 2; ++b) {
      for (size_t h = 0; h < 2; ++h) {
        for (size_t r = 0; r < 3; ++r) {
          const size_t row = ((b * 2 + h) * 3 + r) * 6;
          for (size_t i = 0; i < 2; ++i) {
            const size_t first = row + (interleaved ? 2 * i : i),
                         second = row + (interleaved ? 2 * i + 1 : i + 2);
            const size_t angle = static_cast<size_t>(positions[b * 3 + r]) * 2 + i;
            want[first] = x[first] * cos[angle] - x[second] * sin[angle];
            want[second] = x[first] * sin[angle] + x[second] * cos[angle];
          }
        }
      }
    }
    expect_values(node_outputs({.op_type = "RotaryEmbedding",
                                .operands = {{Element::kFloat32, {2, 2, 3, 6}, x},
                                             {Element::kFloat32, {10, 2}, cos},
                                             {Element::kFloat32, {10, 2}, sin},
                                             {Element::kInt64, {2, 3}, positions}},
                                .attributes =
                                    [&](auto& node) {
                                      set(node, "interleaved", interleaved ? 1 : 0),
                                          set(node, "rotary_embedding_dim", 4);
                                    }}),
                  want);
  }
}

// y = leaky(x) * 2 + shift, where the slope is an attribute with a default and the shift may be left out.
ModelWriter model_with_function(bool shifts, bool has_slope) {
  ModelWriter model(18);
  auto& function = *model.model.add_functions();
  function.set_name("Twice");
  function.set_domain("custom");
  function.add_input("x");
  function.add_input("bound");
  function.add_output("y");
  auto& imported = *function.add_opset_import();
  imported.set_version(18);
  auto& leaky = *function.add_node();
  leaky.set_op_type("LeakyRelu");
  leaky.add_input("x");
  leaky.add_output("t");
  auto& slope = *leaky.add_attribute();
  slope.set_name("alpha");
  slope.set_type(::onnx::AttributeProto::FLOAT);
  slope.set_ref_attr_name("slope");
  ::onnx::AttributeProto slope_default;
  slope_default.set_name("slope");
  slope_default.set_type(::onnx::AttributeProto::FLOAT);
  slope_default.set_f(0.5f);
  function.GetReflection()->MutableUnknownFields(&function)->AddLengthDelimited(
      11, slope_default.SerializeAsString());
  auto& sum = *function.add_node();
  sum.set_op_type("Add");
  sum.add_input("t");
  sum.add_input("t");
  sum.add_output("s");
  auto& clip = *function.add_node();
  clip.set_op_type("Clip");
  clip.add_input("s");
  clip.add_input("bound");
  clip.add_output("y");
  model.input("x", {3});
  model.floats("low", {}, {-1});
  for (const char* name : {"t", "y"}) {  // names of the function's own
    auto& call = model.node("Twice", {name == std::string("t") ? "x" : "t"}, name);
    call.set_domain("custom");
    if (shifts) call.add_input("low");
    if (has_slope) set(call, "slope", 0.25);
  }
  model.output("y");
  return model;
}

TEST(ModelFunctions, AreInlinedWithAttributesAndMissingOperands) {
  const graph::HostTensor x{"", Element::kFloat32, {3}, graph::make_blob(std::vector<float>{1, -1, -8})};
  const auto result = [&](bool shifts, bool has_slope) {
    const auto graph = import_model(model_with_function(shifts, has_slope).bytes(), {}, {});
    EXPECT_TRUE(graph.ok()) << graph.status();
    return numbers((*graph::evaluate(*graph, {x}))[0]);
  };
  EXPECT_EQ(result(false, false), (Doubles{4, -1, -8}));
  EXPECT_EQ(result(false, true), (Doubles{4, -0.25, -2}));
  EXPECT_EQ(result(true, false), (Doubles{4, -1, -1}));
}

TEST(ModelFunctions, ThatCallThemselvesAreRefused) {
  ModelWriter model = model_with_function(false, false);
  auto& inner = *model.model.mutable_functions(0)->mutable_node(0);
  inner.set_op_type("Twice");
  inner.set_domain("custom");
  EXPECT_THAT(import_model(model.bytes(), {}, {}).status().message(), HasSubstr("calls itself"));
}

}  // namespace
}  // namespace tf::onnx
