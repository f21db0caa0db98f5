#include "compiler/runtime/layout.h"

#include <string.h>

namespace {

// A physical axis resolved against extents: how often it counts, and how far one step of it moves in its
// logical axis.
struct ResolvedAxis {
  int32_t axis;
  int64_t count;
  int64_t unit_elems;
};

struct Resolved {
  int32_t axis_count;
  ResolvedAxis axes[TF_LAYOUT_MAX_AXES];
  int64_t extents[TF_LAYOUT_MAX_RANK];
  int64_t strides[TF_LAYOUT_MAX_RANK];  // of row-major storage, in elements
};

// Reads a decimal number below 2^62 and moves `text` past it; -1 if there is none.
int64_t read_number(const char*& text) {
  if (*text < '0' || *text > '9') return -1;
  int64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    if (value > (INT64_MAX >> 2) / 10) return -1;
    value = value * 10 + (*text - '0');
  }
  return value;
}

int64_t block_product(const tf_layout* layout, int32_t axis, int32_t after) {
  int64_t product = 1;
  for (int32_t i = after + 1; i < layout->axis_count; ++i) {
    if (layout->axes[i].axis == axis && layout->axes[i].block > 0) product *= layout->axes[i].block;
  }
  return product;
}

void resolve(const tf_layout* layout, const int64_t* extents, int32_t rank, Resolved* out) {
  int64_t stride = 1;
  for (int32_t d = rank; d-- > 0;) {
    out->extents[d] = extents[d];
    out->strides[d] = stride;
    stride *= extents[d];
  }
  out->axis_count = layout->axis_count;
  for (int32_t i = 0; i < layout->axis_count; ++i) {
    const tf_layout_axis& axis = layout->axes[i];
    ResolvedAxis& resolved = out->axes[i];
    resolved.axis = axis.axis;
    if (axis.block > 0) {
      resolved.count = axis.block;
      resolved.unit_elems = block_product(layout, axis.axis, i);
    } else {
      // The remainder counts whole groups of all blocks, wherever those stand.
      resolved.unit_elems = block_product(layout, axis.axis, -1);
      resolved.count = (extents[axis.axis] + resolved.unit_elems - 1) / resolved.unit_elems;
    }
  }
}

// Walks the physical axes outermost first; the innermost is a strided copy. `coordinates` are those of the
// walk so far.
template <typename T, bool kPack>
struct Walk {
  const Resolved& layout;
  T* row_major;
  T* physical;
  int64_t coordinates[TF_LAYOUT_MAX_RANK];

  void inner(const ResolvedAxis& axis, int64_t offset, bool inside) {
    const int64_t room = layout.extents[axis.axis] - coordinates[axis.axis];
    int64_t valid = !inside || room <= 0 ? 0 : (room + axis.unit_elems - 1) / axis.unit_elems;
    if (valid > axis.count) valid = axis.count;
    const int64_t step = axis.unit_elems * layout.strides[axis.axis];
    T* source = row_major + offset;
    if (kPack) {
      if (step == 1) {
        memcpy(physical, source, static_cast<size_t>(valid) * sizeof(T));
      } else {
        for (int64_t i = 0; i < valid; ++i) physical[i] = source[i * step];
      }
      memset(physical + valid, 0, static_cast<size_t>(axis.count - valid) * sizeof(T));
    } else {
      for (int64_t i = 0; i < valid; ++i) source[i * step] = physical[i];
    }
    physical += axis.count;
  }

  // `inside` is false once an outer coordinate lies in the padding: then everything below is padding too.
  void run(int32_t depth, int64_t offset, bool inside) {
    const ResolvedAxis& axis = layout.axes[depth];
    if (depth + 1 == layout.axis_count) return inner(axis, offset, inside);
    const int64_t start = coordinates[axis.axis];
    const int64_t step = axis.unit_elems * layout.strides[axis.axis];
    for (int64_t i = 0; i < axis.count; ++i) {
      coordinates[axis.axis] = start + i * axis.unit_elems;
      run(depth + 1, offset + i * step, inside && coordinates[axis.axis] < layout.extents[axis.axis]);
    }
    coordinates[axis.axis] = start;
  }
};

