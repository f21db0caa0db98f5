// The interpreter's instructions that move values: between slots, and between slots and buffers, with every
// index checked.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/ir/machine.h"
#include "compiler/ir/machine_lanes.h"
#include "compiler/ir/machine_watch.h"

namespace tf::ir::machine {
namespace {

void fail_access(Machine& m, const Site& site, size_t dimension, int64_t index, int64_t limit, int32_t lane) {
  m.run->fail(absl::OutOfRangeError(
      absl::StrCat(site.is_store ? "store to " : "load of ", site.buffer->name, ": ",
                   site.is_flat ? "element offset " : absl::StrCat("index ", dimension, " is "), index,
                   ", outside [0, ", limit, ")", place_of(m, site), ", lane ", lane)));
}

// Whether the lane holds that element of a fragment.
bool is_holder(Machine& m, const Site& site, const int64_t* index) {
  int64_t row = 0, column = 0;
  for (size_t d = 0; d < site.held.row_steps.size(); ++d) {
    row += site.held.row_steps[d] * index[d];
    column += site.held.column_steps[d] * index[d];
  }
  const tensor_units::LaneMap& map = *site.held.map;
  const int64_t lane = m.thread.x % map.lanes;
  const int holder = map.lane_of(static_cast<int>(row % map.rows), static_cast<int>(column % map.columns));
  if (holder == lane) return true;
  m.run->fail(absl::FailedPreconditionError(
      absl::StrCat("lane ", lane, " touches row ", row, " and column ", column, " of fragment ",
                   site.buffer->name, ", which lane ", holder, " holds", place_of(m, site))));
  return false;
}

int64_t blocked_offset(const Shape& shape, const int64_t* index) {
  int64_t offset = 0;
  for (size_t i = 0; i < shape.axes.size(); ++i) {
    const Shape::Axis& axis = shape.axes[i];
    int64_t at = index[axis.axis] / axis.divisor;
    if (axis.modulus != 0) at %= axis.modulus;
    offset = offset * axis.extent + at;
  }
  return offset;
}

// The checked physical element offset of one lane, or -1.
int64_t locate(Machine& m, const Site& site, const Shape& shape, int32_t lane) {
  int64_t index[kMaxRank];
  for (size_t d = 0; d < site.indices.size(); ++d)
    index[d] = m.at<int64_t>(site.indices[d])[site.moves[d] != 0 ? lane : 0];
  if (site.held.map != nullptr && m.run->watch != nullptr && !is_holder(m, site, index)) return -1;
  return locate_indices(m, site, shape, index, lane);
}

// The usual case after flattening, one index that is the offset, without the general case's loops.
struct Locator {
  Machine& m;
  const Site& site;
  const Shape& shape;
  const int64_t* index;
  const bool direct = site.indices.size() == 1 && site.held.map == nullptr &&
                      (site.is_flat || (shape.is_row_major && !shape.swizzle));
  const int32_t step = site.moves.empty() ? 0 : site.moves[0];

  Locator(Machine& machine, const Site& s, const Shape& sh)
      : m(machine),
        site(s),
        shape(sh),
        index(s.indices.empty() ? nullptr : machine.at<int64_t>(s.indices[0])) {}

