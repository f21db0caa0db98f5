#include "compiler/runtime/large_pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace {

struct Text {
  char chars[256];  // empty: there is no such file
};

// How a file of the system's begins.
Text text_of(const char* path) {
  Text text = {};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  const ssize_t length = read(file, text.chars, sizeof text.chars - 1);
  close(file);
  if (length < 0) text.chars[0] = '\0';
  return text;
}

// After the label; 0 if there is none.
uint64_t number_in(const Text& text, const char* label) {
  const char* found = strstr(text.chars, label);
  return found == nullptr ? 0 : strtoull(found + strlen(label), nullptr, 10);
}

// Of the machine, or of this container where that has less.
uint64_t available_bytes() {
  const uint64_t machine = number_in(text_of("/proc/meminfo"), "MemAvailable:") * 1024;
  const uint64_t container = number_in(text_of("/sys/fs/cgroup/memory.max"), "");
  return container != 0 && container < machine ? container : machine;
}

uint64_t read_large_page_bytes() {
  const Text enabled = text_of("/sys/kernel/mm/transparent_hugepage/enabled");
  if (strstr(enabled.chars, "[never]") != nullptr) return 0;
  return number_in(text_of("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"), "");
}

constexpr uint64_t kUnread = UINT64_MAX;
std::atomic<uint64_t> large_page_bytes = kUnread;

}  // namespace

extern "C" {

uint64_t tf_large_page_bytes(void) {
  uint64_t bytes = large_page_bytes.load(std::memory_order_relaxed);
  if (bytes != kUnread) return bytes;
  bytes = read_large_page_bytes();
  large_page_bytes.store(bytes, std::memory_order_relaxed);
  return bytes;
}

tf_mapping tf_map_large(uint64_t size_bytes) {
  const uint64_t large_bytes = tf_large_page_bytes();
  const bool large = large_bytes != 0 && size_bytes >= large_bytes;
  const uint64_t page_bytes = large ? large_bytes : 1;
  if (size_bytes > SIZE_MAX - 2 * page_bytes) return {nullptr, nullptr, 0};
  // Room for the last page, and to begin with a page; no mapping is empty.
  tf_mapping mapping = {nullptr, nullptr, size_bytes / page_bytes * page_bytes + 2 * page_bytes};
  mapping.mapped =
      mmap(nullptr, mapping.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping.mapped == MAP_FAILED) return {nullptr, nullptr, 0};
  const uintptr_t end_of_first = reinterpret_cast<uintptr_t>(mapping.mapped) + page_bytes - 1;
  mapping.data = reinterpret_cast<uint8_t*>(end_of_first - end_of_first % page_bytes);
#ifdef MADV_HUGEPAGE
  if (large) madvise(mapping.mapped, mapping.mapped_bytes, MADV_HUGEPAGE);  // refusal does no harm
#endif
  return mapping;
}

tf_mapping tf_copy_large(const void* data, uint64_t size_bytes) {
  const uint64_t large_bytes = tf_large_page_bytes();
  if (large_bytes == 0 || size_bytes < large_bytes || size_bytes > available_bytes() / 4)
    return {nullptr, nullptr, 0};
  tf_mapping copy = tf_map_large(size_bytes);
  if (copy.data == nullptr) return copy;
  memcpy(copy.data, data, size_bytes);
  mprotect(copy.mapped, copy.mapped_bytes, PROT_READ);
  return copy;
}

void tf_unmap_large(tf_mapping* mapping) {
  if (mapping->data != nullptr) munmap(mapping->mapped, mapping->mapped_bytes);
  *mapping = {nullptr, nullptr, 0};
}

}  // extern "C"
