// Operators that put elements elsewhere by a fixed pattern, or pick them by masks and indices.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

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
using tensor::Element;

Result reshaped(NodeReader& node, NodeId x, const Ints& shape) {
  return node.emit(Reshape{tensor_type(Element::kInt64, shape).extents}, {x});
}

// 0, 1, 2, … along the axis of a tensor of that rank.
NodeId counting(NodeReader& node, int64_t extent, int64_t axis, int rank) {
  Ints values(extent), shape(rank, 1);
  std::iota(values.begin(), values.end(), 0);
  shape[axis] = extent;
  return node.graph().add_constant(tensor_type(Element::kInt64, shape), make_blob(values), "places");
}

NodeId number(NodeReader& node, int64_t value) {
  return node.graph().add_constant({Element::kInt64, {}}, make_blob(Ints{value}), "number");
}

Result emit_binary(NodeReader& node, BinaryKind kind, NodeId a, NodeId b) {
  return node.emit(Binary{kind}, {a, b});
}

// An index that counts from the end where it is negative, as one that counts from the beginning.
Result from_beginning(NodeReader& node, NodeId index, int64_t extent) {
  TF_ASSIGN_OR_RETURN(const NodeId is_negative, emit_binary(node, BinaryKind::kLess, index, number(node, 0)));
  TF_ASSIGN_OR_RETURN(const NodeId wrapped, emit_binary(node, BinaryKind::kAdd, index, number(node, extent)));
  return node.emit(Where{}, {is_negative, wrapped, index});
}

Result depth_to_space(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const int64_t block, node.int_attribute("blocksize", 0));
  TF_ASSIGN_OR_RETURN(const std::string mode, node.string_attribute("mode", "DCR"));
  const Ints shape = node.graph().shape(x);
  if (shape.size() != 4 || block < 1 || block > INT16_MAX || shape[1] % (block * block) != 0)
    return node.invalid(absl::StrCat("blocks of ", block, " do not fit ", to_string(node.type(x))));
  if (mode != "DCR" && mode != "CRD") return node.invalid(absl::StrCat("attribute 'mode' is '", mode, "'"));
  // Channels are (phase, channel), or (channel, phase).
  const int64_t groups = mode == "DCR" ? 1 : std::max<int64_t>(shape[1] / (block * block), 1);
  return node.emit(DepthToSpace{groups, {block, block}, {0, 0}, {shape[2] * block, shape[3] * block}}, {x});
}

Result space_to_depth(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const int64_t block, node.int_attribute("blocksize", 0));
  const Ints s = node.graph().shape(x);
  if (s.size() != 4 || block < 1 || block > INT16_MAX || s[2] % block != 0 || s[3] % block != 0)
    return node.invalid(absl::StrCat("blocks of ", block, " do not fit ", to_string(node.type(x))));
  TF_ASSIGN_OR_RETURN(x, reshaped(node, x, {s[0], s[1], s[2] / block, block, s[3] / block, block}));
  TF_ASSIGN_OR_RETURN(x, node.emit(Transpose{{0, 3, 5, 1, 2, 4}}, {x}));
  return reshaped(node, x, {s[0], s[1] * block * block, s[2] / block, s[3] / block});
}

// Each axis behind a new one, which is expanded.
Result tiled(NodeReader& node, NodeId x, const Ints& repeats) {
  const Ints shape = node.graph().shape(x);
  // Axes that are not repeated are one with their neighbours, so that few are left.
  Ints apart, expanded, result;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t extent = 0;
    if (repeats[d] < 0 || __builtin_mul_overflow(shape[d], repeats[d], &extent))
      return node.invalid(absl::StrCat("it repeats axis ", d, " ", repeats[d], " times"));
    result.push_back(extent);
    if (repeats[d] != 1 || d == 0) {
      apart.push_back(1);
      expanded.push_back(repeats[d]);
      apart.push_back(shape[d]);
      expanded.push_back(shape[d]);
    } else {
      apart.back() *= shape[d];
      expanded.back() *= shape[d];
    }
  }
  if (apart.size() > 8) return node.unsupported("more than four repeated axes are not supported");
  TF_ASSIGN_OR_RETURN(x, reshaped(node, x, apart));
  TF_ASSIGN_OR_RETURN(x, node.emit(Expand{tensor_type(Element::kInt64, expanded).extents}, {x}));
  return reshaped(node, x, result);
}

