#pragma once
// Owns: what tests of networks for ranges of sizes have in common: a fixture that compares with the evaluator, and networks.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontends/frontends.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/program/evaluate.h"
#include "tests/integration/compiler/built_models.h"
#include "tests/support/onnx/model_writer.h"
#include "tests/unit/compiler/graph/random_graph.h"

namespace tf::driver {

// A file for each size of these dimensions, and of those that it finds.
inline graph::Network network_of(const std::string& bytes, std::vector<graph::NamedDimension> dims = {}) {
  graph::Network network;
  network.dims = std::move(dims);
  network.at = [bytes, dims = network.dims](const tensor::Binding& sizes) {
    frontends::ImportOptions options;
    for (const auto& [name, size] : sizes) {
      const bool is_open = std::ranges::any_of(
          dims, [&, &name = name](const graph::NamedDimension& dim) { return dim.var->name == name; });
      (is_open ? options.dims : options.found)[name] = size;
    }
    return frontends::import_model(bytes, options);
  };
  return network;
}

class OpenSizes : public BuiltModels {
 protected:
  static void expect_right_at(const graph::Network& network, LoadedModel& model,
                              const tensor::Binding& sizes) {
    SCOPED_TRACE(tensor::binding_text(sizes));
    const absl::StatusOr<std::vector<graph::HostTensor>> inputs = random_inputs_at(model, 3, sizes);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const absl::StatusOr<std::vector<graph::HostTensor>> got = model.run(*inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    const std::vector<graph::HostTensor> want = *graph::evaluate(*network.at(sizes), *inputs);
    ASSERT_EQ(got->size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ((*got)[i].shape, want[i].shape);
      double largest = 0;
      for (const double value : graph::read_floats(want[i].element, want[i].data->bytes()))
        largest = std::max(largest, std::fabs(value));
      EXPECT_LE(graph::largest_difference({(*got)[i]}, {want[i]}), 2e-5 * std::max(largest, 1e-3));
    }
  }
};

inline std::vector<float> some_floats(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37) % 101) / 101 - 0.5f;
  return values;
}

inline void name_extent(onnx::ModelWriter& writer, int input, int axis, const std::string& name) {
  auto& type = *writer.graph().mutable_input(input)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->mutable_dim(axis)->set_dim_param(name);
}

// Attention as PyTorch exports it: heads are split by shapes that the network computes, positions are a part of a table,
// and rows are normalized by a mean over their number.
inline std::string attention(bool named_batch) {
  constexpr int64_t kWide = 24, kHeads = 3, kMost = 96;
  onnx::ModelWriter w(17);
  w.input("x", {named_batch ? -1 : 2, -1, kWide});
  if (named_batch) name_extent(w, 0, 0, "batch");
  name_extent(w, 0, 1, "length");
  w.floats("positions", {1, kMost, kWide}, some_floats(kMost * kWide));
  for (const char* name : {"wq", "wk", "wv"}) w.floats(name, {kWide, kWide}, some_floats(kWide * kWide));
  w.ints("zero", {0});
  w.ints("one", {1});
  w.ints("heads", {kHeads});
  w.ints("rest", {-1});
  w.node("Shape", {"x"}, "shape");
  w.node("Gather", {"shape", "zero"}, "batch_size");
  w.node("Gather", {"shape", "one"}, "length");
  w.node("Slice", {"positions", "zero", "length", "one"}, "some_positions");
  w.node("Add", {"x", "some_positions"}, "placed");
  onnx::ModelWriter::set(w.node("Concat", {"batch_size", "length", "heads", "rest"}, "split"), "axis", 0);
  onnx::ModelWriter::set(w.node("Concat", {"batch_size", "length", "rest"}, "joined"), "axis", 0);
  for (const std::string name : {"q", "k", "v"}) {
    w.node("MatMul", {"placed", "w" + name}, name + "_flat");
    w.node("Reshape", {name + "_flat", "split"}, name + "_heads");
    onnx::ModelWriter::set(w.node("Transpose", {name + "_heads"}, name), "perm",
                           name == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
  }
  w.node("MatMul", {"q", "k"}, "scores");
  onnx::ModelWriter::set(w.node("Softmax", {"scores"}, "weights"), "axis", -1);
  w.node("MatMul", {"weights", "v"}, "mixed");
  onnx::ModelWriter::set(w.node("Transpose", {"mixed"}, "back"), "perm", std::vector<int64_t>{0, 2, 1, 3});
  w.node("Reshape", {"back", "joined"}, "rows");
  onnx::ModelWriter::set(w.node("ReduceMean", {"rows"}, "mean"), "axes", std::vector<int64_t>{1});
  w.node("Sub", {"rows", "mean"}, "y");
  w.output("y");
  w.output("mean");
  return w.bytes();
}

}  // namespace tf::driver
