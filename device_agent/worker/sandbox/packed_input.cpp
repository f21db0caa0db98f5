#include "device_agent/worker/sandbox/packed_input.h"

#include <algorithm>
#include <cstring>

#include "compiler/runtime/axis_map.h"
#include "compiler/runtime/axis_sum.h"
#include "compiler/runtime/model_types.h"
#include "compiler/runtime/narrow.h"
#include "device_agent/worker/sandbox/buffers.h"
#include "device_agent/worker/sandbox/inputs.h"

namespace tf::worker::sandbox {
namespace {

// Of the other port's values, made once more.
bool make_sums(const Job& job, const PortJob& port, uint8_t* sums) {
  const PortJob& source = job.ports[port.summed];
  uint8_t* made = map_memory(source.logical_bytes);
  if (made == nullptr) return false;
  fill_input(source, job.seed, port.summed, made);
  tf_sum_axes(source.element == TF_ELEMENT_INT8, port.sum_axes, source.extents, source.rank, made,
              reinterpret_cast<int32_t*>(sums));
  unmap_memory(made, source.logical_bytes);
  return true;
}

}  // namespace

// Inputs are made in logical order, so that all layouts hold the same tensor, then packed.
bool make_input(const Job& job, uint32_t index, uint8_t* physical) {
  const PortJob& port = job.ports[index];
  if (port.sum_axes != 0) return make_sums(job, port, physical);
  const bool narrowed = port.stored_element != port.element;
  if (port.row_major && port.map_count == 0 && !narrowed) {
    fill_input(port, job.seed, index, physical);
    return true;
  }
  int64_t extents[TF_LAYOUT_MAX_RANK];
  std::memcpy(extents, port.extents, sizeof(extents));
  tf_axis_map maps[kMaxMaps];
  for (uint32_t m = 0; m < port.map_count; ++m)
    maps[m] = {port.maps[m].axis, port.maps[m].rows, port.maps[m].matrix};
  const auto count = static_cast<int32_t>(port.map_count);
  // Made values, and the two tensors that maps go back and forth between.
  const uint64_t mapped_bytes =
      static_cast<uint64_t>(tf_map_axes_elements(maps, count, extents, port.rank)) * sizeof(float);
  const uint64_t wide_bytes = port.logical_bytes + 2 * mapped_bytes;
  const uint64_t bytes = wide_bytes + (narrowed ? std::max(port.logical_bytes, mapped_bytes) / 2 : 0);
  uint8_t* made = map_memory(bytes);
  if (made == nullptr) return false;
  fill_input(port, job.seed, index, made);
  const void* logical = made;
  if (count > 0) {
    auto* first = reinterpret_cast<float*>(made + port.logical_bytes);
    logical = tf_map_axes(maps, count, extents, port.rank, reinterpret_cast<const float*>(made), first,
                          first + mapped_bytes / sizeof(float));
  }
  if (narrowed) {
    int64_t elements = 1;
    for (int32_t d = 0; d < port.rank; ++d) elements *= extents[d];
    auto* narrow = reinterpret_cast<uint16_t*>(made + wide_bytes);
    tf_narrow(port.stored_element, elements, static_cast<const float*>(logical), narrow);
    logical = narrow;
  }
  tf_layout_pack(&port.layout, extents, port.rank, port.stored_bytes, logical, physical);
  unmap_memory(made, bytes);
  return true;
}

}  // namespace tf::worker::sandbox