Result tile(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  const auto rank = static_cast<size_t>(node.rank(x));
  Ints repeats(rank, 1);
  if (node.opset() < 6) {  // one axis
    TF_ASSIGN_OR_RETURN(const Ints tiles, node.constant_ints(1, "tiles"));
    TF_ASSIGN_OR_RETURN(const Ints axis, node.constant_ints(2, "axis"));
    if (tiles.size() != 1 || axis.size() != 1)
      return node.invalid("it needs one number of tiles and one axis");
    TF_ASSIGN_OR_RETURN(const int64_t at, node.axis(axis[0], node.rank(x)));
    repeats[at] = tiles[0];
  } else {
    TF_ASSIGN_OR_RETURN(repeats, node.constant_ints(1, "repeats"));
  }
  if (repeats.size() != rank)
    return node.invalid(absl::StrCat("it has ", repeats.size(), " repeats for ", rank, " axes"));
  if (std::ranges::all_of(repeats, [](int64_t r) { return r == 1; }))
    return node.emit(Unary{UnaryKind::kIdentity}, {x});
  if (std::ranges::any_of(repeats, [](int64_t r) { return r == 0; })) {
    Ints shape = node.graph().shape(x);
    for (size_t d = 0; d < rank; ++d) shape[d] = std::min<int64_t>(repeats[d], 1) * shape[d];
    Slice op;
    for (size_t d = 0; d < rank; ++d) {
      op.axes.push_back(static_cast<int64_t>(d));
      op.starts.push_back(0);
      op.sizes.push_back(shape[d]);
      op.steps.push_back(1);
      if (repeats[d] == 0) repeats[d] = 1;
    }
    TF_ASSIGN_OR_RETURN(const NodeId none, node.emit(std::move(op), {x}));
    return tiled(node, none, repeats);
  }
  return tiled(node, x, repeats);
}

// Row + k <= column of the last two axes is above the k-th diagonal.
Result trilu(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const int64_t upper, node.int_attribute("upper", 1));
  const Ints shape = node.graph().shape(x);
  if (shape.size() < 2) return node.invalid(absl::StrCat("it needs matrices, not ", to_string(node.type(x))));
  NodeId k = number(node, 0);
  if (node.has(1)) {
    TF_ASSIGN_OR_RETURN(k, node.input(1));
    if (element_count(node.graph().shape(k)).value_or(0) != 1)
      return node.invalid("its diagonal is not a single number");
    TF_ASSIGN_OR_RETURN(k, node.cast_to(Element::kInt64, k));
    TF_ASSIGN_OR_RETURN(k, reshaped(node, k, {}));
    // No further than it matters, so that no sum overflows.
    const int64_t rows = shape[shape.size() - 2], columns = shape.back();
    TF_ASSIGN_OR_RETURN(k, emit_binary(node, BinaryKind::kMax, k, number(node, -rows - 1)));
    TF_ASSIGN_OR_RETURN(k, emit_binary(node, BinaryKind::kMin, k, number(node, columns + 1)));
  }
  NodeId row = counting(node, shape[shape.size() - 2], 0, 2), column = counting(node, shape.back(), 1, 2);
  TF_ASSIGN_OR_RETURN(row, emit_binary(node, BinaryKind::kAdd, row, k));
  // Below and on the diagonal for the lower triangle: column <= row + k.
  if (upper == 0) std::swap(row, column);
  TF_ASSIGN_OR_RETURN(const NodeId kept, emit_binary(node, BinaryKind::kLessEqual, row, column));
  return node.emit(Where{}, {kept, x, node.scalar(0, node.type(x).element)});
}

