#include "tuner/model/learned/features.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace tf::model {
namespace {

Value magnitude(const Value& x) {
  return log2(1 + max(x, 0));
}
Value share(const Value& part, const Value& whole) {
  return select(less(0, whole), part / max(whole, 1e-30), 0);
}

// Writes features one after another, so that adding one is adding a line.
class Row {
 public:
  // One that means the same in all tasks.
  void add(const Value& value) { add(value, /*relative=*/true); }
  // One that tells a task's size or kind.
  void add_own(const Value& value) { add(value, /*relative=*/false); }
  std::array<Value, kFeatureCount> finish() const {
    TF_CHECK(next_ == kFeatureCount) << "kFeatureCount is not " << next_;
    return row_;
  }
  const std::array<bool, kFeatureCount>& relative() const { return relative_; }

 private:
  void add(const Value& value, bool relative) {
    TF_CHECK(next_ < kFeatureCount) << "more features than kFeatureCount";
    relative_[next_] = relative;
    row_[next_++] = value;
  }

  std::array<Value, kFeatureCount> row_;
  std::array<bool, kFeatureCount> relative_ = {};
  size_t next_ = 0;
};

void add_shape(const Nest& nest, const target::Target& target, int threads, Row& row) {
  const double lanes = target.fp32_lanes();
  row.add_own(magnitude(nest.iterations));
  row.add(share(nest.useful_iterations, nest.iterations));
  row.add_own(magnitude(nest.flops_per_iteration));
  row.add_own(magnitude(nest.parallel));
  row.add(share(nest.parallel, ceil(nest.parallel / threads) * threads));
  row.add(magnitude(nest.lanes));
  row.add(share(nest.lanes, ceil(nest.lanes / lanes) * lanes));
  row.add(nest.tile_vectors);
  row.add(nest.tile_vectors / target.vector.registers);
  row.add(magnitude(nest.unrolled_body));
  row.add(magnitude(nest.unrolled_turns));
  row.add_own(magnitude(nest.reduce_extent));
  row.add(nest.guards);
  row.add(nest.started);
  row.add(nest.wanted);
  row.add(nest.reduced);
  row.add(nest.row_vectors);
  row.add(magnitude(nest.unrolled_body * nest.unrolled_turns));
}

void add_memory(const Nest& nest, const target::Target& target, Row& row) {
  const Value operations = arithmetic_of(nest);
  const auto l1 = static_cast<double>(target.caches.l1_bytes),
             l2 = static_cast<double>(target.caches.l2_bytes);
  const std::pair<Level, double> caches[] = {
      {Level::kL1, l1 / 2}, {Level::kL1, l1}, {Level::kL2, l2}, {Level::kShared, 4 * l2}};
  for (const auto& [level, bytes] : caches) {
    const Value traffic = traffic_of(nest, level, bytes).bytes;
    row.add_own(magnitude(traffic));
    row.add(magnitude(operations / max(1, traffic)));
  }
  // Loads of one innermost tile: how many move with the vector, how many of those are contiguous, how many
  // are broadcast.
  Value vector = 0, contiguous = 0, broadcast = 0;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    vector += access.varies_with_vector;
    contiguous += both(access.varies_with_vector, access.contiguous);
    broadcast += negation(access.varies_with_vector);
  }
  row.add(vector);
  row.add(contiguous);
  row.add(broadcast);
}

// What stays in the first cache from one run of the nest's own loops, of the loop around them, and of the
// next, to the next run; and how the lines lie.
void add_reuse(const Nest& nest, const target::Target& target, Row& row) {
  const auto l1 = static_cast<double>(target.caches.l1_bytes);
  const auto relative = [&](const Value& bytes) { return log2(max(bytes, kLineBytes) / l1); };
  const auto own = static_cast<size_t>(
      std::ranges::find_if(nest.loops, [](const NestLoop& loop) { return loop.own; }) - nest.loops.begin());
  for (size_t around = 0; around < 3; ++around)
    row.add(relative(line_bytes(nest, own - std::min(around, own))));
  row.add(relative(crowded_bytes(nest, own, Level::kL1)));
  row.add(relative(crowded_bytes(nest, own, Level::kL2)));
  const Traffic traffic = traffic_of(nest, Level::kL1, l1);
  row.add(share(traffic.runs * kLineBytes, traffic.bytes));
  Value split = 0;
  for (const NestAccess& access : nest.accesses)
    split += both(access.varies_with_vector, access.contiguous) *
             lines_crossed(target.fp32_lanes() * access.element_bytes, access.alignment);
  row.add(split);
}