  int64_t operator()(int32_t lane) const {
    if (direct) {
      const int64_t offset = index[lane * step];
      if (static_cast<uint64_t>(offset) < static_cast<uint64_t>(shape.elements)) return offset;
    }
    return locate(m, site, shape, lane);
  }
};

template <typename L, bool kWatched>
void run_load(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const Site& site = m.run->program->sites[static_cast<size_t>(i.site)];
  const BufferState& buffer = m.buffers[static_cast<size_t>(site.buffer_slot)];
  const Locator at(m, site, *buffer.shape);
  T* out = m.at<T>(i.target);
  const uint8_t* mask = i.mask < 0 ? nullptr : m.at<uint8_t>(i.mask);
  for (int32_t l = 0; l < i.lanes; ++l) {
    out[l] = 0;
    uint8_t* undefined =
        kWatched ? &m.undefined[static_cast<size_t>(i.target) + static_cast<size_t>(l) * sizeof(T)] : nullptr;
    if constexpr (kWatched) *undefined = 0;
    if (mask && mask[l] == 0) continue;
    if constexpr (kWatched)
      if (!check_indices(m, site, l)) return;
    const int64_t offset = at(l);
    if (offset < 0) continue;
    if constexpr (kWatched) *undefined = !watch_read(m, site, buffer, offset);
    out[l] = L::read(buffer.data + offset * static_cast<int64_t>(sizeof(typename L::Memory)));
  }
}

template <typename L, bool kWatched>
void run_store(Machine& m, const Instruction& i) {
  const Site& site = m.run->program->sites[static_cast<size_t>(i.site)];
  const BufferState& buffer = m.buffers[static_cast<size_t>(site.buffer_slot)];
  const Locator at(m, site, *buffer.shape);
  const auto* value = m.at<typename L::Lane>(i.a);
  const uint8_t* mask = i.mask < 0 ? nullptr : m.at<uint8_t>(i.mask);
  for (int32_t l = 0; l < i.lanes && !m.run->failed; ++l) {
    const int32_t from = i.b != 0 ? l : 0;
    if constexpr (kWatched)
      if (!check_predicate(m, site, i.mask, l)) return;
    if (mask && mask[l] == 0) continue;
    if constexpr (kWatched)
      if (!check_indices(m, site, l)) return;
    const int64_t offset = at(l);
    if (offset < 0) return;
    if constexpr (kWatched)
      watch_write(m, site, buffer, offset,
                  m.undefined[static_cast<size_t>(i.a) + static_cast<size_t>(from) * sizeof(value[0])] == 0);
    L::write(buffer.data + offset * static_cast<int64_t>(sizeof(typename L::Memory)), value[from]);
  }
}

// Element by element: each may be outside of the tensor.
void run_box_copy(Machine& m, const Site& target, const Site& source, int64_t elements) {
  if (m.thread.x != 0 || m.thread.y != 0 || m.thread.z != 0) return;
  const BufferState& to = m.buffers[static_cast<size_t>(target.buffer_slot)];
  const BufferState& from = m.buffers[static_cast<size_t>(source.buffer_slot)];
  int64_t first = locate(m, target, *to.shape, 0);
  if (first < 0) return;
  if (!target.is_flat) first = to.shape->swizzle.of(first);  // back again
  if (first + elements > to.shape->elements)
    return fail_access(m, target, 0, first + elements - 1, to.shape->elements, 0);
  const int64_t bytes = tensor::element_bytes(target.buffer->element);
  for (int64_t n = 0; n < elements && !m.run->failed; ++n) {
    int64_t offset = 0, left = n, step = 1;
    bool inside = true;
    for (size_t d = source.box.size(); d-- > 0;) {
      const int64_t at = *m.at<int64_t>(source.indices[d]) + left % source.box[d].box;
      left /= source.box[d].box;
      inside = inside && at >= 0 && at < source.box[d].extent;
      offset += at * step;
      step *= source.box[d].extent;
    }
    if (inside && offset >= from.shape->elements)
      return fail_access(m, source, 0, offset, from.shape->elements, 0);
    const int64_t into = to.shape->swizzle.of(first + n);
    if (m.run->watch != nullptr)
      begin_copy(m, target, source, into, inside ? &from : nullptr, inside ? offset : 0, 1, true);
    else if (inside)
      std::memcpy(to.data + into * bytes, from.data + offset * bytes, static_cast<size_t>(bytes));
    else
      std::memset(to.data + into * bytes, 0, static_cast<size_t>(bytes));
  }
}

void run_async_copy(Machine& m, const Instruction& i) {
  const Site& target = m.run->program->sites[static_cast<size_t>(i.a)];
  const Site& source = m.run->program->sites[static_cast<size_t>(i.b)];
  if (!source.box.empty()) return run_box_copy(m, target, source, i.c);
  const BufferState& to = m.buffers[static_cast<size_t>(target.buffer_slot)];
  const BufferState& from = m.buffers[static_cast<size_t>(source.buffer_slot)];
  const bool zeros = i.mask >= 0 && *m.at<uint8_t>(i.mask) == 0;
  const int64_t t = locate(m, target, *to.shape, 0), s = zeros ? 0 : locate(m, source, *from.shape, 0);
  if (t < 0 || s < 0) return;
  if (to.shape->swizzle && t % to.shape->swizzle.run() + i.c > to.shape->swizzle.run())
    return m.run->fail(absl::FailedPreconditionError(absl::StrCat(
        "an asynchronous copy into ", target.buffer->name, " goes beyond ", to.shape->swizzle.run(),
        " elements that its swizzle keeps together", place_of(m, target))));
  if (t + i.c > to.shape->elements) return fail_access(m, target, 0, t + i.c - 1, to.shape->elements, 0);
  if (!zeros && s + i.c > from.shape->elements)
    return fail_access(m, source, 0, s + i.c - 1, from.shape->elements, 0);
  if (m.run->watch == nullptr) {  // at once
    const int64_t bytes = tensor::element_bytes(target.buffer->element);
    std::byte* into = to.data + t * bytes;
    if (zeros)
      std::memset(into, 0, static_cast<size_t>(i.c * bytes));
    else
      std::memmove(into, from.data + s * bytes, static_cast<size_t>(i.c * bytes));
    return;
  }
  begin_copy(m, target, source, t, zeros ? nullptr : &from, s, i.c);
}

template <typename L>
void run_select(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const uint8_t* condition = m.at<uint8_t>(i.a);
  const T *b = m.at<T>(i.b), *c = m.at<T>(i.c);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) out[l] = condition[l] != 0 ? b[l] : c[l];
}

template <typename L>
void run_ramp(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T base = *m.at<T>(i.a), stride = *m.at<T>(i.b);
  T* out = m.at<T>(i.target);
  T value = base;
  for (int32_t l = 0; l < i.lanes; ++l) {
    out[l] = value;
    if constexpr (L::kIsFloat)
      value = L::finish(base + static_cast<T>(l + 1) * stride);
    else
      value = L::finish(static_cast<T>(static_cast<uint64_t>(value) + static_cast<uint64_t>(stride)));
  }
}

template <typename L, bool kSpread>
void run_copy(Machine& m, const Instruction& i) {
  using T = typename L::Lane;
  const T* a = m.at<T>(i.a);
  T* out = m.at<T>(i.target);
  for (int32_t l = 0; l < i.lanes; ++l) out[l] = a[kSpread ? 0 : l];
}

void run_any(Machine& m, const Instruction& i) {
  const uint8_t* a = m.at<uint8_t>(i.a);
  *m.at<uint8_t>(i.target) = std::any_of(a, a + i.lanes, [](uint8_t lane) { return lane != 0; });
}

}  // namespace

