// Random RNN, GRU and LSTM operators give ONNX Runtime's outputs. Skipped where ONNX Runtime is not installed
// (deploy/install_peers.sh).
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

using onnx::ModelWriter;

class Recurrence {
 public:
  explicit Recurrence(uint32_t seed) : random_(seed) {}

  std::string model() {
    static const std::vector<std::string> kTypes = {"RNN", "GRU", "LSTM"};
    const std::string type = kTypes[below(3)];
    const int64_t gates = type == "LSTM" ? 4 : type == "GRU" ? 3 : 1;
    static const std::vector<std::string> kDirections = {"forward", "reverse", "bidirectional"};
    const std::string direction = kDirections[below(3)];
    const int64_t d = direction == "bidirectional" ? 2 : 1;
    const int64_t steps = 1 + below(6), batch = 1 + below(4), inputs = 1 + below(9), units = 1 + below(20);
    writer_.input("x", {steps, batch, inputs});
    weights("w", {d, gates * units, inputs});
    weights("r", {d, gates * units, units});
    std::vector<std::string> operands = {"x", "w", "r", "", "", ""};
    if (flip()) operands[3] = weights("b", {d, 2 * gates * units});
    if (flip()) operands[4] = lengths(steps, batch);
    if (flip()) operands[5] = weights("h", {d, batch, units});
    if (type == "LSTM") {
      operands.emplace_back(flip() ? weights("c", {d, batch, units}) : "");
      operands.emplace_back(flip() ? weights("p", {d, 3 * units}) : "");
    }
    auto& node = writer_.node(type, operands, "y");
    for (const char* output : {"y_h", "y_c"})
      if (output != std::string("y_c") || type == "LSTM") node.add_output(output);
    ModelWriter::set(node, "hidden_size", units);
    text(node, "direction", direction);
    if (type == "GRU") ModelWriter::set(node, "linear_before_reset", static_cast<int64_t>(below(2)));
    if (type == "LSTM" && operands[7].empty() && below(4) == 0)
      ModelWriter::set(node, "input_forget", int64_t{1});
    if (below(3) == 0) {
      auto& clip = *node.add_attribute();
      clip.set_name("clip");
      clip.set_type(::onnx::AttributeProto::FLOAT);
      clip.set_f(0.5f);
    }
    if (below(3) == 0)
      activations(node, static_cast<size_t>(d * (type == "LSTM" ? 3 : type == "GRU" ? 2 : 1)));
    for (const std::string& output : node.output()) writer_.output(output);
    return writer_.bytes();
  }

 private:
  int64_t below(int64_t limit) { return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_); }
  bool flip() { return below(2) == 0; }

  std::string weights(const std::string& name, const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    std::uniform_real_distribution<float> uniform(-0.7f, 0.7f);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = uniform(random_);
    writer_.floats(name, shape, values);
    return name;
  }

  std::string lengths(int64_t steps, int64_t batch) {
    auto& tensor = *writer_.graph().add_initializer();
    tensor.set_name("lengths");
    tensor.set_data_type(::onnx::TensorProto::INT32);
    tensor.add_dims(batch);
    for (int64_t i = 0; i < batch; ++i) tensor.add_int32_data(static_cast<int32_t>(1 + below(steps)));
    return "lengths";
  }

  static void text(::onnx::NodeProto& node, const std::string& name, const std::string& value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::STRING);
    attribute.set_s(value);
  }

  void activations(::onnx::NodeProto& node, size_t count) {
    static const std::vector<std::string> kNames = {"Tanh", "Sigmoid", "Relu", "Softsign", "HardSigmoid"};
    auto& attribute = *node.add_attribute();
    attribute.set_name("activations");
    attribute.set_type(::onnx::AttributeProto::STRINGS);
    for (size_t i = 0; i < count; ++i) attribute.add_strings(kNames[below(std::ssize(kNames))]);
  }

  std::mt19937 random_;
  ModelWriter writer_{14};
};

TEST(RecurrentAgainstOnnxRuntime, RandomOperatorsAgree) {
  if (!has_onnx_runtime()) GTEST_SKIP() << "ONNX Runtime is not installed: deploy/install_peers.sh does it";
  const std::string root = testing::TempDir() + "onnxruntime_recurrent_test." + std::to_string(getpid());
  const target::Target target = target::host_target();
  auto pool = driver::BuildPool::create({.workers = 2, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
  ASSERT_TRUE(pool.ok()) << pool.status();
  int refused = 0;
  constexpr uint32_t kCases = 24;
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    const std::string folder = root + "/" + std::to_string(seed);
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/model.onnx";
    ASSERT_TRUE(write_file(path, Recurrence(seed).model()).ok());
    const absl::StatusOr<Reference> reference = ask_onnx_runtime(path, folder);
    if (!reference.ok()) {  // it does not have every form
      ++refused;
      continue;
    }
    absl::StatusOr<graph::Graph> network = frontends::import_file(path, {});
    ASSERT_TRUE(network.ok()) << "seed " << seed << ": " << network.status();
    const auto program = graph::plan_program(*std::move(network), {.lanes = target.fp32_lanes()});
    ASSERT_TRUE(program.ok()) << program.status();
    const std::vector<std::optional<driver::ScheduleChoice>> untuned(program->tasks.size());
    ASSERT_TRUE(driver::build_model(*program, untuned, **pool, {.target = target, .folder = folder}).ok());
    auto model = driver::LoadedModel::open(folder, 1);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto got = (*model)->run(reference->inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), reference->outputs.size());
    for (size_t i = 0; i < got->size(); ++i) {
      EXPECT_EQ((*got)[i].shape, reference->outputs[i].shape) << "seed " << seed;
      const auto ours = graph::read_floats((*got)[i].element, (*got)[i].data->bytes());
      const auto theirs =
          graph::read_floats(reference->outputs[i].element, reference->outputs[i].data->bytes());
      ASSERT_EQ(ours.size(), theirs.size());
      double worst = 0;
      for (size_t k = 0; k < ours.size(); ++k) worst = std::max(worst, std::fabs(ours[k] - theirs[k]));
      EXPECT_LE(worst, 2e-5) << "seed " << seed << ", output " << i;
    }
  }
  EXPECT_LE(refused, static_cast<int>(kCases / 3)) << "else this test shows nothing";
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace tf
