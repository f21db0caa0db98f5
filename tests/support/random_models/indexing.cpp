// Operators that read or write elements at places that operands say, and that sort and select.
#include <algorithm>
#include <numeric>
#include <set>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

constexpr std::string_view kAll = "fhdilbBsSIL?";

// Indices of an axis of that extent, negative ones too where the operator set has them.
std::string indices(RandomModel& m, int type, const Shape& shape, int64_t extent) {
  Shape values;
  for (int64_t i = 0; i < count_of(shape); ++i)
    values.push_back(m.opset() >= 11 ? m.between(-extent, extent - 1) : m.below(extent));
  return m.whole(type, shape, values, m.flip());
}

Shape full_shape(RandomModel& m, int64_t least, int64_t most, int64_t elements = 1000) {
  Shape shape = m.shape(least, most, elements);
  for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 1);
  return shape;
}

void gather(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 4);
  const auto axis = m.below(std::ssize(shape));
  const std::string x = m.operand(m.type(kAll), shape);
  const std::string index = indices(m, m.type("li"), m.shape(0, 3, 40), shape[static_cast<size_t>(axis)]);
  auto& node = m.node("Gather", {x, index});
  if (axis != 0 || m.flip()) set(node, "axis", m.signed_axis(axis, std::ssize(shape)));
}

void gather_elements(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 4);
  const auto axis = m.below(std::ssize(shape));
  Shape to;
  for (size_t i = 0; i < shape.size(); ++i)
    to.push_back(static_cast<int64_t>(i) == axis ? m.extent(9) : m.between(1, shape[i]));
  const std::string x = m.operand(m.type(kAll), shape);
  auto& node = m.node("GatherElements", {x, indices(m, m.type("li"), to, shape[static_cast<size_t>(axis)])});
  if (axis != 0 || m.flip()) set(node, "axis", m.signed_axis(axis, std::ssize(shape)));
}

// Rows of indices into the axes [from, from + width) of the shape; no two alike if they must not be.
Shape index_rows(RandomModel& m, const Shape& shape, size_t from, int64_t width, int64_t rows, bool differ) {
  Shape values;
  std::set<Shape> seen;
  for (int64_t i = 0; i < rows; ++i) {
    Shape row;
    for (int attempt = 0; attempt < 200; ++attempt) {
      row.clear();
      for (int64_t k = 0; k < width; ++k) row.push_back(m.below(shape[from + static_cast<size_t>(k)]));
      if (!differ || seen.insert(row).second) break;
      row.clear();
    }
    if (row.empty() && width > 0) return {};
    for (int64_t k = 0; k < width; ++k)
      values.push_back(m.one_in(4) ? row[static_cast<size_t>(k)] - shape[from + static_cast<size_t>(k)]
                                   : row[static_cast<size_t>(k)]);
  }
  return values;
}

void gather_nd(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 4);
  const int64_t rank = std::ssize(shape);
  const int64_t batch = m.opset() >= 12 && rank > 1 && m.one_in(3) ? m.between(1, rank - 1) : 0;
  const int64_t width = m.between(1, rank - batch);
  Shape to(shape.begin(), shape.begin() + batch);
  if (m.flip()) to.push_back(m.extent(5));
  const int64_t rows = count_of(to);
  to.push_back(width);
  const std::string x = m.operand(m.type("fhdilB?"), shape);
  const Shape values = index_rows(m, shape, static_cast<size_t>(batch), width, rows, false);
  auto& node = m.node("GatherND", {x, m.whole(7, to, values, m.flip())});
  if (batch > 0) set(node, "batch_dims", batch);
}

std::string reduction(RandomModel& m) {
  if (m.opset() < 16 || m.flip()) return "none";
  return m.opset() >= 18 ? m.pick({"add", "mul", "min", "max"}) : m.pick({"add", "mul"});
}

void scatter_elements(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 4, 300);
  const auto axis = m.below(std::ssize(shape));
  const int64_t extent = shape[static_cast<size_t>(axis)];
  const std::string how = reduction(m);
  Shape to;
  for (size_t i = 0; i < shape.size(); ++i) to.push_back(m.between(1, shape[i]));
  // Along the axis no two updates of a line go to one place, where their order would matter.
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < to.size(); ++i) inner *= to[i];
  Shape values(static_cast<size_t>(count_of(to)));
  const int64_t along = to[static_cast<size_t>(axis)];
  for (int64_t line = 0; line < std::ssize(values) / along; ++line) {
    Shape places(static_cast<size_t>(extent));
    std::iota(places.begin(), places.end(), 0);
    places = m.permuted(places);
    for (int64_t k = 0; k < along; ++k) {
      const int64_t place = how == "none" ? places[static_cast<size_t>(k)] : m.below(extent);
      const int64_t at = (line / inner * along + k) * inner + line % inner;
      values[static_cast<size_t>(at)] = m.opset() >= 11 && m.one_in(4) ? place - extent : place;
    }
  }
  const int type = m.type(how == "none" ? kAll : "fdil");
  const std::string x = m.operand(type, shape);
  const std::string index = m.whole(m.type("li"), to, values, m.flip());
  auto& node = m.node(m.opset() < 11 ? "Scatter" : "ScatterElements", {x, index, m.operand(type, to)});
  if (axis != 0 || m.flip())
    set(node, "axis", m.opset() >= 11 ? m.signed_axis(axis, std::ssize(shape)) : axis);
  if (m.opset() >= 16 && (how != "none" || m.flip())) set(node, "reduction", how);
}

