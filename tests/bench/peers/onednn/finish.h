#pragma once
// Owns: what a primitive does with its result before it writes it (post-ops): activation, residual sum,
// gates, read from the table's kernels and from the nodes of networks. Does not know: the primitive.

#include <functional>
#include <optional>

#include "tests/bench/kernels/kernel_table.h"
#include "tests/bench/peers/onednn/engine.h"

namespace tf::peers::onednn {

struct Finish {
  dnnl::post_ops steps;
  Arguments arguments;  // operands of the steps
  // Set: the result's memory holds this operand before a run, which adds to it. Further runs add again: good
  // for timing, the first answers.
  std::optional<std::vector<float>> added_to;

  dnnl::primitive_attr attributes() const;
};

Finish finish_of(bench::Activation activation);

// A network's kernel and the values of its inputs.
struct Part {
  const bench::NetworkKernel& kernel;
  const bench::Operands& operands;

  const graph::Node& node(graph::NodeId id) const { return kernel.network->node(id); }
  memory::dims dims(graph::NodeId id) const { return kernel.network->shape(id); }
  memory::dims result_dims() const { return dims(kernel.group.result()); }
  // Row-major, or empty if the kernel reads no such value.
  std::span<const float> values(graph::NodeId id) const;
};

// How the steps' operands stand.
struct FinishOptions {
  // From a node's shape to the dimensions and the order of the operand.
  std::function<memory::desc(const memory::dims&)> order;
  // A whole operand that is added first is `added_to`, which convolutions do fastest.
  bool adds_in_place = false;
};
// The nodes behind `main`, each of which takes the result so far. Nothing if oneDNN cannot do them this way.
std::optional<Finish> finish_of(const Part& part, graph::NodeId main, const FinishOptions& options);

// oneDNN's name of it, if it has one.
std::optional<algorithm> algorithm_of(graph::BinaryKind kind);

}  // namespace tf::peers::onednn
