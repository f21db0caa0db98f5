#include "compiler/runtime/large_pages.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {

tf_mapping tf_map_large(uint64_t size_bytes) {
  const uint64_t page_bytes = size_bytes >= TF_LARGE_PAGE_BYTES / 2 ? TF_LARGE_PAGE_BYTES : 1;
  // Room for the last page, and to begin with a page; no mapping is empty.
  tf_mapping mapping = {nullptr, nullptr, size_bytes / page_bytes * page_bytes + 2 * page_bytes};
  mapping.mapped =
      mmap(nullptr, mapping.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping.mapped == MAP_FAILED) return {nullptr, nullptr, 0};
  const uintptr_t end_of_first = reinterpret_cast<uintptr_t>(mapping.mapped) + page_bytes - 1;
  mapping.data = reinterpret_cast<uint8_t*>(end_of_first - end_of_first % page_bytes);
#ifdef MADV_HUGEPAGE
  madvise(mapping.mapped, mapping.mapped_bytes, MADV_HUGEPAGE);  // refusal does no harm
#endif
  return mapping;
}

void tf_unmap_large(tf_mapping* mapping) {
  if (mapping->data != nullptr) munmap(mapping->mapped, mapping->mapped_bytes);
  *mapping = {nullptr, nullptr, 0};
}

int32_t tf_large_pages_given(void) {
  const int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[64] = {};
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length > 0 && strstr(text, "[never]") == nullptr ? 1 : 0;
}

}  // extern "C"
