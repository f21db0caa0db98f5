// RNN, GRU and LSTM: the input's product for all steps at once, then a loop over the steps.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/frontends/onnx/rules/flow/recurrent_body.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Nodes = std::vector<NodeId>;
using Result = absl::StatusOr<NodeId>;

enum class Kind : uint8_t { kRnn, kGru, kLstm };

struct Attributes {
  Kind kind = Kind::kRnn;
  int64_t directions = 1, hidden = 0, gates = 1;
  bool backward = false;  // of the only direction
  bool batch_first = false, reset_after = false, couples_forget = false;
  std::optional<double> clip;
  std::vector<Activation> activations;  // of all directions, one after another
};

// --- Reading the operator.

absl::StatusOr<std::vector<Activation>> activations_of(NodeReader& node,
                                                       const std::vector<std::string>& defaults,
                                                       int64_t directions) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (node.has_attribute("activations")) {
    TF_ASSIGN_OR_RETURN(const std::vector<std::string> given, node.strings_attribute("activations"));
    if (given.size() != names.size())
      return node.invalid(absl::StrCat("it names ", given.size(), " activations, not ", names.size()));
    names = given;
  }
  std::vector<double> alphas, betas;
  if (node.has_attribute("activation_alpha")) {
    TF_ASSIGN_OR_RETURN(alphas, node.floats_attribute("activation_alpha"));
  }
  if (node.has_attribute("activation_beta")) {
    TF_ASSIGN_OR_RETURN(betas, node.floats_attribute("activation_beta"));
  }
  // Values are consumed in order by the activations that take them.
  std::vector<Activation> all;
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    Activation f{absl::AsciiStrToLower(name), std::nullopt, std::nullopt};
    const bool takes_both = f.name == "affine" || f.name == "scaledtanh" || f.name == "hardsigmoid";
    const bool takes_alpha =
        takes_both || f.name == "leakyrelu" || f.name == "thresholdedrelu" || f.name == "elu";
    if (takes_alpha && next_alpha < alphas.size()) f.alpha = alphas[next_alpha++];
    if (takes_both && next_beta < betas.size()) f.beta = betas[next_beta++];
    all.push_back(std::move(f));
  }
  return all;
}

absl::StatusOr<Attributes> attributes_of(NodeReader& node, Kind kind) {
  Attributes all;
  all.kind = kind;
  all.gates = kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1;
  TF_ASSIGN_OR_RETURN(const std::string direction, node.string_attribute("direction", "forward"));
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return node.invalid(absl::StrCat("direction '", direction, "' does not exist"));
  all.directions = direction == "bidirectional" ? 2 : 1;
  all.backward = direction == "reverse";
  TF_ASSIGN_OR_RETURN(const int64_t layout, node.int_attribute("layout", 0));
  TF_ASSIGN_OR_RETURN(const int64_t reset, node.int_attribute("linear_before_reset", 0));
  TF_ASSIGN_OR_RETURN(const int64_t forget, node.int_attribute("input_forget", 0));
  all.batch_first = layout != 0;
  all.reset_after = reset != 0;
  all.couples_forget = forget != 0;
  if (node.has_attribute("clip")) {
    TF_ASSIGN_OR_RETURN(all.clip, node.float_attribute("clip", 0));
  }
  const std::vector<std::string> defaults = kind == Kind::kLstm
                                                ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                            : kind == Kind::kGru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                                 : std::vector<std::string>{"Tanh"};
  TF_ASSIGN_OR_RETURN(all.activations, activations_of(node, defaults, all.directions));
  return all;
}

// Rows [first, first + count) of x's entry number `entry` along axis 0. Constants stay constants.
Result rows_of(NodeReader& node, NodeId x, int64_t entry, int64_t first, int64_t count) {
  const Ints shape = node.graph().shape(x);
  Ints rest(shape.begin() + 1, shape.end());
  rest[0] = count;
  const TensorType type = tensor_type(node.type(x).element, rest);
  if (const auto* constant = as<Constant>(node.graph().node(x))) {
    const auto all = static_cast<int64_t>(constant->data->bytes().size());
    const int64_t row = shape[0] * shape[1] == 0 ? 0 : all / (shape[0] * shape[1]);
    const BlobRef data = std::make_shared<const Blob>(std::string(constant->data->bytes().substr(
        static_cast<size_t>((entry * shape[1] + first) * row), static_cast<size_t>(count * row))));
    return node.graph().add_constant(type, data, node.name());
  }
  TF_ASSIGN_OR_RETURN(const NodeId part, node.emit(Slice{{0, 1}, {entry, first}, {1, count}, {1, 1}}, {x}));
  return node.emit(Reshape{type.extents}, {part});
}

