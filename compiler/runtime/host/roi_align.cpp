// Each bin of a region is the mean or maximum of samples between pixels. A sample's place and weights serve all
// channels, so channels are the innermost loop.
#include <algorithm>

#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

// Along one axis: from `low` to its neighbour `high`, `weight` of the way. Outside of the image, inside is false.
template <typename V>
struct Sample {
  bool inside;
  int64_t low, high;
  V weight;
};

template <typename V>
Sample<V> sample_at(V at, int64_t extent) {
  if (!(at >= -1 && at <= static_cast<V>(static_cast<int32_t>(extent)))) return {false, 0, 0, 0};
  if (at < 0) at = 0;
  const int64_t low = static_cast<int32_t>(at);
  if (low >= extent - 1) return {true, extent - 1, extent - 1, 0};
  return {true, low, low + 1, at - static_cast<V>(static_cast<int32_t>(low))};
}

// More samples than this of one bin are no use: they lie closer together than an image's rows can be many.
constexpr int32_t kMostSamples = 1 << 30;

// The value as an integer within the bounds; the lower one for NaN.
int32_t bounded(double value, int32_t low, int32_t high) {
  if (!(value > low)) return low;
  return value < high ? static_cast<int32_t>(value) : high;
}

template <typename V>
V number_of(int64_t small) {
  return static_cast<V>(static_cast<int32_t>(small));
}

// Along one axis: a region in bins with as many samples each.
template <typename V>
struct Grid {
  V start, bin;
  int32_t samples;
  int64_t extent;  // of the image

  V place(int64_t number, int32_t sample) const {
    return start + number_of<V>(number) * bin + (number_of<V>(sample) + V(0.5)) * bin / number_of<V>(samples);
  }
};

// Those of a bin's samples that may lie inside of the image: others need no look, however many there are.
struct Range {
  int32_t first, last;
};

template <typename V>
Range inside_of(const Grid<V>& grid, int64_t number) {
  const double step = static_cast<double>(grid.bin) / grid.samples,
               first = static_cast<double>(grid.place(number, 0));
  if (step == 0) return {0, grid.samples};
  // A region may be turned round.
  const double low = (-1 - first) / step, high = (number_of<double>(grid.extent) - first) / step;
  return {bounded(std::min(low, high) - 2, 0, grid.samples),
          bounded(std::max(low, high) + 3, 0, grid.samples)};
}

// The least whole number that is no less.
int32_t whole_above(double value) {
  const int32_t below = bounded(value, 0, kMostSamples);
  return below < value && below < kMostSamples ? below + 1 : below;
}

template <typename V>
Grid<V> grid_of(V first, V last, V scale, bool half_pixel, int64_t extent, int64_t bins,
                int64_t sampling_ratio) {
  const V offset = half_pixel ? V(0.5) : V(0), start = first * scale - offset;
  V length = last * scale - offset - start;
  if (!half_pixel && !(length > 1)) length = 1;
  const V bin = length / number_of<V>(bins);
  return {start, bin, sampling_ratio > 0 ? static_cast<int32_t>(sampling_ratio) : whole_above(bin), extent};
}

// What one bin adds up, or the maximum of, for each channel.
template <typename T>
struct Bin {
  using V = Value<T>;
  const T* image;
  int64_t channels, plane, width;
  bool maximum;
  V* results;
  bool any = false;  // whether a sample was taken

  // The maximum is of the four weighted corners, not of their sum: so do ONNX's reference and ONNX Runtime.
  void take(const Sample<V>& y, const Sample<V>& x) {
    const V w[4] = {(1 - y.weight) * (1 - x.weight), (1 - y.weight) * x.weight, y.weight * (1 - x.weight),
                    y.weight * x.weight};
    const T* at[4] = {image + y.low * width + x.low, image + y.low * width + x.high,
                      image + y.high * width + x.low, image + y.high * width + x.high};
    for (int64_t c = 0; c < channels; ++c) {
      V parts[4];
      for (int i = 0; i < 4; ++i) parts[i] = w[i] * value_of(at[i][c * plane]);
      if (maximum)
        put(c, std::max(std::max(parts[0], parts[1]), std::max(parts[2], parts[3])));
      else
        results[c] += parts[0] + parts[1] + parts[2] + parts[3];
    }
    any = true;
  }

