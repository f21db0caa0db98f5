#include "compiler/graph/program/host_calls.h"

#include <bit>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/model_types.h"

namespace tf::graph {
namespace {

// A float attribute.
int64_t bits(double value) {
  return std::bit_cast<int64_t>(value);
}

struct Describe {
  HostCall operator()(const TopK& op) const { return {"tf_host_topk", {op.axis, op.largest}}; }
  HostCall operator()(const ScatterElements& op) const {
    return {"tf_host_scatter_elements", {op.axis, static_cast<int64_t>(op.kind)}};
  }
  HostCall operator()(const ScatterSlices& op) const {
    return {"tf_host_scatter_nd", {static_cast<int64_t>(op.kind)}};
  }
  HostCall operator()(const CumulativeSum& op) const {
    return {"tf_host_cumsum", {op.axis, op.exclusive, op.reverse, op.product}};
  }
  HostCall operator()(const BitCast&) const { return {"tf_host_bit_cast", {}}; }
  HostCall operator()(const Determinant&) const { return {"tf_host_det", {}}; }
  HostCall operator()(const MaxUnpool&) const { return {"tf_host_max_unpool", {}}; }
  HostCall operator()(const RoiAlign& op) const {
    return {"tf_host_roi_align", {op.maximum, op.half_pixel, op.sampling_ratio, bits(op.scale)}};
  }
  HostCall operator()(const Random& op) const {
    const bool uniform = op.kind == RandomKind::kUniform;
    return {uniform ? "tf_host_random_uniform" : "tf_host_random_normal",
            {op.seed, bits(op.first), bits(op.second)}};
  }
  HostCall operator()(const Bernoulli& op) const { return {"tf_host_bernoulli", {op.seed}}; }
  HostCall operator()(const Multinomial& op) const { return {"tf_host_multinomial", {op.seed}}; }
  HostCall operator()(const NonZero&) const { return {"tf_host_nonzero", {}}; }
  HostCall operator()(const Unique& op) const { return {"tf_host_unique", {op.axis, op.sorted}}; }
  HostCall operator()(const NonMaxSuppression& op) const {
    return {"tf_host_non_max_suppression", {op.centered, op.scored}};
  }
  template <typename O>
  HostCall operator()(const O&) const {
    return none();
  }
  static HostCall none() { TF_UNREACHABLE() << "no host function computes this operator"; }
};

// As tf_call.dims numbers them.
static_assert(static_cast<int>(ScatterKind::kPut) == TF_HOST_REDUCE_NONE &&
              static_cast<int>(ScatterKind::kAdd) == TF_HOST_REDUCE_ADD &&
              static_cast<int>(ScatterKind::kMul) == TF_HOST_REDUCE_MUL &&
              static_cast<int>(ScatterKind::kMin) == TF_HOST_REDUCE_MIN &&
              static_cast<int>(ScatterKind::kMax) == TF_HOST_REDUCE_MAX);

}  // namespace

HostCall host_call(const Node& node) {
  return std::visit(Describe{}, node.op);
}

std::vector<int64_t> host_numbers(const HostCall& call, const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  const auto add = [&](const TensorType& type) {
    types.push_back(tensor_type(type.element, graph.shape(type)));
  };
  for (NodeId operand : node.inputs) add(graph.type(operand));
  add(node.type);
  for (const TensorType& type : node.more_types) add(type);
  return host_numbers(call, types);
}

std::vector<int64_t> host_numbers(const HostCall& call, std::span<const TensorType> types) {
  std::vector<int64_t> numbers = {static_cast<int64_t>(call.attributes.size())};
  numbers.insert(numbers.end(), call.attributes.begin(), call.attributes.end());
  for (const TensorType& type : types) {
    numbers.push_back(static_cast<int64_t>(type.element) +
                      1);  // TF_ELEMENT_*, as driver/element_number.h checks
    numbers.push_back(type.rank());
    for (const tensor::Expr& extent : type.extents) numbers.push_back(*tensor::as_int(extent));
  }
  return numbers;
}

namespace {

struct HostFunction {
  tf_kernel run;
  tf_host_workspace (*workspace)(const int64_t* dims);  // null: it needs none
};

const HostFunction& find(std::string_view name) {
  static const std::map<std::string_view, HostFunction> kAll = {
      {"tf_host_topk", {tf_host_topk, tf_host_topk_workspace}},
      {"tf_host_scatter_elements", {tf_host_scatter_elements, nullptr}},
      {"tf_host_scatter_nd", {tf_host_scatter_nd, nullptr}},
      {"tf_host_cumsum", {tf_host_cumsum, nullptr}},
      {"tf_host_bit_cast", {tf_host_bit_cast, nullptr}},
      {"tf_host_det", {tf_host_det, tf_host_det_workspace}},
      {"tf_host_max_unpool", {tf_host_max_unpool, nullptr}},
      {"tf_host_roi_align", {tf_host_roi_align, tf_host_roi_align_workspace}},
      {"tf_host_random_uniform", {tf_host_random_uniform, nullptr}},
      {"tf_host_random_normal", {tf_host_random_normal, nullptr}},
      {"tf_host_bernoulli", {tf_host_bernoulli, nullptr}},
      {"tf_host_multinomial", {tf_host_multinomial, tf_host_multinomial_workspace}},
      {"tf_host_nonzero", {tf_host_nonzero, nullptr}},
      {"tf_host_compress", {tf_host_compress, nullptr}},
      {"tf_host_unique", {tf_host_unique, tf_host_unique_workspace}},
      {"tf_host_non_max_suppression", {tf_host_non_max_suppression, tf_host_non_max_suppression_workspace}}};
  const auto found = kAll.find(name);
  TF_CHECK(found != kAll.end()) << "there is no host function " << name;
  return found->second;
}

}  // namespace

tf_kernel host_function(std::string_view name) {
  return find(name).run;
}

tf_host_workspace host_workspace(std::string_view name, const std::vector<int64_t>& numbers) {
  const HostFunction& function = find(name);
  return function.workspace ? function.workspace(numbers.data()) : tf_host_workspace{0, 0};
}

absl::Status run_host_function(const HostCall& call, const std::vector<int64_t>& numbers,
                               std::vector<std::string>& buffers) {
  std::vector<void*> places;
  std::vector<uint64_t> sizes;
  for (std::string& buffer : buffers) {
    places.push_back(buffer.data());
    sizes.push_back(buffer.size());
  }
  const tf_host_workspace wanted = host_workspace(call.function, numbers);
  std::vector<uint64_t> workspace((wanted.bytes + wanted.bytes_per_thread) / sizeof(uint64_t) + 1);
  const tf_runtime alone = {1, nullptr};
  const tf_call arguments = {TF_ABI_VERSION, static_cast<uint32_t>(buffers.size()),
                             places.data(),  sizes.data(),
                             numbers.data(), workspace.data(),
                             &alone};
  const int32_t error = host_function(call.function)(&arguments);
  if (error == 0) return absl::OkStatus();
  if (error == TF_MODEL_BAD_INDEX)
    return absl::OutOfRangeError("an index lies outside the axis that it selects from");
  return absl::OutOfRangeError(absl::StrCat("host function ", call.function, " fails with error ", error));
}

}  // namespace tf::graph
