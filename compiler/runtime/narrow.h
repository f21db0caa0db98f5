#ifndef TF_RUNTIME_NARROW_H
#define TF_RUNTIME_NARROW_H
/* Owns: f32 values as 16-bit floats, which some kernels want their constants as. Like packing this happens
 * outside the measured time, by whoever packs: the build host, or the device that measures. Plain C ABI, no
 * dependency. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* target[i] = the bits of source[i] as TF_ELEMENT_BFLOAT16 or TF_ELEMENT_FLOAT16, rounded to the nearest
 * (ties to even); NaN stays NaN, what is beyond the largest becomes infinite. Returns how many finite values
 * did, or -1 for any other element. */
int64_t tf_narrow(int32_t element, int64_t count, const float* source, uint16_t* target);

#ifdef __cplusplus
}
#endif
#endif
