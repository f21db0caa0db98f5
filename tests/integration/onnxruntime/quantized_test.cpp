// Layers between QuantizeLinear and DequantizeLinear give ONNX Runtime's output as integer kernels. Skipped
// where ONNX Runtime is not installed (deploy/install_peers.sh).
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "base/files/file.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/frontends/frontends.h"
#include "compiler/graph/element_values.h"
#include "tests/integration/onnxruntime/reference.h"
#include "tests/support/onnx/model_writer.h"

namespace tf {
namespace {

using graph::HostTensor;
using onnx::ModelWriter;
using Ints = std::vector<int64_t>;

constexpr int kUInt8 = 2, kInt8 = 3, kInt32 = 6;
constexpr float kYScale = 0.04f;

struct Case {
  const char* name;
  int activations;  // element type
  bool a_scale_a_channel;
};
void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

class QuantizedAgainstOnnxRuntime : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kM = 5, kK = 36, kN = 19;

  void SetUp() override {
    if (!has_onnx_runtime()) GTEST_SKIP() << "ONNX Runtime is not installed: deploy/install_peers.sh does it";
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void integers(const std::string& name, const Ints& shape, int type, int64_t low, int64_t high) {
    auto& tensor = *model_.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    int64_t count = 1;
    for (int64_t extent : shape) {
      tensor.add_dims(extent);
      count *= extent;
    }
    std::uniform_int_distribution<int> uniform(static_cast<int>(low), static_cast<int>(high));
    for (int64_t i = 0; i < count; ++i) tensor.add_int32_data(uniform(random_));
  }
  // x_real → quantized → y_real, as tools that quantize write it.
  void quantize(const std::string& from, const std::string& to, float scale, int64_t zero) {
    model_.floats(to + "_scale", {}, {scale});
    integers(to + "_zero", {}, GetParam().activations, zero, zero);
    model_.node("QuantizeLinear", {from, to + "_scale", to + "_zero"}, to + "_bytes");
    model_.node("DequantizeLinear", {to + "_bytes", to + "_scale", to + "_zero"}, to);
  }
  // A fully connected layer: weights of i8 in rows, a bias of i32.
  void add_layer() {
    const int64_t zero = GetParam().activations == kUInt8 ? 118 : -7;
    auto& x = model_.input("x", {kM, kK});
    static_cast<void>(x);
    quantize("x", "x_real", 0.01f, zero);
    const bool several = GetParam().a_scale_a_channel;
    std::vector<float> scales(several ? static_cast<size_t>(kN) : 1, 0.01f);
    for (size_t n = 0; n < scales.size(); ++n) scales[n] += 0.001f * static_cast<float>(n);
    const Ints scale_shape = several ? Ints{kN} : Ints{};
    integers("w", {kN, kK}, kInt8, -128, 127);
    model_.floats("w_scale", scale_shape, scales);
    ModelWriter::set(model_.node("DequantizeLinear", {"w", "w_scale"}, "w_real"), "axis", 0);
    integers("c", {kN}, kInt32, -5000, 5000);
    for (float& scale : scales) scale *= 0.01f;
    model_.floats("c_scale", scale_shape, scales);
    ModelWriter::set(model_.node("DequantizeLinear", {"c", "c_scale"}, "c_real"), "axis", 0);
    ModelWriter::set(model_.node("Gemm", {"x_real", "w_real", "c_real"}, "y_plain"), "transB", 1);
    quantize("y_plain", "y", kYScale, zero / 2);
    auto& y = *model_.graph().add_output();
    y.set_name("y");
    y.mutable_type()->mutable_tensor_type()->set_elem_type(1);
  }
  absl::StatusOr<HostTensor> ours(const graph::Program& program, const std::vector<HostTensor>& inputs) {
    auto pool = driver::BuildPool::create({.workers = 1, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
    if (!pool.ok()) return pool.status();
    const auto report =
        driver::build_model(program, std::vector<std::optional<driver::ScheduleChoice>>(program.tasks.size()),
                            **pool, {.target = target_, .folder = root_});
    if (!report.ok()) return report.status();
    auto loaded = driver::LoadedModel::open(root_, 1);
    if (!loaded.ok()) return loaded.status();
    auto outputs = (*loaded)->run(inputs);
    if (!outputs.ok()) return outputs.status();
    return outputs->front();
  }

  ModelWriter model_;
  std::mt19937 random_{1};
  const target::Target target_ = target::host_target();
  const std::string root_ = testing::TempDir() + "onnxruntime_quantized_test." + std::to_string(getpid());
};

bool multiplies_integers(const graph::Graph& network) {
  for (size_t i = 0; i < network.nodes.size(); ++i)
    if (std::holds_alternative<graph::MatMul>(network.nodes[i].op))
      return network.type(static_cast<graph::NodeId>(i)).element == tensor::Element::kInt32;
  return false;
}

TEST_P(QuantizedAgainstOnnxRuntime, AFullyConnectedLayerAgreesWithinOneStep) {
  add_layer();
  ASSERT_TRUE(write_file(root_ + "/model.onnx", model_.bytes()).ok());
  const absl::StatusOr<Reference> reference = ask_onnx_runtime(root_ + "/model.onnx", root_);
  ASSERT_TRUE(reference.ok()) << reference.status();
  absl::StatusOr<graph::Graph> network = frontends::import_file(root_ + "/model.onnx", {});
  ASSERT_TRUE(network.ok()) << network.status();
  EXPECT_TRUE(multiplies_integers(*network));
  const auto program = graph::plan_program(*std::move(network), {.lanes = target_.fp32_lanes()});
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<HostTensor> got = ours(*program, reference->inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  const std::vector<double> a = graph::read_floats(got->element, got->data->bytes());
  const HostTensor& expected = reference->outputs.front();
  const std::vector<double> b = graph::read_floats(expected.element, expected.data->bytes());
  ASSERT_EQ(a.size(), static_cast<size_t>(kM * kN));
  ASSERT_EQ(b.size(), a.size());
  int apart = 0;
  std::vector<double> distinct = b;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE(std::fabs(a[i] - b[i]), 1.001 * static_cast<double>(kYScale)) << i;
    apart += std::fabs(a[i] - b[i]) > 0.5 * static_cast<double>(kYScale);
  }
  EXPECT_LE(apart, 3) << "rounding half way differs rarely";
  std::sort(distinct.begin(), distinct.end());
  EXPECT_GT(std::unique(distinct.begin(), distinct.end()) - distinct.begin(), 20) << "saturated";
}

INSTANTIATE_TEST_SUITE_P(Gemm, QuantizedAgainstOnnxRuntime,
                         testing::Values(Case{"unsigned_activations", kUInt8, false},
                                         Case{"signed_activations", kInt8, false},
                                         Case{"a_scale_a_channel", kUInt8, true}),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace tf