Result eye_like(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const int64_t k, node.int_attribute("k", 0));
  const Ints shape = node.graph().shape(x);
  if (shape.size() != 2)
    return node.invalid(absl::StrCat("it needs a matrix, not ", to_string(node.type(x))));
  Element element = node.type(x).element;
  if (node.has_attribute("dtype")) {
    TF_ASSIGN_OR_RETURN(const int64_t type, node.int_attribute("dtype", 1));
    const absl::StatusOr<Element> given = element_from_onnx(static_cast<int32_t>(type));
    if (!given.ok()) return node.unsupported(absl::StrCat("attribute 'dtype': ", given.status().message()));
    element = *given;
  }
  const int64_t width = tensor::element_bytes(element);
  TF_RETURN_IF_ERROR(node.count_made(shape[0] * shape[1] * width));
  std::string bytes(shape[0] * shape[1] * width, '\0');
  const std::string one =
      tensor::is_float(element) ? write_floats(element, {1}) : write_integers(element, {1});
  for (int64_t row = 0; row < shape[0]; ++row) {
    int64_t column = 0;
    if (__builtin_add_overflow(row, k, &column) || column < 0 || column >= shape[1]) continue;
    std::memcpy(bytes.data() + (row * shape[1] + column) * width, one.data(), width);
  }
  return node.graph().add_constant(tensor_type(element, shape),
                                   std::make_shared<const Blob>(std::move(bytes)), node.name());
}

// On where the index is the place along a new axis, else off.
Result one_hot(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId indices, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId values, node.input(2));
  TF_ASSIGN_OR_RETURN(const NodeId depth_node, node.input(1));
  int64_t depth = 0;
  if (tensor::is_float(node.type(depth_node).element)) {
    TF_ASSIGN_OR_RETURN(const std::vector<double> given, node.constant_floats(1, "depth"));
    if (given.size() == 1 && std::fabs(given[0]) < 0x1p31) depth = static_cast<int64_t>(given[0]);
  } else {
    TF_ASSIGN_OR_RETURN(const Ints given, node.constant_ints(1, "depth"));
    if (given.size() == 1) depth = given[0];
  }
  if (depth < 1 || depth > INT32_MAX) return node.invalid("its depth is not a positive number");
  if (node.graph().shape(values) != Ints{2}) return node.invalid("its values are not two");
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", -1));
  const int rank = node.rank(indices);
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, rank + 1));
  Ints shape = node.graph().shape(indices);
  shape.insert(shape.begin() + axis, 1);
  TF_ASSIGN_OR_RETURN(indices, node.cast_to(Element::kInt64, indices));
  TF_ASSIGN_OR_RETURN(indices, reshaped(node, indices, shape));
  TF_ASSIGN_OR_RETURN(indices, from_beginning(node, indices, depth));
  TF_ASSIGN_OR_RETURN(const NodeId here,
                      emit_binary(node, BinaryKind::kEqual, indices, counting(node, depth, axis, rank + 1)));
  TF_ASSIGN_OR_RETURN(NodeId off, node.emit(Slice{{0}, {0}, {1}, {1}}, {values}));
  TF_ASSIGN_OR_RETURN(NodeId on, node.emit(Slice{{0}, {1}, {1}, {1}}, {values}));
  TF_ASSIGN_OR_RETURN(off, reshaped(node, off, {}));
  TF_ASSIGN_OR_RETURN(on, reshaped(node, on, {}));
  return node.emit(Where{}, {here, on, off});
}

// Places in flattened data, of which each axis' index is checked by itself: an index outside its axis makes one outside
// everything, which the gather of it finds.
class FlatIndex {
 public:
  explicit FlatIndex(NodeReader& node) : node_(node) {}