  // A sample outside of the image is 0.
  void take_outside() {
    if (maximum)
      for (int64_t c = 0; c < channels; ++c) put(c, 0);
    any = true;
  }

 private:
  void put(int64_t c, V value) { results[c] = any ? std::max(results[c], value) : value; }
};

template <typename T>
void sample_bin(const Grid<Value<T>>& rows, const Grid<Value<T>>& columns, int64_t row, int64_t column,
                Bin<T>& bin) {
  using V = Value<T>;
  for (int64_t c = 0; c < bin.channels; ++c) bin.results[c] = 0;
  bin.any = false;
  if (rows.samples == 0 || columns.samples == 0) return;
  const Range of_rows = inside_of(rows, row), of_columns = inside_of(columns, column);
  if (of_rows.last - of_rows.first < rows.samples || of_columns.last - of_columns.first < columns.samples)
    bin.take_outside();
  for (int32_t i = of_rows.first; i < of_rows.last; ++i) {
    const Sample<V> y = sample_at(rows.place(row, i), rows.extent);
    for (int32_t j = of_columns.first; j < of_columns.last; ++j) {
      const Sample<V> x = sample_at(columns.place(column, j), columns.extent);
      if (y.inside && x.inside)
        bin.take(y, x);
      else
        bin.take_outside();
    }
  }
  if (bin.maximum) return;
  const V count = static_cast<V>(static_cast<double>(rows.samples) * columns.samples);
  for (int64_t c = 0; c < bin.channels; ++c) bin.results[c] /= count;
}

template <typename T>
int32_t roi_align(const tf_call* call, const tf_host_arguments& arguments) {
  using V = Value<T>;
  const bool maximum = arguments.attributes[0] != 0, half_pixel = arguments.attributes[1] != 0;
  const int64_t sampling_ratio = arguments.attributes[2];
  const V scale = static_cast<V>(tf_host_float(arguments.attributes[3]));
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), rois = tf_host_tensor_at(&arguments, 1),
                       y = tf_host_tensor_at(&arguments, 3);
  const int64_t channels = x.extents[1], height = x.extents[2], width = x.extents[3],
                bins_down = y.extents[2], bins_across = y.extents[3];
  const auto* batches = static_cast<const int64_t*>(call->buffers[2]);
  const tf_host_workspace size = tf_host_roi_align_workspace(call->dims);
  return for_each(call->runtime, y.extents[0], [&](int64_t r, int32_t thread) -> int32_t {
    if (batches[r] < 0 || batches[r] >= x.extents[0]) return TF_MODEL_BAD_INDEX;
    const T* corner = static_cast<const T*>(rois.data) + 4 * r;  // x, y of two opposite corners
    const Grid<V> columns = grid_of<V>(value_of(corner[0]), value_of(corner[2]), scale, half_pixel, width,
                                       bins_across, sampling_ratio),
                  rows = grid_of<V>(value_of(corner[1]), value_of(corner[3]), scale, half_pixel, height,
                                    bins_down, sampling_ratio);
    const T* image = static_cast<const T*>(x.data) + batches[r] * channels * height * width;
    Bin<T> bin = {image, channels, height * width, width, maximum, workspace_of<V>(call, size, thread)};
    T* results = static_cast<T*>(y.data) + r * channels * bins_down * bins_across;
    for (int64_t row = 0; row < bins_down; ++row) {
      for (int64_t column = 0; column < bins_across; ++column, ++results) {
        sample_bin<T>(rows, columns, row, column, bin);
        for (int64_t c = 0; c < channels; ++c)
          results[c * bins_down * bins_across] = element_of<T>(bin.results[c]);
      }
    }
    return 0;
  });
}

}  // namespace
}  // namespace tf::host

tf_host_workspace tf_host_roi_align_workspace(const int64_t* dims) {
  const int64_t channels = tf::host::shape_at(dims, 0).extents[1];
  return {0, tf::host::aligned(static_cast<uint64_t>(channels) * sizeof(double))};
}

int32_t tf_host_roi_align(const tf_call* call) {
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  return tf::host::with_float(tf_host_tensor_at(&arguments, 0).element, [&](auto element) {
    return tf::host::roi_align<decltype(element)>(call, arguments);
  });
}
