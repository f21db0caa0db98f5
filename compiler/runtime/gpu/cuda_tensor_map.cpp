#include <stdio.h>

#include "compiler/runtime/gpu/cuda_objects.h"

namespace tf::gpu::cuda {
namespace {

int type_of(uint32_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return kCuBytes1;
    case 2:
      return kCuBytes2;
    case 4:
      return kCuBytes4;
    default:
      return kCuBytes8;
  }
}

}  // namespace

// The driver's axes begin with the innermost, whose elements are neighbours.
bool make_tensor_map(CudaDevice& device, CuAddress address, const TensorMap& tensor, CuTensorMap* map,
                     char* error) {
  if (device.api->encode_tiled == nullptr) {
    snprintf(
        error, kErrorChars,
        "the kernel copies by tensor maps, which this driver of NVIDIA's does not make: install one for CUDA "
        "12.0 or later");
    return false;
  }
  if (!is_tensor_map(tensor)) {
    snprintf(
        error, kErrorChars,
        "no tensor map of a tensor of %u axes with elements of %u bytes: CUDA has 1 to %u axes, elements "
        "of 1, 2, 4 or 8 bytes, lines that begin at multiples of 16 bytes, and boxes of at most %u along "
        "an axis and of 16 to 128 bytes along the last",
        tensor.rank, tensor.element_bytes, kMostTensorAxes, kMostOfBox);
    return false;
  }
  uint64_t extents[kMostTensorAxes] = {}, strides[kMostTensorAxes] = {}, bytes = tensor.element_bytes;
  uint32_t box[kMostTensorAxes] = {}, steps[kMostTensorAxes] = {};
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const uint32_t axis = tensor.rank - 1 - i;
    extents[i] = tensor.extents[axis];
    box[i] = tensor.box[axis];
    steps[i] = 1;
    bytes *= extents[i];
    strides[i] = bytes;  // of the next axis
  }
  char what[256];
  snprintf(what, sizeof what,
           "no tensor map of a tensor of %u axes at 0x%llx, the last %llu of %u bytes, in boxes %u wide",
           tensor.rank, static_cast<unsigned long long>(address), static_cast<unsigned long long>(extents[0]),
           tensor.element_bytes, box[0]);
  const int code =
      device.api->encode_tiled(map, type_of(tensor.element_bytes), tensor.rank,
                               reinterpret_cast<void*>(static_cast<uintptr_t>(address)), extents, strides,
                               box, steps, kCuNoInterleave, kCuSwizzle128, kCuFetch256, kCuFillZeros);
  return check(device, code, what, error);
}

}  // namespace tf::gpu::cuda