class Recurrence {
 public:
  Recurrence(NodeReader& node, Attributes attributes) : node_(node), a_(std::move(attributes)) {}

  Result run() {
    TF_RETURN_IF_ERROR(read_operands());
    Nodes states, cells, outputs;
    for (int64_t d = 0; d < a_.directions; ++d) TF_RETURN_IF_ERROR(direction(d, states, cells, outputs));
    NodeId first = states[0];
    if (node_.has_output(0)) {
      TF_ASSIGN_OR_RETURN(first, joined_outputs(outputs));
    }
    TF_ASSIGN_OR_RETURN(const NodeId state, joined_states(states));
    node_.set_output(1, state);
    if (a_.kind == Kind::kLstm) {
      TF_ASSIGN_OR_RETURN(const NodeId cell, joined_states(cells));
      node_.set_output(2, cell);
    }
    return first;
  }

 private:
  absl::Status read_operands() {
    TF_ASSIGN_OR_RETURN(x_, node_.input(0));
    element_ = node_.type(x_).element;
    if (!tensor::is_float(element_)) return node_.invalid("its operand is not of floats");
    TF_ASSIGN_OR_RETURN(x_, node_.widened(x_));
    if (node_.rank(x_) != 3) return node_.invalid("its operand does not have 3 axes");
    if (a_.batch_first) {
      TF_ASSIGN_OR_RETURN(x_, node_.emit(Transpose{{1, 0, 2}}, {x_}));
    }
    TF_ASSIGN_OR_RETURN(w_, weights(1));
    TF_ASSIGN_OR_RETURN(r_, weights(2));
    const Ints x = node_.graph().shape(x_), r = node_.graph().shape(r_), w = node_.graph().shape(w_);
    if (r.size() != 3 || w.size() != 3) return node_.invalid("its weights do not have 3 axes");
    a_.hidden = r[2];
    TF_ASSIGN_OR_RETURN(const int64_t hidden, node_.int_attribute("hidden_size", a_.hidden));
    const int64_t rows = a_.gates * a_.hidden;
    if (hidden != a_.hidden || r != Ints{a_.directions, rows, a_.hidden} ||
        w != Ints{a_.directions, rows, x[2]})
      return node_.invalid(absl::StrCat("its weights do not fit ", a_.directions, " directions of ", hidden,
                                        " units and an input of ", x[2]));
    steps_ = x[0];
    batch_ = x[1];
    if (node_.has(3)) {
      TF_ASSIGN_OR_RETURN(bias_, weights(3));
      if (node_.graph().shape(*bias_) != Ints{a_.directions, 2 * rows})
        return node_.invalid("its bias does not fit");
    }
    if (node_.has(4)) {
      TF_ASSIGN_OR_RETURN(lengths_, node_.input(4));
      if (node_.graph().shape(*lengths_) != Ints{batch_})
        return node_.invalid("its sequence lengths do not fit");
    }
    TF_ASSIGN_OR_RETURN(initial_state_, initial(5));
    if (a_.kind != Kind::kLstm) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(initial_cell_, initial(6));
    if (node_.has(7)) {
      TF_ASSIGN_OR_RETURN(peepholes_, weights(7));
      if (node_.graph().shape(*peepholes_) != Ints{a_.directions, 3 * a_.hidden})
        return node_.invalid("its peepholes do not fit");
    }
    return absl::OkStatus();
  }

  Result weights(int i) {
    TF_ASSIGN_OR_RETURN(const NodeId id, node_.input(i));
    if (node_.type(id).element != element_) return node_.invalid("its operands differ in their element type");
    return node_.widened(id);
  }

  // [directions, batch, hidden], or nothing for zeros.
  absl::StatusOr<std::optional<NodeId>> initial(int i) {
    if (!node_.has(i)) return std::nullopt;
    TF_ASSIGN_OR_RETURN(NodeId id, weights(i));
    if (node_.rank(id) == 3 && a_.batch_first) {
      TF_ASSIGN_OR_RETURN(id, node_.emit(Transpose{{1, 0, 2}}, {id}));
    }
    if (node_.graph().shape(id) != Ints{a_.directions, batch_, a_.hidden})
      return node_.invalid("its initial state does not fit");
    return std::optional(id);
  }