int64_t locate_indices(Machine& m, const Site& site, const Shape& shape, const int64_t* index, int32_t lane) {
  if (site.is_flat) {
    if (index[0] >= 0 && index[0] < shape.elements) return index[0];
    fail_access(m, site, 0, index[0], shape.elements, lane);
    return -1;
  }
  int64_t offset = 0;
  for (size_t d = 0; d < site.indices.size(); ++d) {
    if (index[d] < 0 || index[d] >= shape.extents[d]) {
      fail_access(m, site, d, index[d], shape.extents[d], lane);
      return -1;
    }
    if (shape.is_row_major) offset += index[d] * shape.row_strides[d];
  }
  return shape.swizzle.of(shape.is_row_major ? offset : blocked_offset(shape, index));
}

Kernel select_kernel(Element element) {
  return with_lane(element, [](auto lane) -> Kernel { return &run_select<decltype(lane)>; });
}
Kernel ramp_kernel(Element element) {
  return with_lane(element, [](auto lane) -> Kernel { return &run_ramp<decltype(lane)>; });
}
Kernel broadcast_kernel(Element element) {
  return with_lane(element, [](auto lane) -> Kernel { return &run_copy<decltype(lane), true>; });
}
Kernel copy_kernel(Element element) {
  return with_lane(element, [](auto lane) -> Kernel { return &run_copy<decltype(lane), false>; });
}
Kernel load_kernel(Element element, bool watched) {
  return with_lane(element, [&](auto lane) -> Kernel {
    return watched ? &run_load<decltype(lane), true> : &run_load<decltype(lane), false>;
  });
}
Kernel store_kernel(Element element, bool watched) {
  return with_lane(element, [&](auto lane) -> Kernel {
    return watched ? &run_store<decltype(lane), true> : &run_store<decltype(lane), false>;
  });
}
Kernel async_copy_kernel() {
  return &run_async_copy;
}
Kernel any_kernel() {
  return &run_any;
}

void write_constant(const Expr& imm, int lanes, std::byte* slot) {
  with_lane(imm->type().element, [&](auto lane) {
    using T = typename decltype(lane)::Lane;
    T value{};
    if (const auto* integer = as<IntImm>(imm)) value = static_cast<T>(integer->value);
    if (const auto* real = as<FloatImm>(imm)) value = static_cast<T>(real->value);
    for (int l = 0; l < lanes; ++l) std::memcpy(slot + static_cast<size_t>(l) * sizeof(T), &value, sizeof(T));
  });
}

int slot_bytes(Element element) {
  return with_lane(element,
                   [](auto lane) { return static_cast<int>(sizeof(typename decltype(lane)::Lane)); });
}

}  // namespace tf::ir::machine
