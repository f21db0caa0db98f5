#ifndef TF_RUNTIME_HOST_FUNCTIONS_H
#define TF_RUNTIME_HOST_FUNCTIONS_H
/* Owns: the list of host functions. Attributes stand in the order of tf_call.dims. 0 is success. */
#include "compiler/runtime/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a function needs as tf_call.workspace: bytes, and bytes_per_thread for each of its threads. Computed from what will
 * be tf_call.dims. A function without a declaration NAME_workspace needs none. */
typedef struct tf_host_workspace {
  uint64_t bytes;
  uint64_t bytes_per_thread;
} tf_host_workspace;

/* (x) → values, indices (i64): the k largest (largest is 1) or smallest along an axis, in order, k being the results'
 * extent there; the first of equals first. A NaN counts as the largest. Attributes: axis, largest. */
int32_t tf_host_topk(const tf_call* call);
tf_host_workspace tf_host_topk_workspace(const int64_t* dims);

/* What happens to an element of the data that an update goes to. Integers wrap around; of bools, add is "or", mul is
 * "and". */
enum {
  TF_HOST_REDUCE_NONE = 0,
  TF_HOST_REDUCE_ADD = 1,
  TF_HOST_REDUCE_MUL = 2,
  TF_HOST_REDUCE_MIN = 3,
  TF_HOST_REDUCE_MAX = 4,
};

/* (data, indices i32 or i64, updates) → y: the data, where updates go to the places that indices name along the axis, in
 * their order. Negative indices count back from the axis's end; one outside is TF_MODEL_BAD_INDEX. The results may be
 * the data's very buffer. An update that is NaN has no effect by min or max. Attributes: axis, reduction. */
int32_t tf_host_scatter_elements(const tf_call* call);

/* (data, indices i64 [..., d], updates) → y: the same for slices of the data, which d indices name in its first axes. A
 * NaN stays by min and max. Attribute: reduction. */
int32_t tf_host_scatter_nd(const tf_call* call);

/* (x) → y: sums, or products, along an axis up to each element, with or without it (exclusive), from the axis's start or
 * its end (reverse). f16 and bf16 are computed as f32. Attributes: axis, exclusive, reverse, product. */
int32_t tf_host_cumsum(const tf_call* call);

/* (x) → y: the same bits as an element of as many bytes. Of a bool that is 0 or 1. */
int32_t tf_host_bit_cast(const tf_call* call);

/* Of the next four, the results' size depends on the operands' values. The last result, a single i64, is the true size.
 * The others have room for the most; what they hold at their start is the result in row-major order of its true shape.
 */

/* (x) → indices i64 [rank, most], count: the places of elements that are not 0, in order. A result has the shape
 * [rank, count]. */
int32_t tf_host_nonzero(const tf_call* call);

/* (x, condition bool [n]) → y, count: those slices along the axis where the condition holds; those from n on are left
 * out. Attribute: axis. */
int32_t tf_host_compress(const tf_call* call);

/* (x) → y, indices, inverse, counts (all i64 but y), count: each different element once, or each different slice along
 * an axis; its first place in x; for each of x its number in y; how often it occurs. Sorted, or in the order of first
 * places. All NaN are equal and the largest. Attributes: axis (-1: of elements), sorted. */
int32_t tf_host_unique(const tf_call* call);
tf_host_workspace tf_host_unique_workspace(const int64_t* dims);

/* (boxes f32 [batches, n, 4], scores f32 [batches, classes, n], most of a class i64, overlap threshold f32, score
 * threshold f32) → selected i64 [batches * classes * min(most of a class, n) or more, 3], count: by batch and class, the
 * boxes of the best scores, above the threshold, that overlap none before by more than the threshold. Of equal scores
 * the first comes first. Attributes: whether boxes are given by center and size (x, y, width, height) instead of corners
 * (y, x, y, x); whether the score threshold counts. */
int32_t tf_host_non_max_suppression(const tf_call* call);
tf_host_workspace tf_host_non_max_suppression_workspace(const int64_t* dims);

/* (x, indices i64) → y: 0, but each element of x at its place in row-major y. One outside is TF_MODEL_BAD_INDEX. */
int32_t tf_host_max_unpool(const tf_call* call);

/* (x [n, channels, height, width], regions [r, 4], i64 [r]: which of n) → y [r, channels, bins down, bins across]: ONNX's
 * RoiAlign of opset 16. One outside of n is TF_MODEL_BAD_INDEX. Attributes: maximum (0: mean), half_pixel, sampling
 * ratio (0: as many samples of a bin as it is pixels long, rounded up), spatial scale (float). */
int32_t tf_host_roi_align(const tf_call* call);
tf_host_workspace tf_host_roi_align_workspace(const int64_t* dims);

/* (x [..., n, n]) → y [...]: determinants, computed in f64. */
int32_t tf_host_det(const tf_call* call);
tf_host_workspace tf_host_det_workspace(const int64_t* dims);

/* Random numbers are a function of the attribute seed, the operand run (a single i64) and their place. */

/* (run) → y: uniform in [low, high), then rounded to the element. Attributes: seed, low (float), high (float). */
int32_t tf_host_random_uniform(const tf_call* call);

/* (run) → y: normal. Attributes: seed, mean (float), standard deviation (float). */
int32_t tf_host_random_normal(const tf_call* call);

/* (probabilities, run) → y of any element: 1 with the probability. Attribute: seed. */
int32_t tf_host_bernoulli(const tf_call* call);

/* (weights [batch, classes], run) → classes i32 or i64 [batch, samples], each drawn with a probability in proportion to
 * its weight, which is not negative. Attribute: seed. */
int32_t tf_host_multinomial(const tf_call* call);
tf_host_workspace tf_host_multinomial_workspace(const int64_t* dims);

#ifdef __cplusplus
}
#endif
#endif