  Result state_of(const std::optional<NodeId>& initial, int64_t d) {
    if (initial) return rows_of(node_, *initial, d, 0, batch_);
    const tensor::Element element = node_.type(x_).element;
    const Ints shape = {batch_, a_.hidden};
    const auto count = static_cast<size_t>(batch_ * a_.hidden * tensor::element_bytes(element));
    TF_RETURN_IF_ERROR(node_.count_made(static_cast<int64_t>(count)));
    return node_.graph().add_constant(tensor_type(element, shape),
                                      std::make_shared<const Blob>(std::string(count, '\0')), node_.name());
  }

  // Rows of the bias: those of the input's product come first, those of the state's after them.
  Result bias_rows(int64_t d, int64_t first, int64_t count) {
    return rows_of(node_, *bias_, d, first, count);
  }

  // The input's product and the biases that are added to it, for all steps.
  Result input_product(int64_t d) {
    const int64_t rows = a_.gates * a_.hidden;
    TF_ASSIGN_OR_RETURN(const NodeId w, rows_of(node_, w_, d, 0, rows));
    const auto as_steps = [&](NodeId sums) {
      return node_.emit(Reshape{tensor_type(element_, Ints{steps_, batch_, rows}).extents}, {sums});
    };
    const Ints matrix = {steps_ * batch_, node_.graph().shape(x_)[2]};
    TF_ASSIGN_OR_RETURN(const NodeId x, node_.emit(Reshape{tensor_type(element_, matrix).extents}, {x_}));
    TF_ASSIGN_OR_RETURN(const NodeId product, node_.emit(MatMul{.transpose_b = true}, {x, w}));
    if (!bias_) return as_steps(product);
    TF_ASSIGN_OR_RETURN(const NodeId of_input, bias_rows(d, 0, rows));
    // Of a GRU that resets after its product, the state's bias of the last gate stays with that.
    const int64_t plain = a_.kind == Kind::kGru && a_.reset_after ? 2 * a_.hidden : rows;
    TF_ASSIGN_OR_RETURN(NodeId of_state, bias_rows(d, rows, plain));
    if (plain < rows) of_state = zeros_behind(of_state, rows - plain);
    TF_ASSIGN_OR_RETURN(const NodeId bias, node_.emit(Binary{BinaryKind::kAdd}, {of_input, of_state}));
    TF_ASSIGN_OR_RETURN(const NodeId sums, node_.emit(Binary{BinaryKind::kAdd}, {product, bias}));
    return as_steps(sums);
  }
  NodeId zeros_behind(NodeId x, int64_t count) {
    const absl::StatusOr<NodeId> padded = node_.emit(Pad{{0}, {count}, 0}, {x});
    return padded.ok() ? *padded : x;
  }

  absl::Status direction(int64_t d, Nodes& states, Nodes& cells, Nodes& outputs) {
    const bool backward = a_.backward || d == 1;
    TF_ASSIGN_OR_RETURN(const NodeId scanned, input_product(d));
    TF_ASSIGN_OR_RETURN(const NodeId h0, state_of(initial_state_, d));
    Nodes carried = {h0};
    if (a_.kind == Kind::kLstm) {
      TF_ASSIGN_OR_RETURN(const NodeId c0, state_of(initial_cell_, d));
      carried.push_back(c0);
    }
    RecurrentBody body(node_.graph(), node_.name());
    const NodeId iteration = body.input({tensor::Element::kInt64, {}});
    Nodes state;
    for (NodeId id : carried) state.push_back(body.input(node_.type(id)));
    TensorType slice = node_.type(scanned);
    slice.extents.erase(slice.extents.begin());
    const NodeId x = body.input(slice);
    TF_ASSIGN_OR_RETURN(const NodeId r, rows_of(node_, r_, d, 0, a_.gates * a_.hidden));
    TF_ASSIGN_OR_RETURN(Nodes next, step(body, d, x, state, r));
    NodeId output = next[0];
    if (lengths_) {
      const NodeId is_inside = inside(body, iteration, backward);
      for (size_t i = 0; i < next.size(); ++i) next[i] = body.add(Where{}, {is_inside, next[i], state[i]});
      output = body.add(Where{}, {is_inside, next[0], body.number(next[0], 0)});
    }
    for (NodeId id : next) body.region.outputs.push_back({absl::StrCat("o", body.region.outputs.size()), id});
    Loop loop{.body = nullptr,
              .carried = static_cast<int64_t>(carried.size()),
              .scanned = 1,
              .conditional = false,
              .backward = {backward ? 1 : 0}};
    if (node_.has_output(0)) {
      body.region.outputs.push_back({"y", output});
      loop.backward.push_back(backward ? 1 : 0);
    }
    if (!body.status.ok()) return node_.error_of(body.status);
    loop.body = std::make_shared<const Graph>(std::move(body.region));
    const NodeId trips = node_.graph().add_constant(
        {tensor::Element::kInt64, {}},
        std::make_shared<const Blob>(write_integers(tensor::Element::kInt64, {steps_})), node_.name());
    Nodes operands = {trips};
    operands.insert(operands.end(), carried.begin(), carried.end());
    operands.push_back(scanned);
    operands.insert(operands.end(), body.captured.begin(), body.captured.end());
    TF_ASSIGN_OR_RETURN(const NodeId results, node_.emit(std::move(loop), std::move(operands)));
    states.push_back(results);
    for (size_t i = 1; i < carried.size(); ++i) {
      TF_ASSIGN_OR_RETURN(const NodeId cell, node_.result(results, static_cast<int>(i)));
      cells.push_back(cell);
    }
    if (!node_.has_output(0)) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(const NodeId all, node_.result(results, static_cast<int>(carried.size())));
    outputs.push_back(all);
    return absl::OkStatus();
  }

