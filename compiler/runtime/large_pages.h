#ifndef TF_RUNTIME_LARGE_PAGES_H
#define TF_RUNTIME_LARGE_PAGES_H
/* Owns: memory in large pages where the system gives them on request: with fewer of them, fewer addresses
 * have to be looked up while weights and activations stream by. Plain C ABI, no dependency beyond the system.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tf_mapping {
  uint8_t* data; /* null: there is none */
  void* mapped;  /* what the system knows it by */
  uint64_t mapped_bytes;
} tf_mapping;

/* Of the pages that the system gives to those who ask: 2 MiB, or 32 or 512 MiB where its least are of 16 or
 * 64 KiB. 0 where it gives none, or nobody can tell. Read once a process, and known to those that it forks:
 * a sandbox may hide the files that say so. */
uint64_t tf_large_page_bytes(void);

/* Zeroed memory, aligned to large pages from one on, else to pages. Without data if there is no memory. */
tf_mapping tf_map_large(uint64_t size_bytes);
/* A copy to read only, for what streams from a file, which gets no large pages. It is this process's own and
 * not reclaimable: without data under one large page, and over a quarter of the memory that is available. */
tf_mapping tf_copy_large(const void* data, uint64_t size_bytes);
void tf_unmap_large(tf_mapping* mapping);

#ifdef __cplusplus
}
#endif
#endif
