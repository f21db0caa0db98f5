#include "compiler/runtime/axis_map.h"

void tf_map_axis(const double* matrix, int64_t rows, const int64_t* extents, int32_t rank, int32_t axis,
                 const float* source, float* target) {
  int64_t outer = 1, inner = 1;
  for (int32_t d = 0; d < axis; ++d) outer *= extents[d];
  for (int32_t d = axis + 1; d < rank; ++d) inner *= extents[d];
  const int64_t columns = extents[axis];
  for (int64_t o = 0; o < outer; ++o, source += columns * inner) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j)
          sum += matrix[row * columns + j] * static_cast<double>(source[j * inner + i]);
        *target++ = static_cast<float>(sum);
      }
    }
  }
}