  // Steps of that many elements along an axis; `checked` where the index is not known to lie inside.
  absl::Status add(NodeId index, int64_t extent, int64_t stride, bool checked) {
    if (checked) {
      TF_ASSIGN_OR_RETURN(index, from_beginning(node_, index, extent));
      TF_ASSIGN_OR_RETURN(const NodeId low,
                          emit_binary(node_, BinaryKind::kLessEqual, number(node_, 0), index));
      TF_ASSIGN_OR_RETURN(const NodeId high,
                          emit_binary(node_, BinaryKind::kLess, index, number(node_, extent)));
      TF_ASSIGN_OR_RETURN(const NodeId inside, emit_binary(node_, BinaryKind::kAnd, low, high));
      if (inside_) {
        TF_ASSIGN_OR_RETURN(inside_, emit_binary(node_, BinaryKind::kAnd, *inside_, inside));
      } else {
        inside_ = inside;
      }
    }
    if (stride != 1) {
      TF_ASSIGN_OR_RETURN(index, emit_binary(node_, BinaryKind::kMul, index, number(node_, stride)));
    }
    if (!sum_) {
      sum_ = index;
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(sum_, emit_binary(node_, BinaryKind::kAdd, *sum_, index));
    return absl::OkStatus();
  }

  Result place() {
    if (!inside_) return *sum_;
    return node_.emit(Where{}, {*inside_, *sum_, number(node_, INT64_MAX)});
  }

 private:
  NodeReader& node_;
  std::optional<NodeId> sum_, inside_;
};

// A gather of which known indices are checked now.
Result checked_gather(NodeReader& node, NodeId data, NodeId places) {
  const int64_t extent = node.graph().shape(data)[0];
  if (const auto* known = as<Constant>(node.graph().node(places))) {
    for (int64_t i : read_integers(Element::kInt64, known->data->bytes()))
      if (i < 0 || i >= extent) return node.invalid("an index lies outside its axis");
  }
  return node.emit(Gather{0}, {data, places});
}

int64_t product_of(std::span<const int64_t> extents) {
  int64_t all = 1;
  for (int64_t extent : extents) all *= extent;
  return all;
}

absl::StatusOr<NodeId> whole_indices(NodeReader& node, int i) {
  TF_ASSIGN_OR_RETURN(const NodeId indices, node.input(i));
  const Element element = node.type(indices).element;
  if (element != Element::kInt32 && element != Element::kInt64)
    return node.invalid(absl::StrCat("its indices are ", to_string(node.type(indices))));
  return node.cast_to(Element::kInt64, indices);
}

Result gather_elements(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId data, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId indices, whole_indices(node, 1));
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", 0));
  const int rank = node.rank(data);
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, rank));
  const Ints shape = node.graph().shape(data), taken = node.graph().shape(indices);
  if (taken.size() != shape.size())
    return node.invalid(absl::StrCat("its indices ", to_string(node.type(indices)), " differ in rank from ",
                                     to_string(node.type(data))));
  FlatIndex flat(node);
  TF_RETURN_IF_ERROR(flat.add(indices, shape[axis], product_of(std::span(shape).subspan(axis + 1)), true));
  for (int d = 0; d < rank; ++d) {
    if (d == axis || taken[d] < 2) continue;
    if (taken[d] > shape[d])
      return node.invalid(
          absl::StrCat("its indices have ", taken[d], " elements along axis ", d, ", the data ", shape[d]));
    const NodeId places = counting(node, taken[d], d, rank);
    TF_RETURN_IF_ERROR(flat.add(places, shape[d], product_of(std::span(shape).subspan(d + 1)), false));
  }
  TF_ASSIGN_OR_RETURN(const NodeId places, flat.place());
  TF_ASSIGN_OR_RETURN(const NodeId all, reshaped(node, data, {product_of(shape)}));
  return checked_gather(node, all, places);
}

