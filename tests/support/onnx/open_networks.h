#pragma once
// Owns: small networks that have named dimensions, and what is needed to write more. Does not know: who builds them.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {

inline std::vector<float> some_floats(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37) % 101) / 101 - 0.5f;
  return values;
}

inline void name_extent(ModelWriter& writer, int input, int axis, const std::string& name) {
  auto& type = *writer.graph().mutable_input(input)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->mutable_dim(axis)->set_dim_param(name);
}

// Attention as PyTorch exports it: heads are split by shapes that the network computes, positions are a part of a table,
// and rows are normalized by a mean over their number.
inline std::string attention(bool named_batch) {
  constexpr int64_t kWide = 24, kHeads = 3, kMost = 96;
  ModelWriter w(17);
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
  ModelWriter::set(w.node("Concat", {"batch_size", "length", "heads", "rest"}, "split"), "axis", 0);
  ModelWriter::set(w.node("Concat", {"batch_size", "length", "rest"}, "joined"), "axis", 0);
  for (const std::string name : {"q", "k", "v"}) {
    w.node("MatMul", {"placed", "w" + name}, name + "_flat");
    w.node("Reshape", {name + "_flat", "split"}, name + "_heads");
    ModelWriter::set(w.node("Transpose", {name + "_heads"}, name), "perm",
                     name == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
  }
  w.node("MatMul", {"q", "k"}, "scores");
  ModelWriter::set(w.node("Softmax", {"scores"}, "weights"), "axis", -1);
  w.node("MatMul", {"weights", "v"}, "mixed");
  ModelWriter::set(w.node("Transpose", {"mixed"}, "back"), "perm", std::vector<int64_t>{0, 2, 1, 3});
  w.node("Reshape", {"back", "joined"}, "rows");
  ModelWriter::set(w.node("ReduceMean", {"rows"}, "mean"), "axes", std::vector<int64_t>{1});
  w.node("Sub", {"rows", "mean"}, "y");
  w.output("y");
  w.output("mean");
  return w.bytes();
}

// Parts with n and m rows, joined; between kernels there are host functions, which take the joined number of rows.
inline std::string joined_parts() {
  ModelWriter w(17);
  w.input("x", {-1, 16});
  w.input("y", {-1, 16});
  name_extent(w, 0, 0, "n");
  name_extent(w, 1, 0, "m");
  w.node("Relu", {"x"}, "a");
  w.node("Neg", {"y"}, "b");
  ModelWriter::set(w.node("Concat", {"a", "b"}, "both"), "axis", 0);
  w.ints("axis", {0});
  w.node("CumSum", {"both", "axis"}, "sums");
  w.node("Exp", {"sums"}, "powers");
  ModelWriter::set(w.node("Transpose", {"sums"}, "turned"), "perm", std::vector<int64_t>{1, 0});
  w.ints("three", {3});
  w.node("TopK", {"turned", "three"}, "largest").add_output("places");
  for (const char* output : {"powers", "turned", "largest"}) w.output(output);
  return w.bytes();
}

}  // namespace tf::onnx
