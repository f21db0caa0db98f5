#include "compiler/ops/sample.h"

#include "absl/strings/str_cat.h"

namespace tf::ops {
namespace {

// More taps are a reduction.
constexpr int64_t kMostUnrolledSamples = 16;

bool is_index(const Buffer& x) {
  return x->element == Element::kInt32 || x->element == Element::kInt64;
}

Expr within(const Expr& index, const Expr& extent) {
  return max(min(tensor::cast(tensor::kIndex, index), extent - 1), tensor::imm(int64_t{0}));
}

}  // namespace

Buffer sample(Builder& b, const SampleOperands& operands, bool greatest) {
  const auto& [x, batches, places, weights] = operands;
  if (b.failed()) return x;
  const bool sums = weights.get() != nullptr;
  const Element element = sums ? accumulator(x->element) : x->element;
  const bool fits = x->rank() == 3 && batches->rank() == 1 && is_index(batches) && places->rank() == 3 &&
                    is_index(places) && same_extent(batches->extents[0], places->extents[1]) &&
                    (!sums || (weights->rank() == 3 && weights->element == element &&
                               same_extent(weights->extents[0], places->extents[0]) &&
                               same_extent(weights->extents[1], places->extents[1]) &&
                               same_extent(weights->extents[2], places->extents[2])));
  const auto taps = fits ? tensor::as_int(places->extents[0]) : std::nullopt;
  if (!taps || *taps < 1)
    return b.fail("sample", absl::StrCat("cannot sample ", describe(x), " at ", describe(places)));
  b.label("sample");
  const Type type{element, 1};
  const auto seen = [&](Indices i, const Expr& tap) {
    const Expr place = at(places, {tap, i[0], i[2]});
    const Expr exists = tensor::imm(Type{places->element, 1}, 0) <= place;
    const Expr value = tensor::cast(
        type, at(x, {within(at(batches, {i[0]}), x->extents[0]), i[1], within(place, x->extents[2])}));
    const Expr known = select(exists, value, tensor::imm(type, 0));
    return sums ? known * at(weights, {tap, i[0], i[2]}) : known;
  };
  const std::vector<Expr> extents = {places->extents[1], x->extents[1], places->extents[2]};
  if (*taps > kMostUnrolledSamples) {
    const Combiner combiner = greatest ? Combiner::kMax : Combiner::kSum;
    const Buffer y = b.reduce("sample", element, extents, {places->extents[0]}, combiner,
                              [&](Indices i, Indices r) { return seen(i, r[0]); });
    return round_to(b, y, x->element);
  }
  const Buffer y = b.compute("sample", element, extents, [&](Indices i) {
    Expr all = seen(i, tensor::imm(int64_t{0}));
    for (int64_t t = 1; t < *taps; ++t) {
      const Expr next = seen(i, tensor::imm(t));
      all = greatest ? max(all, next) : all + next;
    }
    return all;
  });
  return round_to(b, y, x->element);
}

}  // namespace tf::ops