Result gather_nd(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId data, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId indices, whole_indices(node, 1));
  TF_ASSIGN_OR_RETURN(const int64_t batch, node.int_attribute("batch_dims", 0));
  const Ints shape = node.graph().shape(data), picked = node.graph().shape(indices);
  const auto rank = static_cast<int64_t>(shape.size()), index_rank = static_cast<int64_t>(picked.size());
  const int64_t deep = picked.empty() ? 0 : picked.back();
  if (batch < 0 || index_rank < 1 || batch >= index_rank || batch >= std::max<int64_t>(rank, 1) || deep < 1 ||
      batch + deep > rank || !std::equal(picked.begin(), picked.begin() + batch, shape.begin()))
    return node.invalid(absl::StrCat("indices ", to_string(node.type(indices)), " with ", batch,
                                     " batch axes do not fit ", to_string(node.type(data))));
  const Ints result(picked.begin(), picked.end() - 1), rest(shape.begin() + batch + deep, shape.end());
  // Rows of what is behind the indexed axes.
  FlatIndex flat(node);
  for (int64_t d = 0; d < deep; ++d) {
    TF_ASSIGN_OR_RETURN(NodeId one, node.emit(Slice{{index_rank - 1}, {d}, {1}, {1}}, {indices}));
    TF_ASSIGN_OR_RETURN(one, reshaped(node, one, result));
    const int64_t stride = product_of(std::span(shape).subspan(batch + d + 1, deep - d - 1));
    TF_RETURN_IF_ERROR(flat.add(one, shape[batch + d], stride, true));
  }
  for (int64_t d = 0; d < batch; ++d) {
    const int64_t stride = product_of(std::span(shape).subspan(d + 1, batch + deep - d - 1));
    TF_RETURN_IF_ERROR(
        flat.add(counting(node, shape[d], d, static_cast<int>(result.size())), shape[d], stride, false));
  }
  TF_ASSIGN_OR_RETURN(const NodeId places, flat.place());
  Ints rows = {product_of(std::span(shape).first(batch + deep))};
  rows.insert(rows.end(), rest.begin(), rest.end());
  TF_ASSIGN_OR_RETURN(const NodeId all, reshaped(node, data, rows));
  return checked_gather(node, all, places);
}

// Where time is less than the length of its sequence, the element that is as far from that end.
Result reverse_sequence(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId lengths, whole_indices(node, 1));
  TF_ASSIGN_OR_RETURN(const int64_t batch, node.int_attribute("batch_axis", 1));
  TF_ASSIGN_OR_RETURN(const int64_t time, node.int_attribute("time_axis", 0));
  const Ints shape = node.graph().shape(x);
  if (shape.size() < 2 || batch + time != 1 || batch < 0 || time < 0)
    return node.invalid(
        absl::StrCat("batch axis ", batch, " and time axis ", time, " of ", to_string(node.type(x))));
  if (node.graph().shape(lengths) != Ints{shape[batch]})
    return node.invalid(absl::StrCat("its lengths are ", to_string(node.type(lengths))));
  Ints along = {1, 1};
  along[batch] = shape[batch];
  TF_ASSIGN_OR_RETURN(lengths, reshaped(node, lengths, along));
  const NodeId places = counting(node, shape[time], time, 2);
  TF_ASSIGN_OR_RETURN(const NodeId last, emit_binary(node, BinaryKind::kSub, lengths, number(node, 1)));
  TF_ASSIGN_OR_RETURN(const NodeId mirrored, emit_binary(node, BinaryKind::kSub, last, places));
  TF_ASSIGN_OR_RETURN(const NodeId inside, emit_binary(node, BinaryKind::kLess, places, lengths));
  TF_ASSIGN_OR_RETURN(const NodeId source, node.emit(Where{}, {inside, mirrored, places}));
  FlatIndex flat(node);
  TF_RETURN_IF_ERROR(flat.add(source, shape[time], time == 0 ? shape[1] : 1, true));
  TF_RETURN_IF_ERROR(
      flat.add(counting(node, shape[batch], batch, 2), shape[batch], batch == 0 ? shape[1] : 1, false));
  TF_ASSIGN_OR_RETURN(const NodeId flat_places, flat.place());
  Ints rows = {shape[0] * shape[1]};
  rows.insert(rows.end(), shape.begin() + 2, shape.end());
  TF_ASSIGN_OR_RETURN(const NodeId all, reshaped(node, x, rows));
  return checked_gather(node, all, flat_places);
}

constexpr std::array kMovementRules = {NamedRule{"DepthToSpace", depth_to_space},
                                       NamedRule{"EyeLike", eye_like},
                                       NamedRule{"GatherElements", gather_elements},
                                       NamedRule{"GatherND", gather_nd},
                                       NamedRule{"OneHot", one_hot},
                                       NamedRule{"ReverseSequence", reverse_sequence},
                                       NamedRule{"SpaceToDepth", space_to_depth},
                                       NamedRule{"Tile", tile},
                                       NamedRule{"Trilu", trilu},
                                       NamedRule{"com.microsoft.Trilu", trilu}};

}  // namespace

std::span<const NamedRule> movement_rules() {
  return kMovementRules;
}

}  // namespace tf::onnx
