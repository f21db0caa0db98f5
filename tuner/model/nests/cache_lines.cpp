#include "tuner/model/nests/cache_lines.h"

#include <algorithm>

namespace tf::model {
namespace {

// The largest power of two, up to `most` bytes, that divides the stride.
double alignment(const Value& stride_bytes, int64_t most) {
  if (!stride_bytes.is_constant()) return kLineBytes;
  const auto bytes = static_cast<int64_t>(stride_bytes.constant());
  return static_cast<double>(bytes <= 0 ? most : std::min(bytes & -bytes, most));
}

// So many runs of lines, whose starts are multiples of `apart` bytes from each other, in sets of a cache.
Value crowded_bytes(const LineCount& count, const Value& lines_of_run, const Value& apart,
                    int64_t way_bytes) {
  const auto way = static_cast<double>(way_bytes);
  const double sets = way / kLineBytes;
  const Value used = min(sets, min(count.runs, way / min(apart, way)) * ceil(lines_of_run));
  return count.lines * kLineBytes * (sets / used);
}

}  // namespace

LineCount lines_of(const Storage& storage, std::span<const Value> box, const CacheWays& ways) {
  // An L2 is indexed within a large page, in which what kernels read in bulk lies.
  const int64_t most = std::max(ways.l1_bytes, ways.l2_bytes);
  // Innermost dimensions that the box covers wholly, and one more, are a run of consecutive elements; the
  // others count the runs.
  Value run = 1, runs = 1, whole = 1, apart = static_cast<double>(most), stride = storage.element_bytes;
  for (size_t i = storage.dimensions.size(); i-- > 0;) {
    const StoredDimension& dimension = storage.dimensions[i];
    const Value count = min(dimension.size, ceil(box[dimension.axis] / dimension.step));
    apart = select(either(whole, less_equal(count, 1)), apart,
                   min(apart, storage.packed ? kLineBytes : alignment(stride, most)));
    run = select(whole, run * count, run);
    runs = select(whole, runs, runs * count);
    whole = both(whole, less_equal(dimension.size, count));
    stride *= dimension.size;
  }
  const Value run_bytes = run * storage.element_bytes;
  // Runs that start anywhere touch a line more now and then.
  const Value lines_of_run = select(less_equal(kLineBytes, apart), ceil(run_bytes / kLineBytes),
                                    1 + max(run_bytes - storage.element_bytes, 0) / kLineBytes);
  LineCount count;
  count.lines = runs * lines_of_run;
  count.runs = runs;
  count.crowded_l1_bytes = crowded_bytes(count, lines_of_run, apart, ways.l1_bytes);
  count.crowded_l2_bytes = crowded_bytes(count, lines_of_run, apart, ways.l2_bytes);
  return count;
}

double run_alignment(const Storage& storage) {
  double least = kLineBytes;
  Value stride = storage.element_bytes;
  for (size_t i = storage.dimensions.size(); i-- > 0;) {
    if (i + 1 < storage.dimensions.size() && storage.dimensions[i].size.greatest() > 1)
      least = std::min(least, alignment(stride, static_cast<int64_t>(kLineBytes)));
    stride *= storage.dimensions[i].size;
  }
  return least;
}

double lines_crossed(double vector_bytes, double alignment) {
  return std::max(0.0, vector_bytes - alignment) / kLineBytes;
}

}  // namespace tf::model