  // Whether the step lies inside each sequence: [batch, 1].
  NodeId inside(RecurrentBody& body, NodeId iteration, bool backward) const {
    const NodeId time =
        backward ? body.binary(BinaryKind::kSub, body.whole(steps_ - 1), iteration) : iteration;
    const NodeId lengths = body.add(Cast{tensor::Element::kInt64}, {body.capture(*lengths_)});
    const NodeId column = body.add(Reshape{{tensor::imm(batch_), tensor::imm(1)}}, {lengths});
    return body.binary(BinaryKind::kLess, time, column);
  }

  const Activation& activation(int64_t d, size_t i) const {
    return a_
        .activations[static_cast<size_t>(d) * (a_.activations.size() / static_cast<size_t>(a_.directions)) +
                     i];
  }
  NodeId clipped(RecurrentBody& body, NodeId x) const {
    return a_.clip ? body.add(Clip{-*a_.clip, *a_.clip}, {x}) : x;
  }
  NodeId activated(RecurrentBody& body, int64_t d, size_t i, NodeId x) const {
    return body.apply(activation(d, i), clipped(body, x));
  }

  // The state after a step.
  absl::StatusOr<Nodes> step(RecurrentBody& body, int64_t d, NodeId x, const Nodes& state, NodeId r) {
    if (a_.kind == Kind::kLstm) return lstm_step(body, d, x, state, r);
    if (a_.kind == Kind::kGru) return gru_step(body, d, x, state[0], r);
    const NodeId sum = body.plus(body.product(state[0], body.capture(r)), x);
    return Nodes{activated(body, d, 0, sum)};
  }

  absl::StatusOr<Nodes> lstm_step(RecurrentBody& body, int64_t d, NodeId x, const Nodes& state, NodeId r) {
    const NodeId sums = body.plus(body.product(state[0], body.capture(r)), x);
    std::array<NodeId, 4> gates{};  // input, output, forget, cell
    for (int64_t i = 0; i < 4; ++i) gates[static_cast<size_t>(i)] = body.gate(sums, i, a_.hidden);
    NodeId peepholes{};
    if (peepholes_) {
      TF_ASSIGN_OR_RETURN(const NodeId all, rows_of(node_, *peepholes_, d, 0, 3 * a_.hidden));
      peepholes = body.capture(all);
    }
    const auto peeped = [&](NodeId gate, int64_t i, NodeId cell) {
      return peepholes_ ? body.plus(gate, body.times(body.gate(peepholes, i, a_.hidden), cell)) : gate;
    };
    const NodeId input = activated(body, d, 0, peeped(gates[0], 0, state[1]));
    const NodeId forget =
        a_.couples_forget ? body.one_minus(input) : activated(body, d, 0, peeped(gates[2], 2, state[1]));
    const NodeId candidate = activated(body, d, 1, gates[3]);
    const NodeId cell = body.plus(body.times(forget, state[1]), body.times(input, candidate));
    const NodeId output = activated(body, d, 0, peeped(gates[1], 1, cell));
    return Nodes{body.times(output, body.apply(activation(d, 2), cell)), cell};
  }

