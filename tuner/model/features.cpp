#include "tuner/model/features.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tuner/model/draft.h"

namespace tf::model {
namespace {

float magnitude(double x) {
  return static_cast<float>(std::log2(1.0 + std::max(0.0, x)));
}
float share(double part, double whole) {
  return whole > 0 ? static_cast<float>(part / whole) : 0.0f;
}

double arithmetic(const Nest& nest) {
  return nest.iterations * std::max(0.5, nest.flops_per_iteration);
}

// Writes features one after another, so that adding one is adding a line.
class Row {
 public:
  void add(float value) {
    TF_CHECK(next_ < kFeatureCount) << "more features than kFeatureCount";
    row_[next_++] = value;
  }
  Features finish() const {
    TF_CHECK(next_ == kFeatureCount) << "kFeatureCount is not " << next_;
    return row_;
  }

 private:
  Features row_{};
  size_t next_ = 0;
};

void add_shape(const Nest& nest, const target::Target& target, int threads, Row& row) {
  const double lanes = static_cast<double>(target.fp32_lanes());
  row.add(magnitude(nest.iterations));
  row.add(share(nest.useful_iterations, nest.iterations));
  row.add(magnitude(nest.flops_per_iteration));
  row.add(magnitude(static_cast<double>(nest.parallel)));
  row.add(share(static_cast<double>(nest.parallel),
                std::ceil(static_cast<double>(nest.parallel) / threads) * threads));
  row.add(magnitude(static_cast<double>(nest.lanes)));
  row.add(share(static_cast<double>(nest.lanes), std::ceil(static_cast<double>(nest.lanes) / lanes) * lanes));
  row.add(static_cast<float>(nest.tile_vectors));
  row.add(share(static_cast<double>(nest.tile_vectors), target.vector.registers));
  row.add(magnitude(static_cast<double>(nest.unrolled_body)));
  row.add(magnitude(static_cast<double>(nest.reduce_extent)));
  row.add(static_cast<float>(nest.guards));
}

void add_memory(const Nest& nest, const target::Target& target, Row& row) {
  double operations = arithmetic(nest);
  for (int64_t cache : {target.caches.l1_bytes / 2, target.caches.l1_bytes, target.caches.l2_bytes,
                        4 * target.caches.l2_bytes}) {
    const double traffic = traffic_bytes(nest, static_cast<double>(cache));
    row.add(magnitude(traffic));
    row.add(magnitude(operations / std::max(1.0, traffic)));
  }
  // Loads of one innermost tile: how many move with the vector, how many of those are contiguous, how many
  // are broadcast.
  int vector = 0, contiguous = 0, broadcast = 0;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    vector += access.varies_with_vector;
    contiguous += access.varies_with_vector && access.contiguous;
    broadcast += !access.varies_with_vector;
  }
  row.add(static_cast<float>(vector));
  row.add(static_cast<float>(contiguous));
  row.add(static_cast<float>(broadcast));
}

void add_inner_loops(const Nest& nest, Row& row) {
  for (size_t i = 0; i < kInnerLoops; ++i) {
    if (i >= nest.loops.size()) {
      for (int empty = 0; empty < 3; ++empty) row.add(0);
      continue;
    }
    const NestLoop& loop = nest.loops[nest.loops.size() - 1 - i];
    row.add(magnitude(static_cast<double>(loop.extent)));
    row.add(static_cast<float>(loop.annotation) + (loop.reduce ? 0.5f : 0.0f));
    double bytes = 0;
    for (const NestAccess& access : nest.accesses) {
      if (!access.in_register)
        bytes += access.touched_elems[nest.loops.size() - 1 - i] * access.element_bytes;
    }
    row.add(magnitude(bytes));
  }
}

}  // namespace

const Nest& main_nest(std::span<const Nest> nests) {
  TF_CHECK(!nests.empty()) << "a schedule without a stage";
  return *std::max_element(nests.begin(), nests.end(),
                           [](const Nest& a, const Nest& b) { return arithmetic(a) < arithmetic(b); });
}

Features features_of(std::span<const Nest> nests, const target::Target& target, int threads) {
  const Nest& main = main_nest(nests);
  Row row;
  add_shape(main, target, threads, row);
  add_memory(main, target, row);
  add_inner_loops(main, row);

  // The other nests together: epilogues, padding, packing.
  double iterations = 0, traffic = 0, scalar = 0, parallel = 0, strided = 0;
  for (const Nest& nest : nests) {
    if (&nest == &main) continue;
    iterations += nest.iterations;
    traffic += traffic_bytes(nest, static_cast<double>(target.caches.l1_bytes));
    if (nest.lanes == 1) scalar += nest.iterations;
    parallel += static_cast<double>(nest.parallel);
    for (const NestAccess& access : nest.accesses) {
      if (access.varies_with_vector && !access.contiguous && !access.in_register) strided += nest.iterations;
    }
  }
  row.add(static_cast<float>(nests.size()));
  row.add(magnitude(iterations));
  row.add(magnitude(traffic));
  row.add(magnitude(scalar));
  row.add(magnitude(parallel));
  row.add(magnitude(strided));
  row.add(share(iterations, iterations + main.iterations));
  row.add(magnitude(draft_seconds(nests, target, threads) * 1e9));
  row.add(magnitude(static_cast<double>(threads)));
  row.add(static_cast<float>(target.vector.registers));
  row.add(static_cast<float>(target.fp32_lanes()));
  return row.finish();
}

}  // namespace tf::model
