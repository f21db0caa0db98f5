// Counts of n-grams against a plain search of every row.
#include <gmock/gmock.h>

#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

// Single items 3 and 1, pairs (1, 2), (3, 3) and (2, 1), one triple (1, 2, 1); their columns, of which 1 and 6 are of none.
const Ints kPool = {3, 1, 1, 2, 3, 3, 2, 1, 1, 2, 1};
const Ints kStarts = {0, 2, 8};
const Ints kColumns = {5, 0, 2, 7, 3, 4};

OneNode vectorizer(const std::string& mode, int64_t least, int64_t most, int64_t skips, const Operand& x) {
  return {
      .op_type = "TfIdfVectorizer", .opset = 13, .operands = {x}, .attributes = [=](::onnx::NodeProto& node) {
        set(node, "mode", mode.c_str());
        ModelWriter::set(node, "min_gram_length", least);
        ModelWriter::set(node, "max_gram_length", most);
        ModelWriter::set(node, "max_skip_count", skips);
        ModelWriter::set(node, "ngram_counts", kStarts);
        ModelWriter::set(node, "ngram_indexes", kColumns);
        ModelWriter::set(node, "pool_int64s", kPool);
      }};
}

// By the operator's text: items of an n-gram are 1 to skips + 1 apart, and single items count once.
Doubles searched(const Doubles& row, int64_t least, int64_t most, int64_t skips) {
  Doubles counts(8);
  size_t number = 0;
  for (size_t n = 1; n <= 3; ++n) {
    const auto begin = static_cast<size_t>(kStarts[n - 1]),
               end = n < 3 ? static_cast<size_t>(kStarts[n]) : kPool.size();
    for (size_t gram = begin; gram < end; gram += n, ++number) {
      if (static_cast<int64_t>(n) < least || static_cast<int64_t>(n) > most) continue;
      for (size_t step = 1; step <= (n == 1 ? 1 : static_cast<size_t>(skips) + 1); ++step) {
        for (size_t at = 0; at + step * (n - 1) < row.size(); ++at) {
          bool hit = true;
          for (size_t j = 0; j < n; ++j)
            hit = hit && row[at + j * step] == static_cast<double>(kPool[gram + j]);
          counts[static_cast<size_t>(kColumns[number])] += hit ? 1 : 0;
        }
      }
    }
  }
  return counts;
}

TEST(Ngrams, AreCountedInEveryRow) {
  for (const int64_t length : {1, 2, 9}) {
    for (const auto& [least, most, skips] :
         {std::tuple(1, 1, 0), {1, 2, 0}, {2, 3, 1}, {1, 3, 4}, {3, 3, 2}, {2, 2, 5}}) {
      Operand x{Element::kInt32, {3, length}, {}};
      Doubles want;
      for (int row = 0; row < 3; ++row) {
        Doubles items = drawn(static_cast<size_t>(length), 1, 4, static_cast<uint64_t>(row + 7));
        for (double& item : items) item = std::floor(item);
        x.values.insert(x.values.end(), items.begin(), items.end());
        const Doubles counts = searched(items, least, most, skips);
        want.insert(want.end(), counts.begin(), counts.end());
      }
      EXPECT_EQ(node_outputs(vectorizer("TF", least, most, skips, x)), want)
          << length << least << most << skips;
      for (double& count : want) count = count > 0 ? 1 : 0;
      EXPECT_EQ(node_outputs(vectorizer("IDF", least, most, skips, x)), want);
    }
  }
  const Operand flat{Element::kInt64, {4}, {1, 2, 1, 2}};
  EXPECT_EQ(node_outputs(vectorizer("TFIDF", 1, 3, 0, flat)), searched(flat.values, 1, 3, 0));
}

TEST(Ngrams, AreWeightedByColumnWhereThatIsTheirNumber) {
  OneNode test = vectorizer("TFIDF", 1, 1, 0, {Element::kInt64, {4}, {1, 2, 1, 3}});
  const bool orders[] = {true, false};
  for (const bool in_order : orders) {
    test.attributes = [=](::onnx::NodeProto& node) {
      set(node, "mode", "TFIDF");
      for (const char* name : {"min_gram_length", "max_gram_length"}) ModelWriter::set(node, name, 1);
      ModelWriter::set(node, "max_skip_count", 0);
      ModelWriter::set(node, "ngram_counts", Ints{0});
      ModelWriter::set(node, "ngram_indexes", in_order ? Ints{0, 1} : Ints{1, 0});
      ModelWriter::set(node, "pool_int64s", Ints{1, 3});
      auto& weights = attribute(node, "weights");
      weights.set_type(::onnx::AttributeProto::FLOATS);
      weights.add_floats(0.5f);
      weights.add_floats(4);
    };
    if (in_order)
      EXPECT_EQ(node_outputs(test), (Doubles{1, 4}));
    else
      EXPECT_THAT(std::string(run_node(test).status().message()), testing::HasSubstr("weights of n-grams"));
  }
}

}  // namespace
}  // namespace tf::onnx
