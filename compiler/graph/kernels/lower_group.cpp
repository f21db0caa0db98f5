#include "compiler/graph/kernels/lower_group.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/fold_transposes.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/pooling.h"
#include "compiler/ops/reduction.h"
#include "compiler/ops/resample.h"
#include "compiler/ops/sample.h"

namespace tf::graph {
namespace {

using ops::Buffer;

// How extents of named dimensions are written: by name, or as the numbers that the names stand for.
enum class Naming { kNames, kValues };

class GroupLowering {
 public:
  GroupLowering(const Graph& graph, const Group& group, Naming naming) : graph_(graph), naming_(naming) {
    for (const tensor::Dimension& dim : graph.dims) builder_.dimension(dim);
    for (NodeId id : group.nodes) inside_.insert(id);
  }

  absl::StatusOr<LoweredGroup> run(const Group& group) {
    for (NodeId id : group.nodes) {
      node_ = &graph_.node(id);
      Buffer result = std::visit(*this, node_->op);
      if (builder_.failed()) break;
      buffers_[id] = std::move(result);
    }
    std::vector<Buffer> outputs;
    if (!builder_.failed()) outputs.push_back(buffers_.at(group.result()));
    absl::StatusOr<tensor::Workload> workload = builder_.finish(std::move(outputs));
    if (!workload.ok())
      return absl::Status(workload.status().code(),
                          absl::StrCat("node '", node_->name, "': ", workload.status().message()));
    LoweredGroup lowered{ops::fold_transposes(*std::move(workload)), {}, std::move(inputs_)};
    for (const tensor::Dimension& dim : lowered.workload.dims)
      lowered.binding[dim.var->name] = graph_.binding.at(dim.var->name);
    return lowered;
  }

  Buffer operator()(const Input&) { TF_UNREACHABLE() << "inputs are in no group"; }
  Buffer operator()(const Constant&) { TF_UNREACHABLE() << "constants are in no group"; }
  Buffer operator()(const Result&) { TF_UNREACHABLE() << "results of calls are in no group"; }
  template <typename O>
  requires is_host_operator<O> Buffer operator()(const O&) { return of_host_function(); }
  static Buffer of_host_function() { TF_UNREACHABLE() << "host functions are in no group"; }
  Buffer operator()(const If&) { TF_UNREACHABLE() << "control flow is in no group"; }
  Buffer operator()(const Loop&) { TF_UNREACHABLE() << "control flow is in no group"; }
  Buffer operator()(const Conv& op) {
    const Buffer x = operand(0), w = operand(1);
    const Buffer y =
        ops::conv(builder_, x, w, {op.strides, op.dilations, op.pads_begin, op.pads_end, op.groups});
    return node_->inputs.size() > 2 ? ops::bias_add(builder_, y, operand(2)) : y;
  }
  Buffer operator()(const MatMul& op) {
    const Buffer a = operand(0), b = operand(1);
    return ops::matmul(builder_, a, b, {op.transpose_a, op.transpose_b});
  }
  Buffer operator()(const Pool& op) {
    const ops::Window window{op.kernel, op.strides, op.dilations, op.pads_begin, op.pads_end};
    if (op.kind == PoolKind::kMaxIndex) return ops::max_pool_index(builder_, operand(0), window);
    return op.kind == PoolKind::kMax ? ops::max_pool(builder_, operand(0), window)
                                     : ops::avg_pool(builder_, operand(0), window, op.count_include_pad);
  }
  Buffer operator()(const Reduce& op) {
    return ops::reduce(builder_, op.kind, operand(0), op.axes, op.keep_dims);
  }
  Buffer operator()(const Lrn& op) {
    return ops::lrn(builder_, operand(0), {op.size, op.alpha, op.beta, op.bias});
  }
  Buffer operator()(const Softmax& op) {
    return ops::softmax(builder_, operand(0), static_cast<int>(op.axis), op.log);
  }
  Buffer operator()(const BatchNorm& op) {
    const Buffer x = operand(0), scale = operand(1), bias = operand(2), mean = operand(3),
                 variance = positive(4);
    return ops::batch_norm(builder_, x, {scale, bias, mean, variance}, op.epsilon);
  }
  Buffer operator()(const Unary& op) {
    const bool wants_positive =
        op.kind == UnaryKind::kSqrt || op.kind == UnaryKind::kLog || op.kind == UnaryKind::kReciprocal;
    return ops::unary(builder_, op.kind, wants_positive ? positive(0) : operand(0));
  }
  Buffer operator()(const LeakyRelu& op) { return ops::leaky_relu(builder_, operand(0), op.alpha); }
  Buffer operator()(const Clip& op) { return ops::clip(builder_, operand(0), op.low, op.high); }
  Buffer operator()(const Binary& op) {
    const Buffer a = op.kind == BinaryKind::kPow ? positive(0) : operand(0);
    const bool real = tensor::is_float(a->element);
    // A small exponent that is known saves most of a whole power's multiplications.
    const auto scalar = known_scalar(1);
    if (scalar && (real || (op.kind == BinaryKind::kPow && std::fabs(*scalar) <= 64)))
      return ops::binary(builder_, op.kind, a, *scalar);
    return ops::binary(builder_, op.kind, a, op.kind == BinaryKind::kDiv ? positive(1) : operand(1));
  }
  Buffer operator()(const Where&) {
    const Buffer condition = operand(0), a = operand(1), b = operand(2);
    return ops::where(builder_, condition, a, b);
  }
  Buffer operator()(const Cast& op) { return ops::cast(builder_, operand(0), op.element); }
  Buffer operator()(const Concat& op) {
    std::vector<Buffer> operands;
    for (size_t i = 0; i < node_->inputs.size(); ++i) operands.push_back(operand(i));
    return ops::concat(builder_, operands, static_cast<int>(op.axis));
  }
  Buffer operator()(const Reshape& op) { return ops::reshape(builder_, operand(0), named(op.extents)); }
  Buffer operator()(const Expand& op) { return ops::expand(builder_, operand(0), named(op.extents)); }
  Buffer operator()(const Transpose& op) { return ops::transpose(builder_, operand(0), op.perm); }
  Buffer operator()(const Slice& op) {
    return ops::slice(builder_, operand(0), {op.axes, op.starts, op.sizes, op.steps});
  }
  Buffer operator()(const Pad& op) { return ops::pad(builder_, operand(0), op.begin, op.end, op.value); }
  Buffer operator()(const Gather& op) {
    const Buffer data = operand(0);
    const auto extent = static_cast<double>(graph_.shape(node_->inputs[0])[op.axis]);
    return ops::gather(builder_, data, operand(1, {0, extent - 1}), static_cast<int>(op.axis));
  }
  Buffer operator()(const Resample& op) {
    const Buffer x = operand(0);
    std::vector<ops::TableAxis> axes;
    size_t next = 1;
    for (int64_t axis : op.axes) {
      const auto extent = static_cast<double>(graph_.shape(node_->inputs[0])[axis]);
      axes.push_back({static_cast<int>(axis), operand(next++, {0, extent - 1}), nullptr});
      if (op.weighted) axes.back().weights = operand(next++);
    }
    return ops::resample(builder_, x, axes);
  }
  Buffer operator()(const DepthToSpace& op) {
    return ops::depth_to_space(builder_, operand(0), {op.groups, op.blocks, op.begin, op.sizes});
  }
  Buffer operator()(const Sample& op) {
    const std::vector<int64_t> shape = graph_.shape(node_->inputs[0]);
    const Buffer x = operand(0), batches = operand(1, {0, static_cast<double>(shape[0]) - 1});
    const Buffer places = operand(2, {0, static_cast<double>(shape[2]) - 1});
    return ops::sample(builder_, {x, batches, places, node_->inputs.size() > 3 ? operand(3) : nullptr},
                       op.greatest);
  }

