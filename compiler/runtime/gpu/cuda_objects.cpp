#include "compiler/runtime/gpu/cuda_objects.h"

#include <stdio.h>

namespace tf::gpu::cuda {
namespace {

// After these the context, and with it the process, is of no use any more: cuda.h says so of each, or the device itself is ill.
bool is_sticky(int code) {
  switch (code) {
    case 4:    // deinitialized
    case 46:   // device unavailable
    case 214:  // uncorrectable error of its memory
    case 220:  // of its links
    case 226:  // contained
    case 700:  // illegal address
    case 702:  // launch timeout
    case 709:  // context is destroyed
    case 710:  // assert
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid pc
    case 719:  // launch failed
    case 721:  // tensor memory leak
    case 999:  // unknown
      return true;
    default:
      return false;
  }
}

}  // namespace

bool fail(const CuApi& api, int code, const char* what, char* error) {
  const char *name = nullptr, *text = nullptr;
  api.error_name(code, &name);
  api.error_text(code, &text);
  snprintf(error, kErrorChars, "CUDA: %s: error %d (%s: %s)", what, code, name == nullptr ? "?" : name,
           text == nullptr ? "no text" : text);
  return false;
}

bool no_memory(char* error) {
  snprintf(error, kErrorChars, "the host has no memory");
  return false;
}

bool check(CudaDevice& device, int code, const char* what, char* error) {
  if (code == kCuSuccess) return true;
  if (is_sticky(code)) device.lost = true;
  return fail(*device.api, code, what, error);
}

}  // namespace tf::gpu::cuda