  absl::StatusOr<Nodes> gru_step(RecurrentBody& body, int64_t d, NodeId x, NodeId h, NodeId r) {
    const int64_t units = a_.hidden;
    NodeId update{}, reset{}, candidate{};
    if (a_.reset_after) {
      const NodeId products = body.product(h, body.capture(r));
      const NodeId sums = body.plus(body.gate(products, 0, units, 2), body.gate(x, 0, units, 2));
      update = activated(body, d, 0, body.gate(sums, 0, units));
      reset = activated(body, d, 0, body.gate(sums, 1, units));
      NodeId part = body.gate(products, 2, units);
      if (bias_) {
        TF_ASSIGN_OR_RETURN(const NodeId bias, bias_rows(d, 5 * units, units));
        part = body.plus(part, body.capture(bias));
      }
      candidate = activated(body, d, 1, body.plus(body.gate(x, 2, units), body.times(reset, part)));
    } else {
      TF_ASSIGN_OR_RETURN(const NodeId of_gates, rows_of(node_, r_, d, 0, 2 * units));
      TF_ASSIGN_OR_RETURN(const NodeId of_candidate, rows_of(node_, r_, d, 2 * units, units));
      const NodeId sums = body.plus(body.product(h, body.capture(of_gates)), body.gate(x, 0, units, 2));
      update = activated(body, d, 0, body.gate(sums, 0, units));
      reset = activated(body, d, 0, body.gate(sums, 1, units));
      const NodeId part = body.product(body.times(reset, h), body.capture(of_candidate));
      candidate = activated(body, d, 1, body.plus(part, body.gate(x, 2, units)));
    }
    return Nodes{body.plus(body.times(body.one_minus(update), candidate), body.times(update, h))};
  }

  // [directions, batch, hidden].
  Result joined_states(const Nodes& states) {
    Nodes parts;
    for (NodeId id : states) {
      const TensorType type = tensor_type(node_.type(id).element, Ints{1, batch_, a_.hidden});
      TF_ASSIGN_OR_RETURN(const NodeId part, node_.emit(Reshape{type.extents}, {id}));
      parts.push_back(part);
    }
    TF_ASSIGN_OR_RETURN(NodeId all, joined(parts, 0));
    if (a_.batch_first) {
      TF_ASSIGN_OR_RETURN(all, node_.emit(Transpose{{1, 0, 2}}, {all}));
    }
    return node_.cast_to(element_, all);
  }

  // [steps, directions, batch, hidden].
  Result joined_outputs(const Nodes& outputs) {
    Nodes parts;
    for (NodeId id : outputs) {
      const TensorType type = tensor_type(node_.type(id).element, Ints{steps_, 1, batch_, a_.hidden});
      TF_ASSIGN_OR_RETURN(const NodeId part, node_.emit(Reshape{type.extents}, {id}));
      parts.push_back(part);
    }
    TF_ASSIGN_OR_RETURN(NodeId all, joined(parts, 1));
    if (a_.batch_first) {
      TF_ASSIGN_OR_RETURN(all, node_.emit(Transpose{{2, 0, 1, 3}}, {all}));
    }
    return node_.cast_to(element_, all);
  }

  Result joined(const Nodes& parts, int64_t axis) {
    if (parts.size() == 1) return parts[0];
    return node_.emit(Concat{axis}, parts);
  }

  NodeReader& node_;
  Attributes a_;
  tensor::Element element_{};
  NodeId x_{}, w_{}, r_{};
  std::optional<NodeId> bias_, lengths_, initial_state_, initial_cell_, peepholes_;
  int64_t steps_ = 0, batch_ = 0;
};

template <Kind kind>
Result recurrence(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(Attributes attributes, attributes_of(node, kind));
  return Recurrence(node, std::move(attributes)).run();
}

constexpr std::array kRecurrentRules = {NamedRule{"RNN", recurrence<Kind::kRnn>},
                                        NamedRule{"GRU", recurrence<Kind::kGru>},
                                        NamedRule{"LSTM", recurrence<Kind::kLstm>}};

}  // namespace

std::span<const NamedRule> recurrent_rules() {
  return kRecurrentRules;
}

}  // namespace tf::onnx