 private:
  // The buffer of an operand: a stage of this group, or an input of the workload, made when first asked for.
  Buffer operand(size_t i, ops::Domain domain = {}) {
    const NodeId id = node_->inputs[i];
    if (auto known = buffers_.find(id); known != buffers_.end()) return known->second;
    TF_CHECK(!inside_.contains(id)) << "a group's nodes are not in order";
    const TensorType& type = graph_.type(id);
    const bool constant = as<Constant>(graph_.node(id)) != nullptr;
    const std::string name = absl::StrCat(constant ? "c" : "x", inputs_.size());
    inputs_.push_back(id);
    return buffers_[id] = constant ? builder_.constant(name, type.element, named(type.extents), domain)
                                   : builder_.input(name, type.element, named(type.extents), domain);
  }
  std::vector<tensor::Expr> named(std::vector<tensor::Expr> extents) const {
    if (naming_ == Naming::kNames) return extents;
    for (tensor::Expr& extent : extents) extent = tensor::imm(graph_.value(extent));
    return extents;
  }
  // Drawn from [0.5, 2] when measured: what stands under a root, in a logarithm or below a fraction line.
  Buffer positive(size_t i) { return operand(i, {0.5, 2}); }

  std::optional<double> known_scalar(size_t i) const {
    const NodeId id = node_->inputs[i];
    auto* known = as<Constant>(graph_.node(id));
    const TensorType& type = graph_.type(id);
    // A scalar of higher rank than the other operand would change the result's rank.
    if (!known || type.rank() > graph_.type(node_->inputs[1 - i]).rank()) return std::nullopt;
    const std::vector<double> values = read_floats(type.element, known->data->bytes());
    return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
  }

  const Graph& graph_;
  const Naming naming_;
  ops::Builder builder_;
  const Node* node_ = nullptr;
  std::set<NodeId> inside_;
  std::map<NodeId, Buffer> buffers_;
  std::vector<NodeId> inputs_;
};

}  // namespace

absl::StatusOr<LoweredGroup> lower_group(const Graph& graph, const Group& group) {
  absl::StatusOr<LoweredGroup> lowered = GroupLowering(graph, group, Naming::kNames).run(group);
  if (lowered.ok() || graph.dims.empty()) return lowered;
  // In a graph extents agree by value, in a workload for every value of the names: [N, 4] and [3, 4] add up
  // where N is 3.
  return GroupLowering(graph, group, Naming::kValues).run(group);
}

absl::StatusOr<LoweredGroup> lower_copy(const Graph& graph, NodeId source) {
  ops::Builder builder;
  for (const tensor::Dimension& dim : graph.dims) builder.dimension(dim);
  const TensorType& type = graph.type(source);
  const Buffer x = builder.input("x0", type.element, type.extents);
  const Buffer y = ops::unary(builder, ops::UnaryKind::kIdentity, x);
  TF_ASSIGN_OR_RETURN(tensor::Workload workload, builder.finish({y}));
  workload.label = "copy";
  LoweredGroup lowered{std::move(workload), {}, {source}};
  for (const tensor::Dimension& dim : lowered.workload.dims)
    lowered.binding[dim.var->name] = graph.binding.at(dim.var->name);
  return lowered;
}

}  // namespace tf::graph
