#ifndef TF_RUNTIME_LARGE_PAGES_H
#define TF_RUNTIME_LARGE_PAGES_H
/* Owns: memory in large pages where the system gives them on request: with fewer of them, fewer addresses
 * have to be looked up while weights and activations stream by. Plain C ABI, no dependency beyond the system.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TF_LARGE_PAGE_BYTES 0x200000u

typedef struct tf_mapping {
  uint8_t* data; /* null: there is none */
  void* mapped;  /* what the system knows it by */
  uint64_t mapped_bytes;
} tf_mapping;

/* Zeroed memory, aligned to large pages from half of one on, else to pages. Without data if there is no
 * memory. */
tf_mapping tf_map_large(uint64_t size_bytes);
void tf_unmap_large(tf_mapping* mapping);

/* Whether the system gives large pages to those who ask; 0 where nobody can tell. */
int32_t tf_large_pages_given(void);

#ifdef __cplusplus
}
#endif
#endif
