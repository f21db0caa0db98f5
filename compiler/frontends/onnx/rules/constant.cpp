// Operators whose result is known when the model is built: constants, and what asks for a shape.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

Result shape(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  const Ints shape = node.graph().shape(x);
  const int64_t rank = node.rank(x);
  TF_ASSIGN_OR_RETURN(int64_t start, node.int_attribute("start", 0));
  TF_ASSIGN_OR_RETURN(int64_t end, node.int_attribute("end", rank));
  auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  start = clamped(std::max(start, -rank));
  end = std::max(start, clamped(std::max(end, -rank)));
  const NodeId sizes = node.ints(Ints(shape.begin() + start, shape.begin() + end));
  if (node.is_sized(x)) node.set_holds_sizes(sizes);
  return sizes;
}

Result size(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const int64_t count, element_count(node.graph().shape(x)));
  const NodeId size =
      node.graph().add_constant({tensor::Element::kInt64, {}}, make_blob(Ints{count}), node.name());
  if (node.is_sized(x)) node.set_holds_sizes(size);
  return size;
}

Result constant(NodeReader& node) {
  if (const auto* value = node.find_attribute("value")) {
    TF_ASSIGN_OR_RETURN(HostTensor data, node.tensor(value->t()));
    const NodeId id =
        node.graph().add_constant(tensor_type(data.element, data.shape), std::move(data.data), node.name());
    if (is_four_bits(value->t().data_type())) node.set_four_bits(id);
    return id;
  }
  for (const char* name : {"value_int", "value_ints", "value_float", "value_floats"}) {
    if (!node.has_attribute(name)) continue;
    const std::string kind = name;
    TensorType type{
        kind.find("int") != std::string::npos ? tensor::Element::kInt64 : tensor::Element::kFloat32, {}};
    std::string bytes;
    int64_t count = 1;
    if (kind == "value_int") {
      TF_ASSIGN_OR_RETURN(const int64_t v, node.int_attribute(name, 0));
      bytes = write_integers(type.element, {v});
    } else if (kind == "value_float") {
      TF_ASSIGN_OR_RETURN(const double v, node.float_attribute(name, 0));
      bytes = write_floats(type.element, {v});
    } else if (kind == "value_ints") {
      TF_ASSIGN_OR_RETURN(const Ints v, node.ints_attribute(name, {}));
      bytes = write_integers(type.element, v);
      count = static_cast<int64_t>(v.size());
    } else {
      TF_ASSIGN_OR_RETURN(const std::vector<double> v, node.floats_attribute(name));
      bytes = write_floats(type.element, v);
      count = static_cast<int64_t>(v.size());
    }
    if (kind.back() == 's') type.extents.push_back(tensor::imm(count));
    return node.graph().add_constant(std::move(type), std::make_shared<const Blob>(std::move(bytes)),
                                     node.name());
  }
  return node.unsupported("it has none of the attributes value, value_int(s) and value_float(s)");
}

Result constant_of_shape(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const Ints shape, node.constant_ints(0, "shape"));
  HostTensor value{"", tensor::Element::kFloat32, {1}, make_blob(std::vector<float>{0})};
  if (const auto* given = node.find_attribute("value")) {
    if (is_four_bits(given->t().data_type())) return node.unsupported("of int4 and uint4 is not supported");
    TF_ASSIGN_OR_RETURN(value, node.tensor(given->t()));
  }
  const size_t width = tensor::element_bytes(value.element);
  const absl::StatusOr<int64_t> count = element_count(shape);
  if (!count.ok()) return node.invalid("its shape is negative or beyond 2^43 elements");
  TF_RETURN_IF_ERROR(node.count_made(*count * static_cast<int64_t>(width)));
  if (value.data->bytes().size() != width) return node.invalid("its value is not a single element");
  if (node.holds_sizes(*node.input(0))) {
    const NodeId one = node.graph().add_constant({value.element, {}}, value.data, node.name());
    return node.emit_sized(Expand{tensor_type(value.element, shape).extents}, {one});
  }
  std::string bytes(value.data->bytes());
  bytes.resize(*count * width);
  // Doubling what is there: these constants may be the weights of a whole network.
  for (size_t done = width; done < bytes.size(); done *= 2)
    std::memcpy(bytes.data() + done, bytes.data(), std::min(done, bytes.size() - done));
  return node.graph().add_constant(tensor_type(value.element, shape),
                                   std::make_shared<const Blob>(std::move(bytes)), node.name());
}

// A range's elements are few enough to be a constant.
constexpr int64_t kMostInRange = 1 << 24;

Result range_of_integers(NodeReader& node, tensor::Element element) {
  int64_t bounds[3];
  for (int i = 0; i < 3; ++i) {
    TF_ASSIGN_OR_RETURN(const Ints bound, node.constant_ints(i, "bound"));
    if (bound.size() != 1) return node.invalid("a bound is not a single number");
    bounds[i] = bound[0];
  }
  const auto [start, limit, step] = bounds;
  if (step == 0) return node.invalid("its step is 0");
  // The distance of two i64 and the magnitude of one fit in u64.
  const auto distance = [](int64_t from, int64_t to) {
    return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  };
  uint64_t count = 0;
  if (step > 0 && limit > start) count = (distance(start, limit) - 1) / distance(0, step) + 1;
  if (step < 0 && limit < start) count = (distance(limit, start) - 1) / distance(step, 0) + 1;
  if (count > static_cast<uint64_t>(kMostInRange))
    return node.unsupported("it produces more than 2^24 elements");
  Ints values(count);
  for (size_t i = 0; i < values.size(); ++i)  // unsigned: the product alone may leave the range of i64
    values[i] = static_cast<int64_t>(static_cast<uint64_t>(start) + i * static_cast<uint64_t>(step));
  return node.graph().add_constant({element, {tensor::imm(static_cast<int64_t>(count))}},
                                   std::make_shared<const Blob>(write_integers(element, values)),
                                   node.name());
}

Result range(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId first, node.input(0));
  const tensor::Element element = node.type(first).element;
  if (!tensor::is_float(element)) return range_of_integers(node, element);
  double bounds[3];
  for (int i = 0; i < 3; ++i) {
    TF_ASSIGN_OR_RETURN(const std::vector<double> bound, node.constant_floats(i, "bound"));
    if (bound.size() != 1) return node.invalid("a bound is not a single number");
    bounds[i] = bound[0];
  }
  const auto [start, limit, step] = bounds;
  if (step == 0) return node.invalid("its step is 0");
  const double count = std::max(std::ceil((limit - start) / step), 0.0);
  if (!(count <= kMostInRange)) return node.unsupported("it produces more than 2^24 elements");
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
  return node.graph().add_constant({element, {tensor::imm(static_cast<int64_t>(values.size()))}},
                                   std::make_shared<const Blob>(write_floats(element, values)), node.name());
}

constexpr std::array kConstantRules = {
    NamedRule{"Constant", constant}, NamedRule{"ConstantOfShape", constant_of_shape},
    NamedRule{"Range", range}, NamedRule{"Shape", shape}, NamedRule{"Size", size}};

}  // namespace

std::span<const NamedRule> constant_rules() {
  return kConstantRules;
}

}  // namespace tf::onnx
