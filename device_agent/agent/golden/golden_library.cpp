#include "device_agent/agent/golden/golden_library.h"

// The assembler knows the architecture and the path; nothing else has to.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "tf_golden_library_begin: .incbin \"" TF_GOLDEN_LIBRARY
    "\"\n"
    "tf_golden_library_end: .byte 0\n"
    ".popsection\n");

extern "C" {
__attribute__((visibility("hidden"))) extern const char tf_golden_library_begin[];
__attribute__((visibility("hidden"))) extern const char tf_golden_library_end[];
}

namespace tf::agent {

std::string_view golden_library() {
  return {tf_golden_library_begin, static_cast<size_t>(tf_golden_library_end - tf_golden_library_begin)};
}

}  // namespace tf::agent
