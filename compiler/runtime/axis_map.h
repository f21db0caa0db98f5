#ifndef TF_RUNTIME_AXIS_MAP_H
#define TF_RUNTIME_AXIS_MAP_H
/* Owns: linear maps along one axis of a tensor, which some kernels want their constants after (Winograd's
 * G w G^T is one along each spatial axis). Like packing they are applied outside the measured time, by
 * whoever packs: the build host, or the device that measures. Plain C ABI, no dependency. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* target[..., i, ...] = Σ_j matrix[i * extents[axis] + j] * source[..., j, ...], i < rows, both row-major
 * f32, each sum in double and rounded once. `target` has `rows` where `source` has extents[axis] elements. */
void tf_map_axis(const double* matrix, int64_t rows, const int64_t* extents, int32_t rank, int32_t axis,
                 const float* source, float* target);

#ifdef __cplusplus
}
#endif
#endif
