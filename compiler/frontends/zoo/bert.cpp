#include "compiler/frontends/zoo/bert.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/zoo/network_writer.h"

namespace tf::zoo {
namespace {

constexpr int64_t kVocabulary = 30522, kHeadWidth = 64;

class BertWriter {
 public:
  BertWriter(const std::string& name, const Options& options, const BertShape& shape)
      : net_(name, options, shape.opset), options_(options), shape_(shape) {}

  std::string run() && {
    heads_shape_ = net_.integers("heads", {0, 0, shape_.width / kHeadWidth, kHeadWidth});
    merged_shape_ = net_.integers("merged", {0, 0, shape_.width});
    std::string x = embeddings(net_.token_input("input_ids"));
    mask_ = mask(net_.token_input("attention_mask"));
    for (int i = 0; i < shape_.layers; ++i) {
      const std::string layer = absl::StrCat("layer", i);
      x = layer_norm(layer + ".attention.norm", binary("Add", attention(layer + ".attention", x), x));
      std::string inner = gelu(linear(layer + ".inner", x, shape_.width, 4 * shape_.width, 1));
      inner = linear(layer + ".outer", inner, 4 * shape_.width, shape_.width, std::sqrt(2.0));
      x = layer_norm(layer + ".norm", binary("Add", inner, x));
    }
    return std::move(net_).finish(x, {options_.sequence, shape_.width});
  }

 private:
  std::string unary(const std::string& op, const std::string& x) {
    const std::string name = net_.unnamed(op);
    net_.node(op, name, {x});
    return name;
  }
  std::string binary(const std::string& op, const std::string& a, const std::string& b) {
    const std::string name = net_.unnamed(op);
    net_.node(op, name, {a, b});
    return name;
  }
  std::string scalar(double value) {
    return net_.tensor(net_.unnamed("scalar"), {}, {static_cast<float>(value)});
  }
  std::string transpose(const std::string& x, std::initializer_list<int64_t> perm) {
    const std::string name = net_.unnamed("Transpose");
    set_ints(net_.node("Transpose", name, {x}), "perm", perm);
    return name;
  }
  std::string vector(const std::string& name, double mean, double deviation) {
    return net_.tensor(name, {shape_.width}, net_.normal(shape_.width, mean, deviation));
  }

  // The first tokens' positions and the kind of token are constants, which an exporter folds.
  std::string embeddings(const std::string& ids) {
    const int64_t width = shape_.width, tokens = options_.sequence;
    const std::string words =
        net_.tensor("embeddings.words", {kVocabulary, width}, net_.normal(kVocabulary * width, 0, 0.7));
    const std::string word = binary("Gather", words, ids);
    const std::string kind = net_.tensor("embeddings.kind", {1, 1, width}, net_.normal(width, 0, 0.2));
    const std::string positions =
        net_.tensor("embeddings.positions", {1, tokens, width}, net_.normal(tokens * width, 0, 0.5));
    return layer_norm("embeddings.norm", binary("Add", binary("Add", word, kind), positions));
  }

  // [batch, 1, 1, sequence]: what is added to the scores.
  std::string mask(const std::string& attention_mask) {
    const std::string wide = binary("Unsqueeze", attention_mask, net_.integers("mask.axes", {1, 2}));
    const std::string seen = net_.unnamed("Cast");
    set_int(net_.node("Cast", seen, {wide}), "to", ::onnx::TensorProto::BOOL);
    const std::string name = "mask";
    net_.node("Where", name, {seen, scalar(0), scalar(-1e4)});
    return name;
  }

  // x · w + b; w is drawn so that unit inputs give results of scale `gain`.
  std::string linear(const std::string& name, const std::string& x, int64_t from, int64_t to, double gain) {
    const double deviation = gain / std::sqrt(static_cast<double>(from));
    const std::string weight =
        net_.tensor(name + ".weight", {from, to}, net_.normal(from * to, 0, deviation));
    const std::string bias = net_.tensor(name + ".bias", {to}, net_.normal(to, 0, 0.1));
    return binary("Add", binary("MatMul", x, weight), bias);
  }

  std::string attention(const std::string& name, const std::string& x) {
    const int64_t width = shape_.width;
    auto heads = [&](const char* part, std::initializer_list<int64_t> perm) {
      return transpose(binary("Reshape", linear(name + part, x, width, width, 1), heads_shape_), perm);
    };
    const std::string query = heads(".query", {0, 2, 1, 3}), key = heads(".key", {0, 2, 3, 1}),
                      value = heads(".value", {0, 2, 1, 3});
    std::string scores = binary("MatMul", query, key);
    scores = binary("Div", scores, scalar(std::sqrt(static_cast<double>(kHeadWidth))));
    scores = binary("Add", scores, mask_);
    const std::string weights = net_.unnamed("Softmax");
    set_int(net_.node("Softmax", weights, {scores}), "axis", -1);
    const std::string mixed = transpose(binary("MatMul", weights, value), {0, 2, 1, 3});
    return linear(name + ".output", binary("Reshape", mixed, merged_shape_), width, width, 1);
  }

  std::string gelu(const std::string& x) {
    const std::string erf = unary("Erf", binary("Div", x, scalar(std::sqrt(2.0))));
    return binary("Mul", binary("Mul", x, binary("Add", erf, scalar(1))), scalar(0.5));
  }

  std::string layer_norm(const std::string& name, const std::string& x) {
    constexpr double kEpsilon = 1e-12;
    const std::string weight = vector(name + ".weight", 1, 0.1), bias = vector(name + ".bias", 0, 0.1);
    if (shape_.opset >= 17) {
      ::onnx::NodeProto& node = net_.node("LayerNormalization", name, {x, weight, bias});
      set_int(node, "axis", -1);
      set_float(node, "epsilon", kEpsilon);
      return name;
    }
    auto mean = [&](const std::string& of) {
      const std::string result = net_.unnamed("ReduceMean");
      set_ints(net_.node("ReduceMean", result, {of}), "axes", {-1});
      return result;
    };
    const std::string apart = binary("Sub", x, mean(x));
    const std::string variance = mean(binary("Pow", apart, scalar(2)));
    const std::string deviation = unary("Sqrt", binary("Add", variance, scalar(kEpsilon)));
    return binary("Add", binary("Mul", binary("Div", apart, deviation), weight), bias);
  }

  NetworkWriter net_;
  const Options options_;
  const BertShape shape_;
  std::string heads_shape_, merged_shape_, mask_;
};

}  // namespace

std::string bert(const std::string& name, const Options& options, const BertShape& shape) {
  return BertWriter(name, options, shape).run();
}

}  // namespace tf::zoo