void scatter_nd(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 4, 300);
  const int64_t width = m.between(1, std::ssize(shape));
  const std::string how = reduction(m);
  const int64_t rows = m.between(1, 4);
  Shape values = index_rows(m, shape, 0, width, rows, how == "none");
  const int64_t kept = width == 0 ? rows : std::ssize(values) / width;
  Shape to = {kept};
  to.insert(to.end(), shape.begin() + width, shape.end());
  const int type = m.type(how == "none" ? "fhdilB?" : "fdil");
  const std::string x = m.operand(type, shape);
  const std::string index = m.whole(7, {kept, width}, values, m.flip());
  auto& node = m.node("ScatterND", {x, index, m.operand(type, to)});
  if (m.opset() >= 16 && (how != "none" || m.flip())) set(node, "reduction", how);
}

void top_k(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 4);
  const auto axis = m.below(std::ssize(shape));
  const int64_t k = m.between(m.one_in(9) ? 0 : 1, shape[static_cast<size_t>(axis)]);
  const std::string x = m.operand(m.opset() >= 11 ? m.type("fdil") : m.type("fd"), shape, Fill::kDistinct);
  auto& node = m.opset() >= 10 ? m.node("TopK", {x, m.list({k})}, 2) : m.node("TopK", {x}, 2);
  if (m.opset() < 10) set(node, "k", k);
  if (axis != std::ssize(shape) - 1 || m.flip())
    set(node, "axis", m.opset() >= 11 ? m.signed_axis(axis, std::ssize(shape)) : axis);
  if (m.opset() >= 11 && m.flip()) set(node, "largest", m.below(2));
  if (m.opset() >= 11 && m.one_in(4)) set(node, "sorted", 1);
}

// Of a scalar ONNX Runtime gives the places an axis.
void non_zero(RandomModel& m) {
  m.node("NonZero", {m.constant(m.type("fil?B"), m.shape(1, 4, 300), Fill::kUnit)});
}

void unique(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 3, 100);
  auto& node =
      m.node("Unique", {m.constant(m.type("fdlb"), shape, Fill::kUnit)}, static_cast<int>(m.between(1, 4)));
  if (m.one_in(3)) set(node, "axis", m.signed_axis(m.below(std::ssize(shape)), std::ssize(shape)));
  if (m.flip()) set(node, "sorted", m.below(2));
}

void compress(RandomModel& m) {
  const Shape shape = full_shape(m, 1, 4, 300);
  const auto axis = m.below(std::ssize(shape));
  const bool has_axis = m.flip();
  const int64_t most = has_axis ? shape[static_cast<size_t>(axis)] : count_of(shape);
  const std::string x = m.operand(m.type("fdilB?"), shape);
  auto& node = m.node("Compress", {x, m.constant(9, {m.between(1, most)})});
  if (has_axis) set(node, "axis", m.opset() >= 11 ? m.signed_axis(axis, std::ssize(shape)) : axis);
}

void suppress(RandomModel& m) {
  const int64_t batch = m.between(1, 2), classes = m.between(1, 3), boxes = m.between(1, 12);
  std::vector<double> corners;
  for (int64_t i = 0; i < batch * boxes; ++i) {
    const double y = m.real(0, 5), x = m.real(0, 5);
    corners.insert(corners.end(), {y, x, y + m.real(0.2, 3), x + m.real(0.2, 3)});
  }
  std::vector<std::string> inputs = {m.reals(1, {batch, boxes, 4}, corners, !m.one_in(5)),
                                     m.constant(1, {batch, classes, boxes}, Fill::kDistinct)};
  if (!m.one_in(5)) inputs.push_back(m.whole(7, {1}, {m.between(0, 6)}, true));
  if (inputs.size() == 3 && m.flip()) inputs.push_back(m.reals(1, {1}, {m.real(0, 1)}, true));
  if (inputs.size() == 4 && m.flip()) inputs.push_back(m.reals(1, {1}, {m.real(-1, 1)}, true));
  auto& node = m.node("NonMaxSuppression", inputs);
  if (m.one_in(4)) set(node, "center_point_box", 1);
}

void tensor_scatter(RandomModel& m) {
  Shape shape = full_shape(m, 2, 4, 300), update = shape;
  const auto axis = m.between(1, std::ssize(shape) - 1);
  const int64_t extent = shape[static_cast<size_t>(axis)], rows = m.between(1, extent);
  const bool circular = m.flip();
  update[static_cast<size_t>(axis)] = rows;
  const int type = m.type(kAll);
  std::vector<std::string> inputs = {m.operand(type, shape), m.operand(type, update)};
  Shape places;
  for (int64_t i = 0; i < shape[0]; ++i) places.push_back(m.below(circular ? extent : extent - rows + 1));
  if (m.flip()) inputs.push_back(m.whole(7, {shape[0]}, places, m.flip()));
  auto& node = m.node("TensorScatter", inputs);
  set(node, "axis", m.signed_axis(axis, std::ssize(shape)));
  set(node, "mode", circular ? "circular" : "linear");
}

}  // namespace

RandomOperators indexing_operators() {
  return {{"Gather", 7, gather},
          {"GatherElements", 11, gather_elements},
          {"GatherND", 11, gather_nd},
          {"ScatterElements", 9, scatter_elements},
          {"TensorScatter", 24, tensor_scatter},
          {"ScatterND", 11, scatter_nd},
          {"TopK", 7, top_k},
          {"NonZero", 9, non_zero},
          {"Unique", 11, unique},
          {"Compress", 9, compress},
          {"NonMaxSuppression", 10, suppress}};
}

}  // namespace tf::onnx
