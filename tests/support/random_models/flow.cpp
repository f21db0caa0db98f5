// Branches, loops and scans, whose bodies are random steps on their own operands and on values around.
#include "tests/support/random_models/graph_values.h"

namespace tf::onnx {
namespace {

::onnx::GraphProto& body_of(::onnx::NodeProto& node, const char* name) {
  auto& made = attribute(node, name);
  made.set_type(::onnx::AttributeProto::GRAPH);
  made.mutable_g()->set_name(name);
  return *made.mutable_g();
}

void declare(::onnx::ValueInfoProto& info, const Value& value) {
  info.set_name(value.name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(value.type);
  tensor.mutable_shape();
  for (int64_t extent : value.shape) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
}

// A value of that shape made by a few steps that keep it.
Value changed(GraphValues& g, Value x) {
  RandomModel& m = g.model();
  for (int64_t i = m.between(1, 3); i > 0; --i) {
    const Value other = g.any();
    const bool fits = other.shape == x.shape;
    switch (m.below(4)) {
      case 0:
        x = g.node(m.pick({"Tanh", "Sigmoid", "Relu", "Neg", "Sin"}), {x}, x.shape);
        break;
      case 1:
        x = fits ? g.node("Sub", {x, other}, x.shape) : g.node("Add", {x, g.weights({})}, x.shape);
        break;
      case 2:
        x = g.node("Mul", {x, g.weights(x.shape)}, x.shape);
        break;
      default:
        x = x.shape.size() == 2 ? g.node("MatMul", {x, g.weights({x.shape[1], x.shape[1]})}, x.shape)
                                : g.node("Cos", {x}, x.shape);
    }
  }
  return x;
}

Value condition(GraphValues& g, const Value& x) {
  RandomModel& m = g.model();
  if (m.one_in(3)) return {m.reals(9, {}, {m.flip() ? 1.0 : 0.0}, m.flip()), 9, {}};
  Shape axes;
  for (int64_t i = 0; i < std::ssize(x.shape); ++i) axes.push_back(i);
  const Value mean = axes.empty() ? x : g.reduced("ReduceMean", x, axes, false);
  return g.node("Greater", {mean, g.number(m.real(-0.5, 0.5))}, {}, 9);
}

Value branch_result(GraphValues& g, const Value& x, int depth);

// An If on x, whose branches read x and other values around.
Value branch(GraphValues& g, const Value& x, int depth) {
  RandomModel& m = g.model();
  const Value decides = condition(g, x);
  auto& node = m.node("If", {decides.name});
  const std::string name = m.result();
  for (const char* which : {"then_branch", "else_branch"}) {
    auto& body = body_of(node, which);
    auto* around = m.enter(&body);
    const Value y = branch_result(g, x, depth);
    m.enter(around);
    declare(*body.add_output(), y);
  }
  return {name, x.type, x.shape};
}

Value branch_result(GraphValues& g, const Value& x, int depth) {
  if (depth > 0 && g.model().one_in(3)) return branch(g, changed(g, x), depth - 1);
  return changed(g, x);
}

void branches(RandomModel& m) {
  GraphValues g(m, 1);
  g.keep(g.given(1, m.shape(0, 3, 200)));
  for (int64_t i = m.below(3); i > 0; --i) g.keep(random_step(g));
  const Value y = branch(g, g.any(), 1);
  g.keep(y);
  g.keep(changed(g, y));
}

void loop(RandomModel& m) {
  GraphValues g(m, 1);
  const Value x = g.given(1, m.shape(0, 3, 200));
  g.keep(x);
  g.keep(changed(g, x));
  const int64_t trips = m.one_in(8) ? 0 : m.between(1, 6);
  const bool is_known = m.flip(), has_condition = m.one_in(3), joins = is_known && !has_condition && m.flip(),
             grows = is_known && !has_condition && x.shape.size() == 1 && m.one_in(3);
  const std::string count = m.whole(7, m.flip() ? Shape{} : Shape{1}, {trips}, is_known);
  const std::string begins = has_condition ? m.reals(9, {}, {1}, true) : "";
  const Value start = g.any();
  const int outputs = joins ? 2 : 1;
  auto& node = m.node("Loop", {count, begins, start.name}, outputs);
  const std::vector<std::string> results = m.results();
  auto& body = body_of(node, "body");
  auto* around = m.enter(&body);
  const Value iteration{m.fresh("i"), 7, {}}, goes{m.fresh("g"), 9, {}};
  Value carried{m.fresh("v"), 1, start.shape};
  declare(*body.add_input(), iteration);
  declare(*body.add_input(), goes);
  declare(*body.add_input(), carried);
  if (grows) body.mutable_input(2)->mutable_type()->mutable_tensor_type()->clear_shape();
  const Value real = g.node("Cast", {iteration}, {}, 1);
  set(g.last(), "to", 1);
  Value next = g.node("Add", {carried, g.node("Mul", {real, g.number(0.25)}, {})}, start.shape);
  next = changed(g, next);
  Value goes_on =
      has_condition ? g.node("Less", {real, g.number(2.5)}, {}, 9) : g.node("Identity", {goes}, {}, 9);
  if (grows) {
    next = g.node("Concat", {next, g.weights({2})}, {});
    set(g.last(), "axis", 0);
  }
  m.enter(around);
  declare(*body.add_output(), goes_on);
  declare(*body.add_output(), next);
  if (grows) body.mutable_output(1)->mutable_type()->mutable_tensor_type()->clear_shape();
  if (joins && !grows) {
    m.enter(&body);
    const Value part = g.node("Tanh", {next}, next.shape);
    m.enter(around);
    declare(*body.add_output(), part);
  } else if (joins) {
    m.enter(&body);
    const Value part = g.node("Cos", {real}, {});
    m.enter(around);
    declare(*body.add_output(), part);
  }
  if (!grows) g.keep({results[0], 1, start.shape});
  if (!grows && m.flip()) changed(g, {results[0], 1, start.shape});
}

void scan(RandomModel& m) {
  GraphValues g(m, 1);
  const int64_t steps = m.between(1, 5), width = m.extent(7);
  const Value start = g.given(1, {width}), rows = g.given(1, {steps, width});
  g.keep(g.given(1, {width}));
  auto& node = m.node("Scan", {start.name, rows.name}, 2);
  set(node, "num_scan_inputs", 1);
  if (m.flip()) set(node, "scan_input_directions", Shape{m.below(2)});
  if (m.flip()) set(node, "scan_output_directions", Shape{m.below(2)});
  auto& body = body_of(node, "body");
  auto* around = m.enter(&body);
  const Value state{m.fresh("s"), 1, {width}}, row{m.fresh("r"), 1, {width}};
  declare(*body.add_input(), state);
  declare(*body.add_input(), row);
  const Value sum = changed(g, g.node(m.pick({"Add", "Mul", "Max"}), {state, row}, {width}));
  const Value part = changed(g, sum);
  m.enter(around);
  declare(*body.add_output(), sum);
  declare(*body.add_output(), part);
}

}  // namespace

RandomOperators flow_graphs() {
  return {{"If", 13, branches}, {"Loop", 13, loop}, {"Scan", 13, scan}};
}

}  // namespace tf::onnx
