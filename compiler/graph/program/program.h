#pragma once
// Owns: Program, what a compiled network does: which kernels run in which order on which values. Does not
// know: code, addresses.

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/layouts/layout_choice.h"
#include "compiler/graph/program/named_dimension.h"

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
  // Set where they depend on the program's dimensions, of which the numbers above are the greatest.
  tensor::Expr size_of_run, offset_of_run;
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
  tensor::Expr extent_of_run;  // as Value::size_of_run
};

// Runs the kernel of a task, at these values, over the program's dimensions, of the workload's.
struct KernelCall {
  int task = 0;
  std::vector<tensor::Expr> dims;
  // Of constants, by the operand's number, of which a size reads a block: where it begins, likewise.
  std::map<size_t, std::vector<tensor::Expr>> blocks;
};

// Runs a host function of the runtime (compiler/runtime/host).
struct HostCall {
  std::string function;
  std::vector<int64_t> attributes;
};

// Runs one of two bodies: graph::If. Bodies are numbers in Program::bodies.
struct BranchCall {
  int then_body = 0, else_body = 0;
};

// Runs a body again and again: graph::Loop.
struct LoopCall {
  int body = 0;
};

struct Call {
  std::variant<KernelCall, HostCall, BranchCall, LoopCall> what;
  NodeId node{};                  // that it computes, or the last of its group
  std::string name;               // the model's name of what it computes
  std::vector<Operand> operands;  // of a kernel, one a workload input; of others, one an operand of the node
  std::vector<int> results;       // values
  // Values that exist while the call runs, for its own use: what TF_STEP_BRANCH and TF_STEP_LOOP name as memory. The
  // last is the bodies' arena.
  std::vector<int> memory;
  // Set: the dimension of the model, by its number, that the call finds: its last result, a single i64.
  int finds = -1;
  int in_place = -1;  // set: this operand's bytes become the result's
  std::optional<CheckedIndices> indices;
  // Of a host function in a program with dimensions: host_numbers.
  std::vector<tensor::Expr> numbers;

  // The task of a kernel, or -1.
  int task() const {
    const auto* kernel = std::get_if<KernelCall>(&what);
    return kernel ? kernel->task : -1;
  }
};

struct Variant;

// A program with dimensions is right for all of their values. Its graph's extents are expressions over them, and the
// graph's binding has their greatest values.
struct Program {
  Graph graph;
  // Those that the inputs give, then those that calls find.
  std::vector<NamedDimension> dims;
  // Of the model's program alone, for all bodies, too: distinct, in order of first use; layouts and counts filled in.
  std::vector<Task> tasks;
  // Kernels between other layouts, which are not used but nearly were (LayoutChoice); count 0.
  std::vector<Task> alternatives;
  std::vector<Value> values;
  std::vector<Call> calls;
  std::vector<int> inputs;      // value of each input, in order; row-major
  std::vector<int> outputs;     // value of each output, in order; row-major, each in bytes of its own
  std::vector<Program> bodies;  // what branches and loops run; their inputs and outputs are the calls' values
  std::vector<Variant> variants;
};

// The network at one size, which runs where the dimensions have these values, in their order; kAnySize: at all of that
// dimension. Its calls' tasks are those of the program that has the variant.
inline constexpr int64_t kAnySize = -1;
struct Variant {
  std::vector<int64_t> values;
  Program program;
};

// Calls `visit` for the program, then for each body and each variant, and what these contain.
template <typename P, typename Visit>
void for_each_program(P& program, Visit&& visit) {
  visit(program);
  for (auto& body : program.bodies) for_each_program(body, visit);
  for (auto& variant : program.variants) for_each_program(variant.program, visit);
}

// Optimises the graph, cuts it into kernels and chooses layouts. Deterministic. OUT_OF_RANGE if a constant
// index lies outside its axis; UNIMPLEMENTED if a size depends on data (dynamic/plan_network.h takes such networks).
absl::StatusOr<Program> plan_program(Graph graph, const LayoutOptions& options);

}  // namespace tf::graph
