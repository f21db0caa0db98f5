#include "compiler/graph/op.h"

namespace tf::graph {
namespace {

constexpr std::array kPoolNames = {"max_pool", "average_pool"};
constexpr std::array kReduceNames = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"};
constexpr std::array kUnaryNames = {"relu",       "sigmoid", "tanh", "erf",   "exp",     "log",
                                    "sqrt",       "neg",     "abs",  "floor", "ceil",    "round",
                                    "reciprocal", "sin",     "cos",  "not",   "identity"};
constexpr std::array kBinaryNames = {"add", "sub",   "mul",  "div",        "pow", "min",
                                     "max", "equal", "less", "less_equal", "and", "or"};

template <typename... F>
struct Overload : F... {
  using F::operator()...;
};

// Operators without a kind: their name and how many operands they take.
struct Plain {
  const char* name;
  Arity arity;
};
Plain plain(const Op& op) {
  return std::visit(Overload{[](const Input&) {
                               return Plain{"input", {0, 0}};
                             },
                             [](const Constant&) {
                               return Plain{"constant", {0, 0}};
                             },
                             [](const Conv&) {
                               return Plain{"conv", {2, 3}};
                             },
                             [](const MatMul&) {
                               return Plain{"matmul", {2, 2}};
                             },
                             [](const Pool& o) {
                               return Plain{kPoolNames[int(o.kind)], {1, 1}};
                             },
                             [](const Reduce& o) {
                               return Plain{kReduceNames[int(o.kind)], {1, 1}};
                             },
                             [](const Lrn&) {
                               return Plain{"lrn", {1, 1}};
                             },
                             [](const Softmax&) {
                               return Plain{"softmax", {1, 1}};
                             },
                             [](const BatchNorm&) {
                               return Plain{"batch_norm", {5, 5}};
                             },
                             [](const Unary& o) {
                               return Plain{kUnaryNames[int(o.kind)], {1, 1}};
                             },
                             [](const LeakyRelu&) {
                               return Plain{"leaky_relu", {1, 1}};
                             },
                             [](const Clip&) {
                               return Plain{"clip", {1, 1}};
                             },
                             [](const Binary& o) {
                               return Plain{kBinaryNames[int(o.kind)], {2, 2}};
                             },
                             [](const Where&) {
                               return Plain{"where", {3, 3}};
                             },
                             [](const Cast&) {
                               return Plain{"cast", {1, 1}};
                             },
                             [](const Concat&) {
                               return Plain{"concat", {1, -1}};
                             },
                             [](const Reshape&) {
                               return Plain{"reshape", {1, 1}};
                             },
                             [](const Expand&) {
                               return Plain{"expand", {1, 1}};
                             },
                             [](const Transpose&) {
                               return Plain{"transpose", {1, 1}};
                             },
                             [](const Slice&) {
                               return Plain{"slice", {1, 1}};
                             },
                             [](const Pad&) {
                               return Plain{"pad", {1, 1}};
                             },
                             [](const Gather&) {
                               return Plain{"gather", {2, 2}};
                             }},
                    op);
}

// Every operator once, in the order of Op; kinds give one each.
std::vector<Op> all_ops() {
  std::vector<Op> all = {Input{},     Constant{},  Conv{},      MatMul{}, Lrn{},  Softmax{},
                         BatchNorm{}, LeakyRelu{}, Clip{},      Where{},  Cast{}, Concat{},
                         Reshape{},   Expand{},    Transpose{}, Slice{},  Pad{},  Gather{}};
  for (size_t i = 0; i < kPoolNames.size(); ++i) all.push_back(Pool{.kind = static_cast<PoolKind>(i)});
  for (size_t i = 0; i < kReduceNames.size(); ++i) all.push_back(Reduce{.kind = static_cast<ReduceKind>(i)});
  for (size_t i = 0; i < kUnaryNames.size(); ++i) all.push_back(Unary{static_cast<UnaryKind>(i)});
  for (size_t i = 0; i < kBinaryNames.size(); ++i) all.push_back(Binary{static_cast<BinaryKind>(i)});
  return all;
}

}  // namespace

std::string op_name(const Op& op) {
  return plain(op).name;
}

Arity op_arity(const Op& op) {
  return plain(op).arity;
}

bool op_from_name(std::string_view name, Op* out) {
  static const std::vector<Op> kAll = all_ops();
  for (const Op& op : kAll) {
    if (plain(op).name == name) {
      *out = op;
      return true;
    }
  }
  return false;
}

bool is_elementwise(const Op& op) {
  return std::visit(
      []<typename T>(const T&) {
        return std::is_same_v<T, Unary> || std::is_same_v<T, Binary> || std::is_same_v<T, LeakyRelu> ||
               std::is_same_v<T, Clip> || std::is_same_v<T, Where> || std::is_same_v<T, Cast> ||
               std::is_same_v<T, BatchNorm>;
      },
      op);
}

}  // namespace tf::graph
