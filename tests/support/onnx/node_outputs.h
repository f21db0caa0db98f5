#pragma once
// Owns: running one ONNX operator on values that a test gives, by import, all passes over graphs and the reference
// evaluator. Does not know: what the operator should give.

#include <cmath>
#include <functional>
#include <random>

#include "compiler/frontends/onnx/import.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/evaluate.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {

// An operand: an input of the model, or, if `known`, an initializer. No shape and no values: left out.
struct Operand {
  tensor::Element element = tensor::Element::kFloat32;
  std::vector<int64_t> shape;
  std::vector<double> values;
  bool known = false;
};

struct OneNode {
  std::string op_type;
  int opset = 24;
  std::vector<Operand> operands;
  std::function<void(::onnx::NodeProto&)> attributes;
  int outputs = 1;
  std::string domain;
};

inline int onnx_type(tensor::Element element) {
  constexpr int kTypes[] = {9, 3, 2, 6, 7, 10, 16, 1, 11, 5, 4, 12, 13};  // in the order of Element
  return kTypes[static_cast<size_t>(element)];
}

inline std::string bytes_of(const Operand& operand) {
  if (tensor::is_float(operand.element)) return graph::write_floats(operand.element, operand.values);
  return graph::write_integers(operand.element, {operand.values.begin(), operand.values.end()});
}

// The model's graph after all passes; its inputs' values are added to `inputs`.
inline absl::StatusOr<graph::Graph> optimized_node(const OneNode& test,
                                                   std::vector<graph::HostTensor>* inputs = nullptr) {
  ModelWriter model(test.opset);
  if (!test.domain.empty()) {
    auto& imported = *model.model.add_opset_import();
    imported.set_domain(test.domain);
    imported.set_version(1);
  }
  std::vector<std::string> names;
  for (const Operand& operand : test.operands) {
    const bool missing = operand.shape.empty() && operand.values.empty();
    names.push_back(missing ? "" : "x" + std::to_string(names.size()));
    if (missing) continue;
    if (!operand.known) {
      model.input(names.back(), operand.shape, onnx_type(operand.element));
      if (inputs)
        inputs->push_back(
            {"", operand.element, operand.shape, std::make_shared<const graph::Blob>(bytes_of(operand))});
      continue;
    }
    auto& tensor = *model.graph().add_initializer();
    tensor.set_name(names.back());
    tensor.set_data_type(onnx_type(operand.element));
    for (int64_t extent : operand.shape) tensor.add_dims(extent);
    tensor.set_raw_data(bytes_of(operand));
  }
  auto& node = model.node(test.op_type, names, "y0");
  node.set_domain(test.domain);
  if (test.attributes) test.attributes(node);
  model.output("y0");
  for (int i = 1; i < test.outputs; ++i) {
    node.add_output("y" + std::to_string(i));
    model.output("y" + std::to_string(i));
  }
  absl::StatusOr<graph::Graph> graph = import_model(model.bytes(), {}, {});
  if (!graph.ok()) return graph.status();
  return graph::optimize(*std::move(graph));
}

// All outputs, or why there are none.
inline absl::StatusOr<std::vector<graph::HostTensor>> run_node(const OneNode& test) {
  std::vector<graph::HostTensor> inputs;
  const absl::StatusOr<graph::Graph> graph = optimized_node(test, &inputs);
  if (!graph.ok()) return graph.status();
  return graph::evaluate(*graph, inputs);
}

inline std::vector<double> numbers(const graph::HostTensor& x) {
  if (tensor::is_float(x.element)) return graph::read_floats(x.element, x.data->bytes());
  const std::vector<int64_t> whole = graph::read_integers(x.element, x.data->bytes());
  return {whole.begin(), whole.end()};
}

// The numbers of output i; nothing, and a failure of the test, if there are none.
inline std::vector<double> node_outputs(const OneNode& test, size_t i = 0) {
  const auto all = run_node(test);
  EXPECT_TRUE(all.ok()) << test.op_type << ": " << all.status();
  return all.ok() ? numbers((*all)[i]) : std::vector<double>{};
}

// Numbers of f32 from [low, high].
inline std::vector<double> drawn(size_t count, double low, double high, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<float> distribution(static_cast<float>(low), static_cast<float>(high));
  std::vector<double> values(count);
  for (double& v : values) v = distribution(generator);
  return values;
}

inline void expect_values(const std::vector<double>& got, const std::vector<double>& want,
                          double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << "element " << i;
}

}  // namespace tf::onnx
