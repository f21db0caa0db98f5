// operator_models FOLDER: writes an ONNX model for each operator that operators.sh compares, and prints their names.
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>

#include "base/files/file.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::bench {
namespace {

using onnx::ModelWriter;
using onnx::set;
using Shape = std::vector<int64_t>;

struct OperatorModel {
  const char* name;
  std::function<void(ModelWriter&)> write;
};

void weights(ModelWriter& net, const std::string& name, const Shape& shape, float largest) {
  std::mt19937 random(static_cast<uint32_t>(net.graph().initializer_size() + 1));
  std::uniform_real_distribution<float> uniform(-largest, largest);
  std::vector<float> values(
      static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
  for (float& value : values) value = uniform(random);
  net.floats(name, shape, values);
}

std::function<void(ModelWriter&)> resize(const Shape& from, const Shape& to) {
  return [=](ModelWriter& net) {
    net.input("x", from);
    net.ints("sizes", to);
    auto& node = net.node("Resize", {"x", "", "", "sizes"}, "y");
    set(node, "mode", "linear");
    set(node, "coordinate_transformation_mode", "pytorch_half_pixel");
  };
}

std::function<void(ModelWriter&)> conv_transpose(int64_t from, int64_t to, int64_t size) {
  return [=](ModelWriter& net) {
    net.input("x", {1, from, size, size});
    weights(net, "w", {from, to, 4, 4}, 0.02f);
    weights(net, "b", {to}, 1);
    auto& node = net.node("ConvTranspose", {"x", "w", "b"}, "y");
    set(node, "strides", Shape{2, 2});
    set(node, "pads", Shape{1, 1, 1, 1});
  };
}

std::function<void(ModelWriter&)> top_k(const Shape& shape, int64_t k) {
  return [=](ModelWriter& net) {
    net.input("x", shape);
    net.ints("k", {k});
    net.node("TopK", {"x", "k"}, "y").add_output("indices");
    net.output("indices");
  };
}

std::function<void(ModelWriter&)> softmax(const Shape& shape) {
  return [=](ModelWriter& net) {
    net.input("x", shape);
    set(net.node("Softmax", {"x"}, "y"), "axis", -1);
  };
}

std::function<void(ModelWriter&)> grid_sample(const Shape& shape, const char* padding) {
  return [=](ModelWriter& net) {
    net.input("x", shape);
    net.input("grid", {shape[0], shape[2], shape[3], 2});
    set(net.node("GridSample", {"x", "grid"}, "y"), "padding_mode", padding);
  };
}

// Two layers, 256 wide, 100 steps, one direction.
std::function<void(ModelWriter&)> recurrent(const char* type, int64_t gates, int64_t batch) {
  return [=](ModelWriter& net) {
    constexpr int64_t kWidth = 256;
    net.input("x", {100, batch, kWidth});
    net.ints("axis", {1});
    std::string x = "x";
    for (const std::string layer : {"0", "1"}) {
      weights(net, "w" + layer, {1, gates * kWidth, kWidth}, 0.08f);
      weights(net, "r" + layer, {1, gates * kWidth, kWidth}, 0.08f);
      weights(net, "b" + layer, {1, 2 * gates * kWidth}, 0.08f);
      auto& node = net.node(type, {x, "w" + layer, "r" + layer, "b" + layer}, "all" + layer);
      set(node, "hidden_size", kWidth);
      x = layer == "1" ? "y" : "y" + layer;
      net.node("Squeeze", {"all" + layer, "axis"}, x);
    }
  };
}

const OperatorModel kModels[] = {
    {"resize_2x_64x56", resize({1, 64, 56, 56}, {1, 64, 112, 112})},
    {"resize_224_to_384", resize({1, 3, 224, 224}, {1, 3, 384, 384})},
    {"resize_512_to_224", resize({1, 3, 512, 512}, {1, 3, 224, 224})},
    {"conv_transpose_256_128_16", conv_transpose(256, 128, 16)},
    {"conv_transpose_512_256_8", conv_transpose(512, 256, 8)},
    {"conv_transpose_64_32_64", conv_transpose(64, 32, 64)},
    {"top_k_1000_of_100000", top_k({1, 100000}, 1000)},
    {"top_k_10_of_8x50000", top_k({8, 50000}, 10)},
    {"softmax_50000", softmax({1, 50000})},
    {"softmax_16x50000", softmax({16, 50000})},
    {"grid_sample_64x64", grid_sample({1, 64, 64, 64}, "zeros")},
    {"grid_sample_3x256_border", grid_sample({1, 3, 256, 256}, "border")},
    {"lstm_1", recurrent("LSTM", 4, 1)},
    {"lstm_8", recurrent("LSTM", 4, 8)},
    {"gru_8", recurrent("GRU", 3, 8)},
};

int run(const std::string& folder) {
  for (const OperatorModel& model : kModels) {
    ModelWriter net(16);
    model.write(net);
    net.output("y");
    for (auto& output : *net.graph().mutable_output())
      output.mutable_type()->mutable_tensor_type()->set_elem_type(
          output.name() == "indices" ? ::onnx::TensorProto::INT64 : ::onnx::TensorProto::FLOAT);
    if (const absl::Status written = write_file(folder + "/" + model.name + ".onnx", net.bytes());
        !written.ok()) {
      std::fprintf(stderr, "operator_models: %s\n", written.ToString().c_str());
      return 1;
    }
    std::printf("%s\n", model.name);
  }
  return 0;
}

}  // namespace
}  // namespace tf::bench

int main(int argc, char** argv) {
  if (argc == 2) return tf::bench::run(argv[1]);
  std::fprintf(stderr, "usage: operator_models FOLDER\n");
  return 2;
}
