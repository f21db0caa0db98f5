#ifndef TF_RUNTIME_AXIS_SUM_H
#define TF_RUNTIME_AXIS_SUM_H
/* Owns: sums of a tensor of bytes along some of its axes, which kernels of bytes want of their constants.
 * Like packing they are made outside the measured time, by whoever packs: the build host, or the device that
 * measures. Plain C ABI, no dependency. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a row-major tensor of i8 (`is_signed`) or u8, the sums over all axes whose bit is set in `axes`, in i32,
 * which wraps: as many as the other extents' product, row-major. At most 31 axes. */
void tf_sum_axes(int32_t is_signed, uint32_t axes, const int64_t* extents, int32_t rank, const void* source,
                 int32_t* sums);

#ifdef __cplusplus
}
#endif
#endif
