// Counts of n-grams.
#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Ints = std::vector<int64_t>;

// The n-grams of one length in the pool, and their numbers there.
struct Grams {
  int64_t length = 1, first = 0;
  std::vector<Ints> items;  // by place in the n-gram
  int64_t count() const { return std::ssize(items[0]); }
};

struct Pool {
  std::vector<Grams> grams;
  Ints columns;  // of the result, by number of the n-gram
  int64_t longest_skip = 0;
};

absl::StatusOr<Pool> pool_of(NodeReader& node) {
  Pool pool;
  if (node.has_attribute("pool_strings")) return node.unsupported("a pool of texts is not supported");
  TF_ASSIGN_OR_RETURN(const int64_t least, node.int_attribute("min_gram_length", 0));
  TF_ASSIGN_OR_RETURN(const int64_t most, node.int_attribute("max_gram_length", 0));
  TF_ASSIGN_OR_RETURN(pool.longest_skip, node.int_attribute("max_skip_count", 0));
  TF_ASSIGN_OR_RETURN(const Ints starts, node.ints_attribute("ngram_counts", {}));
  TF_ASSIGN_OR_RETURN(pool.columns, node.ints_attribute("ngram_indexes", {}));
  TF_ASSIGN_OR_RETURN(const Ints values, node.ints_attribute("pool_int64s", {}));
  if (least < 1 || most < least || most > std::ssize(starts) || pool.longest_skip < 0)
    return node.invalid(
        "min_gram_length, max_gram_length, max_skip_count and ngram_counts do not fit each other");
  int64_t first = 0;
  for (int64_t length = 1; length <= std::ssize(starts); ++length) {
    const auto at = static_cast<size_t>(length - 1);
    const int64_t begin = starts[at], end = at + 1 < starts.size() ? starts[at + 1] : std::ssize(values);
    if (begin < 0 || end < begin || end > std::ssize(values) || (end - begin) % length != 0)
      return node.invalid(absl::StrCat("its pool does not hold whole n-grams of length ", length));
    Grams grams{.length = length, .first = first, .items = std::vector<Ints>(static_cast<size_t>(length))};
    std::set<Ints> known;
    for (int64_t i = begin; i < end; i += length) {
      if (!known.insert(Ints(values.begin() + i, values.begin() + i + length)).second)
        return node.unsupported("an n-gram that stands twice in the pool is not supported");
      for (int64_t j = 0; j < length; ++j)
        grams.items[static_cast<size_t>(j)].push_back(values[static_cast<size_t>(i + j)]);
    }
    first += grams.count();
    if (length >= least && length <= most && grams.count() > 0) pool.grams.push_back(std::move(grams));
  }
  if (first != std::ssize(pool.columns)) return node.invalid("it does not have one index for each n-gram");
  std::set<int64_t> columns(pool.columns.begin(), pool.columns.end());
  if (columns.empty() || *columns.begin() < 0 || *columns.rbegin() > INT32_MAX)
    return node.invalid("it has no index of an n-gram, or one out of range");
  if (columns.size() != pool.columns.size())
    return node.unsupported("one index for several n-grams is not supported");
  return pool;
}

// How often each n-gram stands in each row of x, its items `step` apart: [rows, n-grams].
Term counts_of(Formula& f, const Term& x, const Grams& grams, int64_t step) {
  const Ints shape = x.shape();
  const int64_t places = shape[1] - step * (grams.length - 1);
  const Term nothing =
      expand(f.scalar(0, Element::kFloat32), {tensor::imm(shape[0]), tensor::imm(grams.count())});
  if (places < 1) return nothing;
  std::vector<Term> all;
  for (int64_t j = 0; j < grams.length; ++j) {
    const Term items =
        f.integers({1, 1, grams.count()}, grams.items[static_cast<size_t>(j)], Element::kInt64);
    const Term hit = equal(reshape(slice(x, 1, j * step, places), Ints{shape[0], places, 1}), items);
    all.push_back(all.empty() ? hit : both(all.back(), hit));
  }
  return reduce(graph::ReduceKind::kSum, cast(all.back(), Element::kFloat32), {1}, false) + nothing;
}

absl::StatusOr<NodeId> tf_idf_vectorizer(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const std::string mode = f.attribute("mode", "");
  if (!f.ok()) return f.status();
  if (given.is_float() || given.rank() < 1 || given.rank() > 2)
    return node.invalid("it needs whole numbers of rank 1 or 2, not " + to_string(given.type()));
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return node.invalid(absl::StrCat("attribute 'mode' is '", mode, "'"));
  TF_ASSIGN_OR_RETURN(const Pool pool, pool_of(node));
  const Ints shape = given.rank() == 1 ? Ints{1, given.shape()[0]} : given.shape();
  const Term x = cast(reshape(given, shape), Element::kInt64);
  // The result's columns, and where each stands in the joined counts; the last of those is 0.
  std::vector<Term> parts;
  Ints place_of(pool.columns.size(), -1);
  int64_t joined = 0;
  for (const Grams& grams : pool.grams) {
    Term counts = counts_of(f, x, grams, 1);
    for (int64_t skip = 1; skip <= pool.longest_skip && grams.length > 1; ++skip)
      counts = counts + counts_of(f, x, grams, 1 + skip);
    parts.push_back(counts);
    for (int64_t i = 0; i < grams.count(); ++i) place_of[static_cast<size_t>(grams.first + i)] = joined++;
  }
  parts.push_back(expand(f.scalar(0, Element::kFloat32), {tensor::imm(shape[0]), tensor::imm(1)}));
  const int64_t width = *std::ranges::max_element(pool.columns) + 1;
  Ints places(static_cast<size_t>(width), joined);
  for (size_t i = 0; i < pool.columns.size(); ++i)
    if (place_of[i] >= 0) places[static_cast<size_t>(pool.columns[i])] = place_of[i];
  Term y = gather(concat(parts, 1), f.integers({width}, places, Element::kInt64), 1);
  if (mode == "IDF") y = where(0.0 < y, 1.0, y);
  if (mode != "TF" && node.has_attribute("weights")) {
    TF_ASSIGN_OR_RETURN(const std::vector<double> weights, node.floats_attribute("weights"));
    // Whether a weight is of an n-gram or of its column is said in two ways.
    if (!std::ranges::is_sorted(pool.columns) || width != std::ssize(weights))
      return node.unsupported("weights of n-grams whose indexes are not 0, 1, … are not supported");
    y = y * f.floats({1, width}, weights, Element::kFloat32);
  }
  return f.result(given.rank() == 1 ? reshape(y, Ints{width}) : y);
}

constexpr std::array kNgramRules = {NamedRule{"TfIdfVectorizer", tf_idf_vectorizer}};

}  // namespace

std::span<const NamedRule> ngram_rules() {
  return kNgramRules;
}

}  // namespace tf::onnx
