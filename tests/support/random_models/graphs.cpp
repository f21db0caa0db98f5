// Graphs of several operators, as networks have them: what fuses into one kernel, what moves elements between kernels,
// computations of shapes. Numbers stay small, and no step turns a rounding error into another result.
#include <algorithm>
#include <numeric>

#include "tests/support/random_models/graph_values.h"

namespace tf::onnx {
namespace {

using Names = std::vector<std::string>;

Value unary(GraphValues& g, const Value& x) {
  RandomModel& m = g.model();
  const std::string op_type = m.pick({"Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Sin", "Cos", "Softplus",
                                      "LeakyRelu", "Elu", "Erf", "HardSigmoid", "Identity", "Softsign"});
  return g.node(op_type, {x}, x.shape);
}

// Of several values of the pool, those of one shape are added; else one that is made broadcasts.
Value binary(GraphValues& g, const Value& x) {
  RandomModel& m = g.model();
  const std::string op_type = m.pick({"Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"});
  const Value y = g.like(x);
  return m.flip() ? g.node(op_type, {x, y}, x.shape) : g.node(op_type, {y, x}, x.shape);
}

Value divide(GraphValues& g, const Value& x) {
  const Value y = g.node("Sigmoid", {g.like(x)}, {});
  const Value lifted = g.node("Add", {y, g.number(0.5)}, {});
  return g.node("Div", {x, lifted}, x.shape);
}

Value select(GraphValues& g, const Value& x) {
  const Value other = g.like(x);
  const Value sum = g.node("Add", {other, g.like(x)}, x.shape);
  Value mask = g.given(::onnx::TensorProto::BOOL, g.model().broadcast_to(x.shape));
  if (g.model().flip()) mask = g.node("Not", {mask}, mask.shape);
  return g.node("Where", {mask, x, sum}, x.shape);
}

Value matmul(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  RandomModel& m = g.model();
  Shape shape = x.shape;
  const int64_t inner = shape.back();
  shape.back() = m.extent(9);
  const Value w = g.weights({inner, shape.back()});
  if (shape.size() == 2 && m.flip()) return g.node("Gemm", {x, w, g.weights({shape.back()})}, shape);
  if (shape.size() == 1) return unary(g, x);
  const Value y = g.node("MatMul", {x, w}, shape);
  return m.flip() ? y : g.node("Add", {y, g.weights({shape.back()})}, shape);
}

// x xᵀ of the last two axes.
Value product_of_itself(GraphValues& g, const Value& x) {
  if (x.shape.size() < 2 || x.shape.size() > 4) return unary(g, x);
  Shape perm(x.shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  Shape turned = x.shape;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  const Value t = g.node("Transpose", {x}, turned);
  set(g.last(), "perm", perm);
  Shape shape = x.shape;
  shape.back() = shape[shape.size() - 2];
  const Value product = g.node("MatMul", {x, t}, shape);
  return g.node("Mul", {product, g.number(0.1)}, shape);
}

Value conv(GraphValues& g, const Value& x) {
  RandomModel& m = g.model();
  if (x.shape.size() != 4 || x.type != 1) return unary(g, x);
  const bool depthwise = m.one_in(3);
  const int64_t out = depthwise ? x.shape[1] : m.extent(8), kernel = m.pick(Shape{1, 3});
  const Value w = g.weights({out, depthwise ? 1 : x.shape[1], kernel, kernel});
  const Shape shape = {x.shape[0], out, x.shape[2], x.shape[3]};
  const Value y = m.flip() ? g.node("Conv", {x, w}, shape) : g.node("Conv", {x, w, g.weights({out})}, shape);
  if (kernel == 3) set(g.last(), "pads", Shape{1, 1, 1, 1});
  if (depthwise) set(g.last(), "group", x.shape[1]);
  if (m.flip()) return y;
  const Value normal =
      g.node("BatchNormalization",
             {y, g.weights({out}), g.weights({out}), g.weights({out}), g.positive({out})}, shape);
  return m.flip() ? normal : g.node("Relu", {normal}, shape);
}

Value pool(GraphValues& g, const Value& x) {
  RandomModel& m = g.model();
  if (x.shape.size() != 4 || x.shape[2] < 2 || x.shape[3] < 2) return unary(g, x);
  if (m.one_in(4)) return g.node("GlobalAveragePool", {x}, {x.shape[0], x.shape[1], 1, 1});
  const Value y = g.node(m.pick({"MaxPool", "AveragePool"}), {x},
                         {x.shape[0], x.shape[1], x.shape[2] / 2, x.shape[3] / 2});
  set(g.last(), "kernel_shape", Shape{2, 2});
  set(g.last(), "strides", Shape{2, 2});
  return y;
}

Value enlarge(GraphValues& g, const Value& x) {
  if (x.shape.size() != 4 || x.shape[2] > 9 || x.type != 1) return unary(g, x);
  const Value scales{g.model().reals(1, {4}, {1, 1, 2, 2}, true), 1, {4}};
  const Value y =
      g.node("Resize", {x, Value{}, scales}, {x.shape[0], x.shape[1], 2 * x.shape[2], 2 * x.shape[3]});
  if (g.model().flip()) {
    set(g.last(), "mode", "linear");
  } else {
    set(g.last(), "mode", "nearest");
    set(g.last(), "coordinate_transformation_mode", "asymmetric");
    set(g.last(), "nearest_mode", "floor");
  }
  return y;
}

Value softmax(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  const int64_t rank = std::ssize(x.shape);
  const Value y = g.node("Softmax", {x}, x.shape);
  set(g.last(), "axis", g.model().between(-rank, rank - 1));
  return y;
}

// As exporters write a normalisation out.
Value normalize(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  const Value mean = g.reduced("ReduceMean", x, {-1}, true);
  const Value centred = g.node("Sub", {x, mean}, x.shape);
  const Value square = g.model().flip() ? g.node("Pow", {centred, g.number(2)}, x.shape)
                                        : g.node("Mul", {centred, centred}, x.shape);
  const Value variance = g.reduced("ReduceMean", square, {-1}, true);
  const Value deviation = g.node("Sqrt", {g.node("Add", {variance, g.number(0.1)}, mean.shape)}, mean.shape);
  const Value y = g.node("Div", {centred, deviation}, x.shape);
  return g.node("Mul", {y, g.weights({x.shape.back()})}, x.shape);
}

Value reduce(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  RandomModel& m = g.model();
  return g.reduced(m.pick({"ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp"}), x,
                   m.some_axes(std::ssize(x.shape), 1), m.flip());
}

Value reshape(GraphValues& g, const Value& x) {
  RandomModel& m = g.model();
  Shape shape = m.permuted(x.shape);
  if (shape.size() > 1 && m.flip()) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  return g.reshaped(x, shape);
}

Value transpose(GraphValues& g, const Value& x) {
  Shape perm(x.shape.size()), shape;
  std::iota(perm.begin(), perm.end(), 0);
  perm = g.model().permuted(perm);
  for (int64_t axis : perm) shape.push_back(x.shape[static_cast<size_t>(axis)]);
  const Value y = g.node("Transpose", {x}, shape);
  set(g.last(), "perm", perm);
  return y;
}

Value concat(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  RandomModel& m = g.model();
  const auto axis = static_cast<size_t>(m.below(std::ssize(x.shape)));
  Value y = g.like(x, true);
  if (m.flip()) y = unary(g, y);
  Shape shape = x.shape;
  shape[axis] *= 2;
  std::vector<Value> parts = {x, y};
  if (m.one_in(3)) shape[axis] += x.shape[axis], parts.push_back(unary(g, x));
  const Value all = g.node("Concat", parts, shape);
  set(g.last(), "axis", static_cast<int64_t>(axis));
  return all;
}

Value slice(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  RandomModel& m = g.model();
  const auto axis = static_cast<size_t>(m.below(std::ssize(x.shape)));
  const int64_t extent = x.shape[axis];
  if (extent < 2) return unary(g, x);
  const int64_t first = m.below(extent - 1), last = m.between(first + 1, extent), step = m.between(1, 2);
  Shape shape = x.shape;
  shape[axis] = (last - first + step - 1) / step;
  return g.node("Slice",
                {x, g.list({first}), g.list({last}), g.list({static_cast<int64_t>(axis)}), g.list({step})},
                shape);
}

// Halves that are put together again, otherwise.
Value split(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  RandomModel& m = g.model();
  const auto axis = static_cast<size_t>(m.below(std::ssize(x.shape)));
  if (x.shape[axis] % 2 != 0) return slice(g, x);
  Shape shape = x.shape;
  shape[axis] /= 2;
  auto& node =
      m.node("Split", m.opset() >= 18 ? Names{x.name} : Names{x.name, m.list({shape[axis], shape[axis]})}, 2);
  if (m.opset() >= 18) set(node, "num_outputs", 2);
  set(node, "axis", static_cast<int64_t>(axis));
  const Names halves = m.results();
  const Value a{halves[0], x.type, shape}, b{halves[1], x.type, shape};
  if (m.flip()) return g.node("Mul", {a, g.node("Sigmoid", {b}, shape)}, shape);
  const Value y = g.node("Concat", {unary(g, b), a}, x.shape);
  set(g.last(), "axis", static_cast<int64_t>(axis));
  return y;
}

Value pad(GraphValues& g, const Value& x) {
  if (x.shape.empty() || count_of(x.shape) > 500) return unary(g, x);
  RandomModel& m = g.model();
  Shape pads(2 * x.shape.size(), 0), shape = x.shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    pads[i] = m.below(2), pads[i + x.shape.size()] = m.below(3);
    shape[i] += pads[i] + pads[i + x.shape.size()];
  }
  const Value y = g.node("Pad", {x, g.list(pads)}, shape);
  if (m.flip()) set(g.last(), "mode", "edge");
  return y;
}

Value gather(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  RandomModel& m = g.model();
  const auto axis = static_cast<size_t>(m.below(std::ssize(x.shape)));
  Shape values(static_cast<size_t>(m.extent(5)));
  for (int64_t& v : values) v = m.below(x.shape[axis]);
  Shape shape = x.shape;
  shape[axis] = std::ssize(values);
  const Value index{m.whole(7, {shape[axis]}, values, m.flip()), 7, {shape[axis]}};
  const Value y = g.node("Gather", {x, index}, shape);
  set(g.last(), "axis", static_cast<int64_t>(axis));
  return y;
}

Value expand(GraphValues& g, const Value& x) {
  if (count_of(x.shape) > 300) return unary(g, x);
  RandomModel& m = g.model();
  Shape shape = x.shape;
  for (int64_t& extent : shape)
    if (extent == 1) extent = m.extent(4);
  if (m.flip()) shape.insert(shape.begin(), 2);
  return g.node("Expand", {x, g.list(shape)}, shape);
}

// Exporters compute shapes from shapes: the graph's own, one axis of it replaced by -1 or kept.
Value reshape_by_shape(GraphValues& g, const Value& x) {
  if (x.shape.empty()) return unary(g, x);
  RandomModel& m = g.model();
  const int64_t rank = std::ssize(x.shape);
  const Value shape = g.node("Shape", {x}, {rank}, 7);
  const int64_t kept = m.below(rank);
  const Value extent = g.node("Gather", {shape, g.known(7, {}, {kept})}, {}, 7);
  const Value row = g.node("Unsqueeze", {extent, g.known(7, {1}, {0})}, {1}, 7);
  const Value to = g.node("Concat", {row, g.known(7, {1}, {-1})}, {2}, 7);
  set(g.last(), "axis", 0);
  const int64_t size = x.shape[static_cast<size_t>(kept)];
  return g.node("Reshape", {x, to}, {size, size == 0 ? 0 : count_of(x.shape) / size});
}

// A ramp of as many elements as an axis has, or a tensor of ones of the same shape.
Value with_a_ramp(GraphValues& g, const Value& x) {
  if (x.shape.empty() || x.type != 1) return unary(g, x);
  RandomModel& m = g.model();
  const int64_t rank = std::ssize(x.shape);
  const Value shape = g.node("Shape", {x}, {rank}, 7);
  if (m.flip()) {
    const Value ones = g.node("ConstantOfShape", {shape}, x.shape, 1);
    return g.node("Add", {g.node("Cos", {ones}, x.shape), x}, x.shape);
  }
  const Value last = g.node("Gather", {shape, g.known(7, {}, {rank - 1})}, {}, 7);
  const Value ramp = g.node("Range", {g.known(7, {}, {0}), last, g.known(7, {}, {1})}, {x.shape.back()}, 7);
  const Value real = g.node("Cast", {ramp}, ramp.shape, 1);
  set(g.last(), "to", 1);
  return g.node("Add", {g.node("Mul", {real, g.number(0.1)}, real.shape), x}, x.shape);
}

Value squeeze(GraphValues& g, const Value& x) {
  Shape shape = x.shape;
  shape.insert(shape.begin() + g.model().below(std::ssize(shape) + 1), 1);
  const auto axis = std::ranges::find(shape, 1) - shape.begin();
  if (x.shape.size() >= 5) return unary(g, x);
  const Value y = g.node("Unsqueeze", {x, g.known(7, {1}, {axis})}, [&] {
    Shape made = x.shape;
    made.insert(made.begin() + axis, 1);
    return made;
  }());
  return g.model().flip() ? y : unary(g, y);
}

using Step = Value (*)(GraphValues&, const Value&);

Value step(GraphValues& g) {
  static const std::vector<Step> kSteps = {
      unary,       unary,  binary, binary,  divide,  select,    matmul, matmul,  product_of_itself,
      conv,        conv,   pool,   enlarge, softmax, normalize, reduce, reshape, transpose,
      transpose,   concat, concat, slice,   split,   pad,       gather, expand,  reshape_by_shape,
      with_a_ramp, squeeze};
  const Value& x = g.any();
  if (count_of(x.shape) > 4000 || count_of(x.shape) == 0) return unary(g, x);
  return g.model().pick(kSteps)(g, x);
}

void graph(RandomModel& m) {
  GraphValues g(m, m.one_in(6) ? m.type("d") : 1);
  g.keep(g.given(g.type(),
                 m.flip() ? Shape{m.extent(2), m.extent(5), m.extent(7), m.extent(7)} : m.shape(1, 4, 400)));
  for (int64_t steps = m.between(3, 12); steps > 0; --steps) {
    const Value y = step(g);
    g.keep(y);
    if (m.one_in(6)) m.expose(y.name);
  }
}

}  // namespace

Value random_step(GraphValues& g) {
  return step(g);
}

RandomOperators random_graphs() {
  RandomOperators all = {{"Graph", 13, graph}};
  for (const RandomOperator& flow : flow_graphs()) all.push_back(flow);
  return all;
}

}  // namespace tf::onnx
