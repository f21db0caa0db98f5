// A network with more weights than 2 GiB, in a file beside it that is mostly holes.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "base/files/owned_fd.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"
#include "tests/integration/compiler/commands.h"
#include "tests/support/onnx/model_writer.h"

namespace tf {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kWidth = 1 << 13, kLayers = 12;  // 256 MiB each
constexpr int64_t kLayerBytes = kWidth * kWidth * static_cast<int64_t>(sizeof(float));

// Bytes that a program could take: the machine's, or 0.
uint64_t available_bytes() {
  std::ifstream in("/proc/meminfo");
  for (std::string name; in >> name;) {
    uint64_t kilobytes = 0;
    if (name == "MemAvailable:" && in >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

class LargeWeights : public Commands {
 protected:
  // y = x · w1 · … · w12, where each w has one element that is not zero: w_k[k - 1, k] = k.
  void write_model() {
    onnx::ModelWriter model;
    model.input("x", {1, kWidth});
    std::string value = "x";
    const OwnedFd data(::open(file("weights.bin").c_str(), O_WRONLY | O_CREAT, 0600));
    ASSERT_EQ(::ftruncate(data.get(), kLayers * kLayerBytes), 0);
    for (int64_t k = 1; k <= kLayers; ++k) {
      const auto element = static_cast<float>(k);
      const int64_t begin = (k - 1) * kLayerBytes;
      ASSERT_EQ(::pwrite(data.get(), &element, sizeof element,
                         begin + static_cast<int64_t>(sizeof element) * ((k - 1) * kWidth + k)),
                static_cast<ssize_t>(sizeof element));
      ::onnx::TensorProto& tensor = *model.graph().add_initializer();
      tensor.set_name("w" + std::to_string(k));
      tensor.set_data_type(::onnx::TensorProto::FLOAT);
      tensor.add_dims(kWidth);
      tensor.add_dims(kWidth);
      tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
      const auto entry = [&](const char* key, const std::string& text) {
        tensor.add_external_data()->set_key(key);
        tensor.mutable_external_data()->rbegin()->set_value(text);
      };
      entry("location", "weights.bin");
      entry("offset", std::to_string(begin));
      entry("length", std::to_string(kLayerBytes));
      const std::string next = k == kLayers ? "y" : "y" + std::to_string(k);
      model.node("MatMul", {value, tensor.name()}, next);
      value = next;
    }
    model.output("y");
    std::ofstream(file("net.onnx"), std::ios::binary) << model.bytes();
  }
};

TEST_F(LargeWeights, OfThreeGigabytesAreImportedBuiltAndRun) {
  constexpr uint64_t kNeeded = 3 * kLayers * kLayerBytes;
  if (available_bytes() < kNeeded || fs::space(root_).available < kNeeded)
    GTEST_SKIP() << "it needs 9 GiB of memory and of disk";
  ASSERT_NO_FATAL_FAILURE(write_model());
  const Answer built = run("build " + file("net.onnx") + " -o " + file("net") + " --jobs 1");
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_GT(fs::file_size(file("net/model.so")), uint64_t{kLayers} * kLayerBytes);
  std::vector<float> x(kWidth, 0.0f);
  x[0] = 1;
  ASSERT_TRUE(
      onnx::write_tensor(file("x.pb"), {"x", tensor::Element::kFloat32, {1, kWidth}, graph::make_blob(x)})
          .ok());
  const Answer ran = run("run " + file("net") + " --input x=" + file("x.pb") + " -o " + file("out"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto y = onnx::read_tensor(file("out/output_0.pb"));
  ASSERT_TRUE(y.ok()) << y.status();
  std::vector<double> wanted(kWidth, 0.0);
  wanted[kLayers] = 479001600;  // 12!
  EXPECT_EQ(graph::read_floats(y->element, y->data->bytes()), wanted);
  const Answer archive = run("build " + file("net.onnx") + " -o " + file("net") + " --static --jobs 1");
  EXPECT_NE(archive.code, 0);
  EXPECT_THAT(archive.err,
              testing::HasSubstr("the model has 3072 MiB of weights; a static archive takes at most 1024"));
}

}  // namespace
}  // namespace tf
