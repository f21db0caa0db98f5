// Operators that move elements, and what asks for shapes.
#include <algorithm>
#include <numeric>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

constexpr std::string_view kAll = "fhdilbBsSIL?";

void reshape(RandomModel& m) {
  const Shape shape = m.shape(0, 4);
  Shape to = m.permuted(shape);
  if (to.size() > 1 && m.flip()) {
    to[0] *= to[1];
    to.erase(to.begin() + 1);
  }
  if (m.one_in(3)) to.insert(to.begin() + m.below(std::ssize(to) + 1), 1);
  const bool allow_zero = m.opset() >= 14 && m.one_in(5);
  const bool is_empty = count_of(shape) == 0;
  if (!allow_zero && !is_empty && m.one_in(3))
    for (size_t i = 0; i < std::min(to.size(), shape.size()); ++i)
      if (to[i] == shape[i]) to[i] = 0;
  if (!to.empty() && !is_empty && m.flip()) to[static_cast<size_t>(m.below(std::ssize(to)))] = -1;
  const std::string x = m.operand(m.type(kAll), shape);
  auto& node = m.node("Reshape", {x, m.list(to)});
  if (allow_zero || (is_empty && m.opset() >= 14)) set(node, "allowzero", 1);
}

void transpose(RandomModel& m) {
  const Shape shape = m.shape(0, 6);
  auto& node = m.node("Transpose", {m.operand(m.type(kAll), shape)});
  Shape perm(shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  if (!m.one_in(4)) set(node, "perm", m.permuted(perm));
}

void squeeze(RandomModel& m) {
  Shape shape = m.shape(1, 3);
  const auto place = m.below(std::ssize(shape) + 1);
  shape.insert(shape.begin() + place, 1);
  const int64_t rank = std::ssize(shape);
  Shape axes = {m.opset() >= 11 ? m.signed_axis(place, rank) : place};
  for (int64_t i = 0; i < rank; ++i)
    if (i != place && shape[static_cast<size_t>(i)] == 1 && m.flip()) axes.push_back(i);
  std::vector<std::string> inputs = {m.operand(m.type(kAll), shape)};
  const bool has_axes = !m.one_in(4);
  if (has_axes && m.opset() >= 13) inputs.push_back(m.list(axes));
  auto& node = m.node("Squeeze", inputs);
  if (has_axes && m.opset() < 13) set(node, "axes", axes);
}

void unsqueeze(RandomModel& m) {
  const Shape shape = m.shape(0, 3);
  const int64_t more = m.between(1, 2), rank = std::ssize(shape) + more;
  Shape all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  Shape axes = m.permuted(all);
  axes.resize(static_cast<size_t>(more));
  if (m.opset() >= 11)
    for (int64_t& axis : axes) axis = m.signed_axis(axis, rank);
  const std::string x = m.operand(m.type(kAll), shape);
  if (m.opset() >= 13)
    m.node("Unsqueeze", {x, m.list(axes)});
  else
    set(m.node("Unsqueeze", {x}), "axes", axes);
}

void flatten(RandomModel& m) {
  const Shape shape = m.shape(m.one_in(9) ? 0 : 1, 4);
  const int64_t rank = std::ssize(shape);
  auto& node = m.node("Flatten", {m.operand(m.opset() >= 9 ? m.type(kAll) : m.type("fhd"), shape)});
  if (!m.one_in(4)) set(node, "axis", m.between(m.opset() >= 11 ? -rank : 0, rank));
  if (rank == 0) node.clear_attribute(), set(node, "axis", 0);
}

void concat(RandomModel& m) {
  const int type = m.type(m.opset() >= 8 ? kAll : "fhd");
  Shape shape = m.shape(1, 4, 500);
  const auto axis = m.below(std::ssize(shape));
  std::vector<std::string> inputs;
  for (int64_t i = m.between(1, 4); i > 0; --i) {
    shape[static_cast<size_t>(axis)] = m.one_in(12) ? 0 : m.extent(9);
    inputs.push_back(m.operand(type, shape));
  }
  set(m.node("Concat", inputs), "axis", m.opset() >= 11 ? m.signed_axis(axis, std::ssize(shape)) : axis);
}

void split(RandomModel& m) {
  Shape shape = m.shape(1, 4, 500);
  const auto axis = static_cast<size_t>(m.below(std::ssize(shape)));
  const int64_t parts = m.between(1, 4);
  Shape sizes;
  const bool is_listed = m.flip();
  const bool is_uneven = !is_listed && m.opset() >= 18 && m.flip();
  const int64_t each = m.between(1, 4);
  for (int64_t i = 0; i < parts; ++i) sizes.push_back(is_listed ? (m.one_in(9) ? 0 : m.extent(7)) : each);
  if (is_uneven) sizes.back() = m.between(1, each);
  shape[axis] = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  std::vector<std::string> inputs = {m.operand(m.type(kAll), shape)};
  if (is_listed && m.opset() >= 13) inputs.push_back(m.list(sizes));
  auto& node = m.node("Split", inputs, static_cast<int>(parts));
  if (is_listed && m.opset() < 13) set(node, "split", sizes);
  if (!is_listed && m.opset() >= 18) set(node, "num_outputs", parts);
  const auto at = static_cast<int64_t>(axis);
  if (axis != 0 || m.flip()) set(node, "axis", m.opset() >= 11 ? m.signed_axis(at, std::ssize(shape)) : at);
}

void slice(RandomModel& m) {
  const Shape shape = m.shape(1, 4);
  const int64_t rank = std::ssize(shape);
  Shape axes = m.some_axes(rank, 1);
  const bool has_axes = !m.one_in(4);
  if (!has_axes) {
    axes.resize(static_cast<size_t>(m.between(1, rank)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (m.opset() < 10)
    for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
  Shape starts, ends, steps;
  for (const int64_t axis : axes) {
    const int64_t extent = shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
    steps.push_back(m.opset() < 10 ? 1 : m.pick(Shape{1, 1, 2, 3, -1, -2}));
    int64_t a = m.between(-extent, extent),
            b = m.one_in(4) ? m.pick(Shape{INT64_MAX, 100, -100, INT32_MAX}) : m.between(-extent, extent);
    if (steps.back() > 0 && m.one_in(3)) a = 0;
    if (steps.back() < 0) {
      a = m.pick(Shape{-1, 100, extent / 2, extent});
      b = m.pick(Shape{INT64_MIN, -100, -extent - 1, 0});
    }
    starts.push_back(a);
    ends.push_back(b);
  }
  const std::string x = m.operand(m.type(kAll), shape);
  if (m.opset() < 10) {
    auto& node = m.node("Slice", {x});
    set(node, "starts", starts);
    set(node, "ends", ends);
    if (has_axes) set(node, "axes", axes);
    return;
  }
  const int type = m.type("li");
  const auto row = [&](Shape values) {
    if (type == ::onnx::TensorProto::INT32)
      for (int64_t& v : values) v = std::clamp<int64_t>(v, INT32_MIN, INT32_MAX);
    return m.whole(type, {std::ssize(values)}, values, !m.one_in(20));
  };
  std::vector<std::string> inputs = {x, row(starts), row(ends), has_axes ? row(axes) : ""};
  const bool has_steps = std::ranges::any_of(steps, [](int64_t v) { return v != 1; });
  if (has_steps) inputs.push_back(row(steps));
  if (!has_steps && !has_axes) inputs.pop_back();
  m.node("Slice", inputs);
}

void pad(RandomModel& m) {
  const Shape shape = m.shape(1, 4, 400);
  const int64_t rank = std::ssize(shape);
  const std::string mode = m.opset() >= 19 ? m.pick({"constant", "reflect", "edge", "wrap"})
                                           : m.pick({"constant", "reflect", "edge"});
  Shape axes = m.opset() >= 18 && m.flip() ? m.some_axes(rank, 1) : Shape{};
  const bool has_axes = !axes.empty();
  if (!has_axes) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  Shape pads;
  for (int side = 0; side < 2; ++side) {
    for (const int64_t axis : axes) {
      const int64_t extent = shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
      const int64_t most = mode == "reflect"               ? std::min<int64_t>(extent - 1, 3)
                           : mode == "wrap"                ? std::min<int64_t>(extent, 3)
                           : extent == 0 && mode == "edge" ? 0
                                                           : 3;
      pads.push_back(most <= 0 ? 0 : m.one_in(6) && extent > 2 ? -1 : m.between(0, most));
    }
  }
  const int type = m.type(m.opset() >= 13 ? kAll : "fhdilIL");
  const std::string x = m.operand(m.opset() < 11 ? m.type("fhd") : type, shape);
  if (m.opset() < 11) {
    auto& node = m.node("Pad", {x});
    set(node, "pads", pads);
    if (mode != "constant" || m.flip()) set(node, "mode", mode);
    if (m.flip()) set(node, "value", m.real(-2, 2));
    return;
  }
  std::vector<std::string> inputs = {x, m.list(pads)};
  if (m.flip()) inputs.push_back(m.scalar(type, 1));
  if (has_axes) {
    inputs.resize(3);
    inputs.push_back(m.list(axes));
  }
  auto& node = m.node("Pad", inputs);
  if (mode != "constant" || m.flip()) set(node, "mode", mode);
}

void tile(RandomModel& m) {
  const Shape shape = m.shape(1, 5, 200);
  Shape repeats;
  for (size_t i = 0; i < shape.size(); ++i)
    repeats.push_back(m.pick(Shape{1, 1, 2, 3, 1, m.one_in(10) ? 0 : 1}));
  const std::string x = m.operand(m.type(kAll), shape);
  m.node("Tile", {x, m.list(repeats)});
}

void expand(RandomModel& m) {
  const Shape shape = m.shape(0, 5);
  const Shape from = m.broadcast_to(shape), to = m.broadcast_to(shape);
  const std::string x = m.operand(m.type(kAll), from);
  m.node("Expand", {x, m.list(to)});
}

void depth_to_space(RandomModel& m) {
  const int64_t block = m.between(1, 3);
  const int type = m.type("fd");
  if (m.flip()) {
    const std::string x =
        m.operand(type, {m.extent(3), m.extent(4) * block * block, m.extent(5), m.extent(5)});
    auto& node = m.node("DepthToSpace", {x});
    set(node, "blocksize", block);
    if (m.opset() >= 11 && m.flip()) set(node, "mode", m.pick({"DCR", "CRD"}));
  } else {
    const std::string x =
        m.operand(type, {m.extent(3), m.extent(4), m.extent(5) * block, m.extent(5) * block});
    set(m.node("SpaceToDepth", {x}), "blocksize", block);
  }
}

void reverse_sequence(RandomModel& m) {
  const Shape shape = {m.extent(7), m.extent(7), m.extent(5)};
  const int64_t time = m.below(2), batch = 1 - time;
  Shape lengths;
  for (int64_t i = 0; i < shape[static_cast<size_t>(batch)]; ++i)
    lengths.push_back(m.between(1, shape[static_cast<size_t>(time)]));
  const std::string x = m.operand(m.type("fdil"), shape);
  auto& node = m.node("ReverseSequence", {x, m.whole(7, {std::ssize(lengths)}, lengths, m.flip())});
  if (batch == 0 || m.flip()) set(node, "batch_axis", batch);
  if (time == 1 || m.flip()) set(node, "time_axis", time);
}

void trilu(RandomModel& m) {
  const std::string x = m.operand(m.type("fdilbB?"), m.shape(2, 4));
  auto& node = m.node(
      "Trilu", m.flip() ? std::vector<std::string>{x}
                        : std::vector<std::string>{x, m.scalar(7, static_cast<double>(m.between(-4, 4)))});
  if (m.flip()) set(node, "upper", m.below(2));
}

void eye_like(RandomModel& m) {
  auto& node = m.node("EyeLike", {m.operand(m.type("fdil"), {m.extent(), m.extent()})});
  if (m.flip()) set(node, "dtype", m.type("fdilhbB?"));
  if (m.flip()) set(node, "k", m.between(-3, 3));
}

void one_hot(RandomModel& m) {
  const int64_t depth = m.between(1, 7);
  const Shape shape = m.shape(0, 3, 60);
  Shape indices;
  for (int64_t i = 0; i < count_of(shape); ++i) indices.push_back(m.between(-depth - 1, depth + 1));
  const std::string index = m.whole(m.type("li"), shape, indices, m.one_in(4));
  const std::string size = m.whole(7, m.flip() ? Shape{} : Shape{1}, {depth}, !m.one_in(20));
  auto& node = m.node("OneHot", {index, size, m.constant(m.type("fil"), {2}, Fill::kDistinct)});
  const int64_t rank = std::ssize(shape) + 1;
  if (m.flip()) set(node, "axis", m.between(-rank, rank - 1));
}

void center_crop_pad(RandomModel& m) {
  const Shape shape = m.shape(1, 4, 500);
  const int64_t rank = std::ssize(shape);
  const bool has_axes = m.flip();
  const Shape axes = m.some_axes(rank, 1);
  Shape sizes(has_axes ? axes.size() : shape.size());
  for (int64_t& size : sizes) size = m.extent(9);
  const std::string x = m.operand(m.type("fhdilB?"), shape);
  auto& node = m.node("CenterCropPad", {x, m.list(sizes)});
  if (has_axes) set(node, "axes", axes);
}

void shape_of(RandomModel& m) {
  const Shape shape = m.shape(0, 5);
  const std::string x = m.operand(m.type(kAll), shape);
  m.node("Size", {x});
  auto& node = m.node("Shape", {x});
  if (m.opset() >= 15 && m.flip()) set(node, "start", m.between(-6, 6));
  if (m.opset() >= 15 && m.flip()) set(node, "end", m.between(-6, 6));
}

void constant_of_shape(RandomModel& m) {
  const Shape shape = m.shape(0, 4);
  auto& node = m.node("ConstantOfShape", {m.list(shape)});
  if (m.one_in(4)) return;
  auto& value = attribute(node, "value");
  value.set_type(::onnx::AttributeProto::TENSOR);
  const int type = m.type(kAll);
  value.mutable_t()->set_data_type(type);
  value.mutable_t()->add_dims(1);
  value.mutable_t()->set_raw_data(encoded(type, {1}));
}

void range(RandomModel& m) {
  const int type = m.type("filds");
  const double start = static_cast<double>(m.between(-5, 5)),
               step = m.pick(std::vector<double>{1, 2, -1, -3, 4});
  const double end = start + step * static_cast<double>(m.between(-1, 9)) + (m.flip() ? 1 : 0);
  const std::string first = m.scalar(type, start), last = m.scalar(type, end);
  m.node("Range", {first, last, m.scalar(type, step)});
}

// Parts of a tensor as a sequence, which is read or put together again.
void sequence(RandomModel& m) {
  Shape shape = m.shape(1, 3, 200);
  for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 1);
  const auto axis = m.below(std::ssize(shape));
  const int64_t extent = shape[static_cast<size_t>(axis)], size = m.between(1, extent);
  const int64_t parts = (extent + size - 1) / size;
  const std::string x = m.operand(m.type("fdil"), shape);
  std::vector<std::string> inputs = {x};
  const bool keeps = m.one_in(4);
  if (!keeps) inputs.push_back(m.whole(7, {}, {size}, true));
  auto& node = m.node("SplitToSequence", inputs);
  set(node, "axis", axis);
  const std::string all = m.result();
  const int64_t count = keeps ? extent : parts;
  m.node("SequenceLength", {all});
  m.node("SequenceAt", {all, m.whole(7, {}, {m.between(-count, count - 1)}, true)});
  set(m.node("ConcatFromSequence", {all}), "axis", axis);
  if (!m.flip()) return;
  m.node("SequenceConstruct", {x, x, x});
  const std::string made = m.result();
  m.node("SequenceErase", {made});
  auto& stacked = m.node("ConcatFromSequence", {m.result()});
  set(stacked, "axis", 0);
  if (m.flip()) set(stacked, "new_axis", 1);
}

}  // namespace

RandomOperators movement_operators() {
  return {{"Reshape", 7, reshape},
          {"Transpose", 7, transpose},
          {"Squeeze", 7, squeeze},
          {"Unsqueeze", 7, unsqueeze},
          {"Flatten", 7, flatten},
          {"Concat", 7, concat},
          {"Split", 7, split},
          {"Slice", 7, slice},
          {"Pad", 7, pad},
          {"Tile", 7, tile},
          {"Expand", 8, expand},
          {"DepthToSpace", 7, depth_to_space},
          {"ReverseSequence", 10, reverse_sequence},
          {"Trilu", 14, trilu},
          {"EyeLike", 9, eye_like},
          {"OneHot", 11, one_hot},
          {"CenterCropPad", 18, center_crop_pad},
          {"Shape", 7, shape_of},
          {"ConstantOfShape", 9, constant_of_shape},
          {"Range", 11, range},
          {"Sequence", 11, sequence}};
}

}  // namespace tf::onnx
