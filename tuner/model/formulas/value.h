#pragma once
// Owns: numbers that depend on the choices of a sketch, and on parameters that are known later: Value, and
// Formulas, the directed acyclic graph that they are nodes of. Equal nodes are one node, constants fold, and
// what the ranges of the choices decide (min, max, comparisons) is decided once a sketch. Does not know:
// schedules, how formulas are evaluated.

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tf::model {

class Formulas;

// A constant, or a node of a Formulas that must outlive it. Arithmetic of constants needs no graph, so the
// same code computes numbers and formulas. Conditions are 1 or 0.
class Value {
 public:
  Value(double constant = 0) : constant_(constant) {}  // NOLINT(google-explicit-constructor): a number.
  bool is_constant() const { return graph_ == nullptr; }
  double constant() const;  // must be one
  int node() const { return node_; }
  Formulas* graph() const { return graph_; }
  // Of all choices.
  double least() const;
  double greatest() const;

 private:
  friend class Formulas;
  Value(Formulas* graph, int node) : graph_(graph), node_(node) {}
  Formulas* graph_ = nullptr;  // null: a constant
  int node_ = -1;
  double constant_ = 0;
};

enum class Op : uint8_t {
  kConstant,
  kPart,       // of a parameter's choice
  kParameter,  // what whoever evaluates it gives
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloor,
  kCeil,
  kMin,
  kMax,
  kLess,
  kEqual,
  kSelect,
  kLog2,
};

// What one operation gives; of kSelect, the second or the third operand by the first.
double apply(Op op, double a, double b = 0, double c = 0);

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value floor(const Value& a);
Value ceil(const Value& a);
Value min(const Value& a, const Value& b);
Value max(const Value& a, const Value& b);
Value less(const Value& a, const Value& b);
Value less_equal(const Value& a, const Value& b);
Value equal(const Value& a, const Value& b);
Value both(const Value& a, const Value& b);
Value either(const Value& a, const Value& b);
Value negation(const Value& a);
Value select(const Value& condition, const Value& if_true, const Value& if_false);
Value log2(const Value& a);  // of a positive number, to 1e-7
Value& operator+=(Value& a, const Value& b);
Value& operator*=(Value& a, const Value& b);

class Formulas {
 public:
  struct Node {
    Op op = Op::kConstant;
    std::array<int, 3> operands = {-1, -1, -1};  // of kPart: parameter and part; of kParameter: its number
    double value = 0;                            // of kConstant
    double least = 0, greatest = 0;
    bool operator==(const Node&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Node& n) {
      return H::combine(std::move(h), n.op, n.operands, n.value);
    }
  };

  // Part `part` of the choice in parameter `parameter`, one of `values`.
  Value part(int parameter, int part, std::span<const int64_t> values);
  // Number `number` of the parameters: some positive number.
  Value parameter(int number);
  Value make(Op op, const Value& a, const Value& b = 0, const Value& c = 0);

  const std::vector<Node>& nodes() const { return nodes_; }  // operands before what uses them
  int node_of(const Value& value);                           // a constant's, too

 private:
  int intern(const Node& node);
  Node with_range(Node node) const;
  std::vector<Node> nodes_;
  absl::flat_hash_map<Node, int> known_;
};

}  // namespace tf::model
