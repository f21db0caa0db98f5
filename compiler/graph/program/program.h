#pragma once
// Owns: Program, what a compiled network does: which kernels run in which order on which values. Does not
// know: code, addresses.

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/layouts/layout_choice.h"

namespace tf::graph {

// A node's result in one layout.
struct Value {
  NodeId node{};
  tensor::Layout layout;
  uint64_t size_bytes = 0;  // physical
  // Set: these bytes are part of another value's, from `offset_bytes` on (a view, an operand of a
  // concatenation that is made in place, or what replaces a value that nobody needs any more: see
  // Call::in_place).
  int within = -1;
  uint64_t offset_bytes = 0;
};

// What a call reads: a value, or a constant node that is packed when the model is built.
struct Operand {
  int value = -1;
  NodeId constant{};  // if value is -1
};

// The operand of a gather whose elements, i32 or i64 and row-major, must lie in [-extent, extent). They are
// checked in each run, as kernels only clamp them.
struct CheckedIndices {
  int operand = 0;
  int64_t extent = 0;
};

struct Call {
  int task = 0;
  std::string name;               // the model's name of what it computes
  std::vector<Operand> operands;  // one a workload input, in order
  int result = 0;                 // value
  int in_place = -1;              // set: this operand's bytes become the result's
  std::optional<CheckedIndices> indices;
};

struct Program {
  Graph graph;
  std::vector<Task> tasks;  // distinct, in order of first use; layouts and counts filled in
  // Kernels between other layouts, which are not used but nearly were (LayoutChoice); count 0.
  std::vector<Task> alternatives;
  std::vector<Value> values;
  std::vector<Call> calls;
  std::vector<int> inputs;   // value of each input, in order; row-major
  std::vector<int> outputs;  // value of each output, in order; row-major, each in bytes of its own
};

// Optimises the graph, cuts it into kernels and chooses layouts. Deterministic. OUT_OF_RANGE if a constant
// index lies outside its axis.
absl::StatusOr<Program> plan_program(Graph graph, const LayoutOptions& options);

}  // namespace tf::graph
