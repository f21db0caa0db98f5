#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/zoo/networks.h"
#include "compiler/frontends/zoo/sequence_writer.h"

namespace tf::zoo {
namespace {

class Gpt2 : public SequenceWriter {
  static constexpr int64_t kVocabulary = 50257, kPositions = 1024, kWidth = 768, kHeads = 12,
                           kHeadWidth = kWidth / kHeads;
  static constexpr int kLayers = 12;
  static constexpr double kEpsilon = 1e-5;

 public:
  explicit Gpt2(const Options& options) : SequenceWriter("gpt2_small", options, 17) {}

  std::string run() && {
    using ::onnx::TensorProto;
    const std::string ids = net_.token_input("input_ids");
    std::vector<std::string> past;
    for (int i = 0; i < kLayers; ++i)
      past.push_back(net_.input(absl::StrCat("past_", i), TensorProto::FLOAT,
                                {{2, ""}, net_.batch(), {kHeads, ""}, net_.past(), {kHeadWidth, ""}}));
    const std::string words =
        net_.tensor("words", {kVocabulary, kWidth}, net_.normal(kVocabulary * kWidth, 0, 0.06));
    const std::string first = extent(past[0], 3), last = binary("Add", first, extent(ids, 1));
    std::string x = binary("Add", binary("Gather", words, ids), positions(first, last));
    const std::string hidden = mask(first, last);
    std::vector<std::string> present;
    for (int i = 0; i < kLayers; ++i) {
      const std::string layer = absl::StrCat("layer", i);
      const std::string mixed =
          attention(layer + ".attention", layer_norm(layer + ".norm1", x, kWidth, kEpsilon),
                    past[static_cast<size_t>(i)], hidden, present);
      x = binary("Add", x, mixed);
      x = binary("Add", x,
                 mlp(layer, layer_norm(layer + ".norm2", x, kWidth, kEpsilon), kWidth, 4 * kWidth, 0.4));
    }
    const std::string logits =
        binary("MatMul", layer_norm("norm", x, kWidth, kEpsilon), transpose(words, {1, 0}));
    net_.output("logits", logits, TensorProto::FLOAT, {net_.batch(), net_.sequence(), {kVocabulary, ""}});
    const bool named = options_.named_lengths;
    for (int i = 0; i < kLayers; ++i)
      net_.output(absl::StrCat("present_", i), present[static_cast<size_t>(i)], TensorProto::FLOAT,
                  {{2, ""},
                   net_.batch(),
                   {kHeads, ""},
                   {2 * options_.sequence, named ? "past + sequence" : ""},
                   {kHeadWidth, ""}});
    return std::move(net_).bytes();
  }

 private:
  // The embeddings of the positions [first, last).
  std::string positions(const std::string& first, const std::string& last) {
    const std::string all =
        net_.tensor("positions", {kPositions, kWidth}, net_.normal(kPositions * kWidth, 0, 0.02));
    const std::string axis = net_.integers("positions.axis", {0});
    net_.node("Slice", "positions.read", {all, unsqueeze(first, 0), unsqueeze(last, 0), axis});
    return "positions.read";
  }

  // [sequence, past + sequence]: what is added to the scores; a token sees none after itself.
  std::string mask(const std::string& first, const std::string& last) {
    const auto range = [&](const std::string& begin) {
      const std::string name = net_.unnamed("Range");
      net_.node("Range", name, {begin, last, one_});
      return name;
    };
    zero_ = whole("zero", 0);
    one_ = whole("one", 1);
    const std::string seen = binary("LessOrEqual", range(zero_), unsqueeze(range(first), 1));
    net_.node("Where", "mask", {seen, scalar(0), scalar(-1e4)});
    return "mask";
  }
  std::string whole(const std::string& name, int64_t value) {
    return binary("Squeeze", net_.integers(name, {value}), net_.integers(name + ".axes", {0}));
  }

  std::string attention(const std::string& name, const std::string& x, const std::string& past,
                        const std::string& hidden, std::vector<std::string>& present) {
    const std::string all = linear(name + ".all", x, kWidth, 3 * kWidth, 1);
    ::onnx::NodeProto& split = net_.node("Split", name + ".query", {all, thirds()});
    set_int(split, "axis", -1);
    split.add_output(name + ".key");
    split.add_output(name + ".value");
    const auto with_past = [&](const char* part, int64_t index) {
      const std::string now = split_heads(name + part, kWidth, kHeads);
      return concat({gather(past, index, 0), now}, 2);
    };
    const std::string key = with_past(".key", 0), value = with_past(".value", 1);
    present.push_back(concat({unsqueeze(key, 0), unsqueeze(value, 0)}, 0));
    const std::string query = split_heads(name + ".query", kWidth, kHeads);
    const std::string mixed = attend(query, transpose(key, {0, 1, 3, 2}), value, kHeadWidth, hidden);
    return linear(name + ".output", merge_heads(mixed, kWidth), kWidth, kWidth, 0.4);
  }
  std::string thirds() {
    if (thirds_.empty()) thirds_ = net_.integers("thirds", {kWidth, kWidth, kWidth});
    return thirds_;
  }

  std::string zero_, one_, thirds_;
};

}  // namespace

std::string gpt2_small(const Options& options) {
  return Gpt2(options).run();
}

}  // namespace tf::zoo
