#include "compiler/runtime/axis_map.h"

namespace {

int64_t product(const int64_t* extents, int32_t begin, int32_t end) {
  int64_t result = 1;
  for (int32_t d = begin; d < end; ++d) result *= extents[d];
  return result;
}

void apply(const tf_axis_map& map, const int64_t* extents, int32_t rank, const float* source, float* target) {
  const int64_t outer = product(extents, 0, map.axis);
  const int64_t inner = product(extents, map.axis + 1, rank);
  const int64_t columns = extents[map.axis];
  for (int64_t o = 0; o < outer; ++o, source += columns * inner) {
    for (int64_t row = 0; row < map.rows; ++row) {
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j)
          sum += map.matrix[row * columns + j] * static_cast<double>(source[j * inner + i]);
        *target++ = static_cast<float>(sum);
      }
    }
  }
}

bool product_is_at_most(int64_t most, const int64_t* extents, int32_t rank) {
  int64_t result = 1;
  for (int32_t d = 0; d < rank; ++d) {
    if (extents[d] == 0) return true;
  }
  for (int32_t d = 0; d < rank; ++d) {
    if (extents[d] > most / result) return false;
    result *= extents[d];
  }
  return true;
}

}  // namespace

int32_t tf_fit_axis_map(const tf_axis_map* map, int64_t matrix_elements, int64_t* extents, int32_t rank,
                        int64_t most_elements) {
  if (map->axis < 0 || map->axis >= rank || map->rows < 1) return 0;
  if (!product_is_at_most(most_elements, extents, rank)) return 0;
  int64_t* extent = &extents[map->axis];
  const int64_t columns = *extent;
  if (columns > INT64_MAX / map->rows || columns * map->rows != matrix_elements) return 0;
  *extent = map->rows;
  if (product_is_at_most(most_elements, extents, rank)) return 1;
  *extent = columns;
  return 0;
}

int64_t tf_map_axes_elements(const tf_axis_map* maps, int32_t count, const int64_t* extents, int32_t rank) {
  int64_t elements = product(extents, 0, rank), largest = 0;
  for (int32_t m = 0; m < count; ++m) {
    int64_t extent = extents[maps[m].axis];
    for (int32_t before = 0; before < m; ++before) {
      if (maps[before].axis == maps[m].axis) extent = maps[before].rows;
    }
    elements = extent == 0 ? 0 : elements / extent * maps[m].rows;
    largest = elements > largest ? elements : largest;
  }
  return largest;
}

const float* tf_map_axes(const tf_axis_map* maps, int32_t count, int64_t* extents, int32_t rank,
                         const float* source, float* first, float* second) {
  for (int32_t m = 0; m < count; ++m) {
    float* target = m % 2 == 0 ? first : second;
    apply(maps[m], extents, rank, source, target);
    extents[maps[m].axis] = maps[m].rows;
    source = target;
  }
  return source;
}