template <typename T, bool kPack>
void copy(const tf_layout* layout, const int64_t* extents, int32_t rank, void* row_major, void* physical) {
  if (layout->axis_count == 0) {  // a scalar
    T* target = static_cast<T*>(kPack ? physical : row_major);
    *target = *static_cast<const T*>(kPack ? row_major : physical);
    return;
  }
  Resolved resolved;
  resolve(layout, extents, rank, &resolved);
  Walk<T, kPack> walk = {resolved, static_cast<T*>(row_major), static_cast<T*>(physical), {}};
  walk.run(0, 0, true);
}

template <bool kPack>
void copy_elements(const tf_layout* layout, const int64_t* extents, int32_t rank, int32_t element_bytes,
                   void* row_major, void* physical) {
  if (tf_layout_elements(layout, extents, rank) == 0) return;  // such arrays may be null
  switch (element_bytes) {
    case 1:
      return copy<uint8_t, kPack>(layout, extents, rank, row_major, physical);
    case 2:
      return copy<uint16_t, kPack>(layout, extents, rank, row_major, physical);
    case 4:
      return copy<uint32_t, kPack>(layout, extents, rank, row_major, physical);
    case 8:
      return copy<uint64_t, kPack>(layout, extents, rank, row_major, physical);
  }
}

int32_t set_row_major(int32_t rank, tf_layout* out) {
  out->axis_count = rank;
  for (int32_t d = 0; d < rank; ++d) out->axes[d] = {d, 0};
  return 0;
}

}  // namespace

extern "C" {

int32_t tf_layout_parse(const char* text, int32_t rank, tf_layout* out) {
  if (rank < 0 || rank > TF_LAYOUT_MAX_RANK) return 1;
  if (*text == '\0') return set_row_major(rank, out);
  bool seen[TF_LAYOUT_MAX_RANK] = {};
  out->axis_count = 0;
  for (;;) {
    if (out->axis_count == TF_LAYOUT_MAX_AXES) return 1;
    const int64_t axis = read_number(text);
    if (axis < 0 || axis >= rank) return 1;
    int64_t block = 0;
    if (*text == ':') {
      block = read_number(++text);
      if (block < 1) return 1;
    } else if (seen[axis]) {
      return 1;
    } else {
      seen[axis] = true;
    }
    out->axes[out->axis_count++] = {static_cast<int32_t>(axis), block};
    if (*text == '\0') break;
    if (*text++ != ',') return 1;
  }
  for (int32_t d = 0; d < rank; ++d) {
    if (!seen[d]) return 1;
  }
  return 0;
}

int64_t tf_layout_elements(const tf_layout* layout, const int64_t* extents, int32_t rank) {
  int64_t total = 1;
  for (int32_t d = 0; d < rank; ++d) {
    int64_t blocks = 1;
    for (int32_t i = 0; i < layout->axis_count; ++i) {
      const tf_layout_axis& axis = layout->axes[i];
      if (axis.axis == d && axis.block > 0 && __builtin_mul_overflow(blocks, axis.block, &blocks)) return -1;
    }
    int64_t padded;
    if (extents[d] < 0 || __builtin_add_overflow(extents[d], blocks - 1, &padded)) return -1;
    padded = padded / blocks * blocks;
    if (__builtin_mul_overflow(total, padded, &total)) return -1;
  }
  return total;
}

void tf_layout_pack(const tf_layout* layout, const int64_t* extents, int32_t rank, int32_t element_bytes,
                    const void* source, void* target) {
  copy_elements<true>(layout, extents, rank, element_bytes, const_cast<void*>(source), target);
}

void tf_layout_unpack(const tf_layout* layout, const int64_t* extents, int32_t rank, int32_t element_bytes,
                      const void* source, void* target) {
  copy_elements<false>(layout, extents, rank, element_bytes, target, const_cast<void*>(source));
}

}  // extern "C"
