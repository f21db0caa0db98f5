#ifndef TF_RUNTIME_LAYOUT_H
#define TF_RUNTIME_LAYOUT_H
/* Owns: packing between row-major storage and a blocked layout, and the layout's text form. Plain C ABI, no
 * dependency, so that a device agent can make and check any kernel's buffers.
 *
 * A layout of a rank-R tensor is a list of physical axes, outermost first. Each physical axis is `d` (what is
 * left of logical axis d after its blocks are taken out) or `d:b` (a block of b consecutive elements of axis
 * d). Text form: axes joined by commas, as in "0,1,2,3,1:16" for NCHW16c, or "0,1,2,3,1:16,0:32" for
 * OIHW16i32o. Each logical axis has exactly one unblocked physical axis; blocks of one axis nest in the order
 * written (outer block first). An empty text is row-major. The extent of the unblocked axis is ceil(extent /
 * product of its blocks): what is beyond the logical extent is padding, written as zero by pack. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TF_LAYOUT_MAX_RANK = 8, TF_LAYOUT_MAX_AXES = 16 };

typedef struct tf_layout_axis {
  int32_t axis;
  int64_t block; /* 0: the unblocked remainder */
} tf_layout_axis;

typedef struct tf_layout {
  int32_t axis_count;
  tf_layout_axis axes[TF_LAYOUT_MAX_AXES];
} tf_layout;

/* Parses `text` for a tensor of `rank` axes. Returns 0, or 1 if it is not a layout of that rank. */
int32_t tf_layout_parse(const char* text, int32_t rank, tf_layout* out);

/* Elements of physical storage. Returns -1 on overflow. */
int64_t tf_layout_elements(const tf_layout* layout, const int64_t* extents, int32_t rank);

/* Copies row-major `source` into `target` in `layout`, padding zeroed; and back. element_bytes is 1, 2, 4
 * or 8. */
void tf_layout_pack(const tf_layout* layout, const int64_t* extents, int32_t rank, int32_t element_bytes,
                    const void* source, void* target);
void tf_layout_unpack(const tf_layout* layout, const int64_t* extents, int32_t rank, int32_t element_bytes,
                      const void* source, void* target);

#ifdef __cplusplus
}
#endif
#endif