void add_inner_loops(const Nest& nest, Row& row) {
  for (size_t i = 0; i < kInnerLoops; ++i) {
    if (i >= nest.loops.size()) {
      for (int empty = 0; empty < 3; ++empty) row.add_own(0);
      continue;
    }
    const size_t depth = nest.loops.size() - 1 - i;
    const NestLoop& loop = nest.loops[depth];
    row.add_own(magnitude(loop.extent));
    row.add_own(static_cast<double>(loop.annotation) + (loop.reduce ? 0.5 : 0.0));
    row.add_own(magnitude(line_bytes(nest, depth)));
  }
}

}  // namespace

Value arithmetic_of(const Nest& nest) {
  return nest.iterations * std::max(0.5, nest.flops_per_iteration);
}

namespace {

Row row_of(std::span<const Nest> nests, size_t main, const Roofline& roofline, const target::Target& target,
           const RooflineOptions& options) {
  Row row;
  add_shape(nests[main], target, options.threads, row);
  add_memory(nests[main], target, row);
  add_reuse(nests[main], target, row);
  add_inner_loops(nests[main], row);

  // The other nests together: epilogues, padding, packing.
  Value iterations = 0, traffic = 0, scalar = 0, parallel = 0, strided = 0;
  for (size_t i = 0; i < nests.size(); ++i) {
    if (i == main) continue;
    const Nest& nest = nests[i];
    iterations += nest.iterations;
    traffic += traffic_of(nest, Level::kL1, static_cast<double>(target.caches.l1_bytes)).bytes;
    scalar += select(equal(nest.lanes, 1), nest.iterations, 0);
    parallel += nest.parallel;
    for (const NestAccess& access : nest.accesses)
      if (!access.in_register)
        strided += both(access.varies_with_vector, negation(access.contiguous)) * nest.iterations;
  }
  row.add_own(static_cast<double>(nests.size()));
  row.add_own(magnitude(iterations));
  row.add_own(magnitude(traffic));
  row.add_own(magnitude(scalar));
  row.add_own(magnitude(parallel));
  row.add_own(magnitude(strided));
  row.add_own(share(iterations, iterations + nests[main].iterations));
  row.add_own(magnitude(roofline.seconds * 1e9));
  // What bounds the roofline model's time, and how far the code is from the pipes' own.
  for (const Value& part : roofline.shares) row.add(part);
  row.add_own(magnitude(static_cast<double>(options.reuse_distance_bytes)));
  row.add_own(magnitude(options.threads));
  row.add_own(target.vector.registers);
  row.add_own(target.fp32_lanes());
  return row;
}

}  // namespace

std::array<Value, kFeatureCount> features_of(std::span<const Nest> nests, size_t main,
                                             const Roofline& roofline, const target::Target& target,
                                             const RooflineOptions& options) {
  return row_of(nests, main, roofline, target, options).finish();
}

void set_code(const std::optional<CodeFacts>& code, Features& features) {
  const auto number = [&](double value) { return code ? static_cast<float>(value) : kMissing; };
  const CodeFacts facts = code.value_or(CodeFacts());
  features[kFeatureCount] = number(facts.registers_per_thread);
  features[kFeatureCount + 1] = number(std::log2(1 + facts.spill_bytes));
}

bool has_code(const Features& features) {
  return features[kFeatureCount] != kMissing;
}

const std::array<bool, kFeatureCount>& relative_features() {
  // The same of every nest.
  static const std::array<bool, kFeatureCount> relative =
      row_of(std::array{Nest()}, 0, {}, target::Target(), {}).relative();
  return relative;
}

}  // namespace tf::model
