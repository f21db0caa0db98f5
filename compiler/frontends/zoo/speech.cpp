// Networks that read sequences of words or of speech.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/zoo/networks.h"
#include "compiler/frontends/zoo/sequence_writer.h"

namespace tf::zoo {
namespace {

using ::onnx::TensorProto;

class LstmTagger : public SequenceWriter {
 public:
  explicit LstmTagger(const Options& options) : SequenceWriter("lstm_tagger", options, 14) {}

  std::string run() && {
    constexpr int64_t kVocabulary = 20000, kEmbedding = 100, kUnits = 128, kTags = 17;
    const std::string ids = net_.token_input("input_ids");
    const std::string words =
        net_.tensor("words", {kVocabulary, kEmbedding}, net_.normal(kVocabulary * kEmbedding, 0, 1));
    std::string x = transpose(binary("Gather", words, ids), {1, 0, 2});
    x = lstm("lstm1", x, kEmbedding, kUnits);
    x = lstm("lstm2", x, 2 * kUnits, kUnits);
    const std::string probabilities = softmax(linear("tags", transpose(x, {1, 0, 2}), 2 * kUnits, kTags, 4));
    const std::string best = net_.unnamed("ArgMax");
    ::onnx::NodeProto& node = net_.node("ArgMax", best, {probabilities});
    set_int(node, "axis", -1);
    set_int(node, "keepdims", 0);
    net_.output("probabilities", probabilities, TensorProto::FLOAT,
                {net_.batch(), net_.sequence(), {kTags, ""}});
    net_.output("tags_of_tokens", best, TensorProto::INT64, {net_.batch(), net_.sequence()});
    return std::move(net_).bytes();
  }

 private:
  // Both directions: [sequence, batch, from] → [sequence, batch, 2 * units].
  std::string lstm(const std::string& name, const std::string& x, int64_t from, int64_t units) {
    const double deviation = 1 / std::sqrt(static_cast<double>(units));
    const auto weights = [&](const char* part, int64_t columns) {
      return net_.tensor(name + part, {2, 4 * units, columns},
                         net_.normal(2 * 4 * units * columns, 0, deviation));
    };
    const std::string bias = net_.tensor(name + ".bias", {2, 8 * units}, net_.normal(2 * 8 * units, 0, 0.1));
    ::onnx::NodeProto& node = net_.node(
        "LSTM", name, {x, weights(".input_weights", from), weights(".recurrent_weights", units), bias});
    set_int(node, "hidden_size", units);
    ::onnx::AttributeProto& direction = *node.add_attribute();
    direction.set_name("direction");
    direction.set_type(::onnx::AttributeProto::STRING);
    direction.set_s("bidirectional");
    return reshape(transpose(name, {0, 2, 1, 3}), {0, 0, 2 * units});
  }
};

class Conformer : public SequenceWriter {
 public:
  explicit Conformer(const Options& options) : SequenceWriter("conformer", options, 17) {}

  std::string run() && {
    constexpr int64_t kFeatures = 80;
    const std::string frames =
        net_.input("frames", TensorProto::FLOAT, {net_.batch(), net_.sequence(), {kFeatures, ""}});
    std::string x = linear("input", frames, kFeatures, kWidth, 1.7);
    for (int i = 0; i < 2; ++i) x = block(absl::StrCat("block", i), x);
    net_.output("output", x, TensorProto::FLOAT, {net_.batch(), net_.sequence(), {kWidth, ""}});
    return std::move(net_).bytes();
  }

 private:
  static constexpr int64_t kWidth = 144, kHeads = 4, kKernel = 31;

  std::string norm(const std::string& name, const std::string& x) {
    return layer_norm(name, x, kWidth, 1e-5);
  }

  std::string block(const std::string& name, std::string x) {
    x = binary("Add", x, half_step(name + ".first", x));
    x = binary("Add", x,
               self_attention(name + ".attention", norm(name + ".attention.norm", x), kWidth, kHeads, "", 1));
    x = binary("Add", x, convolution(name + ".convolution", x));
    x = binary("Add", x, half_step(name + ".second", x));
    return norm(name + ".norm", x);
  }

  std::string half_step(const std::string& name, const std::string& x) {
    const std::string inner = silu(linear(name + ".inner", norm(name + ".norm", x), kWidth, 4 * kWidth, 1));
    return binary("Mul", linear(name + ".outer", inner, 4 * kWidth, kWidth, 1.5), scalar(0.5));
  }

  // A gated pointwise, a depthwise and a pointwise convolution along the sequence.
  std::string convolution(const std::string& name, const std::string& x) {
    const std::string across = transpose(norm(name + ".norm", x), {0, 2, 1});
    const std::string wide = conv(name + ".gated", across, {2 * kWidth, kWidth, 1}, 1);
    ::onnx::NodeProto& split =
        net_.node("Split", name + ".value", {wide, net_.integers(name + ".halves", {kWidth, kWidth})});
    set_int(split, "axis", 1);
    split.add_output(name + ".gate");
    std::string y = binary("Mul", name + ".value", unary("Sigmoid", name + ".gate"));
    y = conv(name + ".depthwise", y, {kWidth, 1, kKernel}, kWidth);
    y = silu(net_.batch_norm(name + ".bn", {y, kWidth}).value);
    return transpose(conv(name + ".pointwise", y, {kWidth, kWidth, 1}, 1), {0, 2, 1});
  }
  std::string conv(const std::string& name, const std::string& x, const std::vector<int64_t>& shape,
                   int64_t groups) {
    const int64_t count = shape[0] * shape[1] * shape[2];
    const double deviation = 1.4 / std::sqrt(static_cast<double>(shape[1] * shape[2]));
    ::onnx::NodeProto& node =
        net_.node("Conv", name,
                  {x, net_.tensor(name + ".weight", shape, net_.normal(count, 0, deviation)),
                   net_.tensor(name + ".bias", {shape[0]}, net_.normal(shape[0], 0, 0.1))});
    set_ints(node, "kernel_shape", {shape[2]});
    set_ints(node, "pads", {shape[2] / 2, shape[2] / 2});
    set_int(node, "group", groups);
    return name;
  }
};

}  // namespace

std::string lstm_tagger(const Options& options) {
  return LstmTagger(options).run();
}

std::string conformer(const Options& options) {
  return Conformer(options).run();
}

}  // namespace tf::zoo
