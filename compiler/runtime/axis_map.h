#ifndef TF_RUNTIME_AXIS_MAP_H
#define TF_RUNTIME_AXIS_MAP_H
/* Owns: linear maps along one axis of a tensor, which some kernels want their constants after (Winograd's
 * G w G^T is one along each spatial axis). Like packing they are applied outside the measured time, by
 * whoever packs: the build host, or the device that measures. Plain C ABI, no dependency. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y[..., i, ...] = Σ_j matrix[i * extents[axis] + j] * x[..., j, ...], i < rows: along its axis the tensor
 * has `rows` elements afterwards. */
typedef struct {
  int32_t axis;
  int64_t rows;
  const double* matrix;
} tf_axis_map;

/* Whether the map fits a tensor of these extents, all at least 0: its axis is one of theirs, it has at least
 * one row, its matrix has rows * extents[axis] = `matrix_elements`, and neither the tensor nor what the map
 * makes of it has more than `most_elements`. If so 1, and `extents` become those of the result; otherwise 0.
 * For maps that come from elsewhere: no numbers make it overflow. */
int32_t tf_fit_axis_map(const tf_axis_map* map, int64_t matrix_elements, int64_t* extents, int32_t rank,
                        int64_t most_elements);

/* Elements of the largest tensor that the maps give on their way, 0 without maps. */
int64_t tf_map_axes_elements(const tf_axis_map* maps, int32_t count, const int64_t* extents, int32_t rank);

/* Applies `count` maps in order to a row-major f32 tensor; each sum is in double and rounded once. `extents`
 * become those of the result, which lies where the returned pointer says: in `first`, in `second` (room for
 * tf_map_axes_elements each, overlapping nothing; `second` may be NULL for a single map), or in `source` if
 * there are no maps. */
const float* tf_map_axes(const tf_axis_map* maps, int32_t count, int64_t* extents, int32_t rank,
                         const float* source, float* first, float* second);

#ifdef __cplusplus
}
#endif
#endif
