#include "tuner/model/cache_lines.h"

#include <algorithm>
#include <cstdint>

namespace tf::model {
namespace {

// One way of a first-level cache that is indexed within a page: 64 sets.
constexpr int64_t kWayBytes = 4096;

// The largest power of two, up to a way, that divides the stride.
double alignment(const Value& stride_bytes) {
  if (!stride_bytes.is_constant()) return kLineBytes;
  const auto bytes = static_cast<int64_t>(stride_bytes.constant());
  return bytes <= 0 ? kWayBytes : static_cast<double>(std::min(bytes & -bytes, kWayBytes));
}

}  // namespace

LineCount lines_of(const Storage& storage, std::span<const Value> box) {
  constexpr double kSets = kWayBytes / kLineBytes;
  // Innermost dimensions that the box covers wholly, and one more, are a run of consecutive elements; the
  // others count the runs.
  Value run = 1, runs = 1, whole = 1, apart = kWayBytes, stride = storage.element_bytes;
  for (size_t i = storage.dimensions.size(); i-- > 0;) {
    const StoredDimension& dimension = storage.dimensions[i];
    const Value count = min(dimension.size, ceil(box[dimension.axis] / dimension.step));
    apart = select(either(whole, less_equal(count, 1)), apart,
                   min(apart, storage.packed ? kLineBytes : alignment(stride)));
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
  const Value sets = min(kSets, min(runs, kWayBytes / apart) * ceil(lines_of_run));
  count.crowded_bytes = count.lines * kLineBytes * (kSets / sets);
  return count;
}

}  // namespace tf::model
