#include "compiler/frontends/zoo/bert.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/zoo/sequence_writer.h"

namespace tf::zoo {
namespace {

class BertWriter : public SequenceWriter {
  static constexpr int64_t kVocabulary = 30522, kHeadWidth = 64;
  static constexpr double kEpsilon = 1e-12;

 public:
  BertWriter(const std::string& name, const Options& options, const BertShape& shape)
      : SequenceWriter(name, options, shape.opset), width_(shape.width), layers_(shape.layers) {}

  std::string run() && {
    std::string x = embeddings(net_.token_input("input_ids"));
    const std::string hidden = mask(net_.token_input("attention_mask"));
    for (int i = 0; i < layers_; ++i) {
      const std::string layer = absl::StrCat("layer", i);
      const std::string mixed =
          self_attention(layer + ".attention", x, width_, width_ / kHeadWidth, hidden, 1);
      x = layer_norm(layer + ".attention.norm", binary("Add", mixed, x), width_, kEpsilon);
      x = layer_norm(layer + ".norm", binary("Add", mlp(layer, x, width_, 4 * width_, 1), x), width_,
                     kEpsilon);
    }
    net_.output("output", x, ::onnx::TensorProto::FLOAT, {net_.batch(), net_.sequence(), {width_, ""}});
    return std::move(net_).bytes();
  }

 private:
  // The kind of token is a constant, and so are the first tokens' positions, if their number is known, which
  // an exporter folds.
  std::string embeddings(const std::string& ids) {
    const std::string words =
        net_.tensor("embeddings.words", {kVocabulary, width_}, net_.normal(kVocabulary * width_, 0, 0.7));
    const std::string word = binary("Gather", words, ids);
    const std::string kind = net_.tensor("embeddings.kind", {1, 1, width_}, net_.normal(width_, 0, 0.2));
    const int64_t tokens = options_.named_lengths ? kBertPositions : options_.sequence;
    std::string positions =
        net_.tensor("embeddings.positions", {1, tokens, width_}, net_.normal(tokens * width_, 0, 0.5));
    if (options_.named_lengths) {
      const std::string begin = net_.integers("embeddings.begin", {0}),
                        axis = net_.integers("embeddings.axis", {1});
      net_.node("Slice", "embeddings.slice", {positions, begin, unsqueeze(extent(ids, 1), 0), axis});
      positions = "embeddings.slice";
    }
    return layer_norm("embeddings.norm", binary("Add", binary("Add", word, kind), positions), width_,
                      kEpsilon);
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

  const int64_t width_;
  const int layers_;
};

}  // namespace

std::string bert(const std::string& name, const Options& options, const BertShape& shape) {
  return BertWriter(name, options, shape).run();
}

}  // namespace tf::zoo
