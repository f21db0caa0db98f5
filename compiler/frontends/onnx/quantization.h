#pragma once
// Owns: what the rules of quantized tensors are written in: a stored integer q stands for
// scale * (q - zero point), with one scale and zero point or one for each element of an axis. Does not know:
// operators.

#include <optional>
#include <vector>

#include "compiler/frontends/onnx/node_reader.h"

namespace tf::onnx {

// The values of a constant of integers; nothing for what is computed at run time.
std::optional<std::vector<int64_t>> known_integers(NodeReader& node, NodeId id);
// Whether a zero point is left out or known to be zero.
bool all_zero(NodeReader& node, std::optional<NodeId> zero);
bool is_one_number(NodeReader& node, NodeId x);
bool is_byte(tensor::Element element);

// UNIMPLEMENTED for quantized elements other than bytes.
absl::Status check_quantized(NodeReader& node, tensor::Element element);

absl::StatusOr<NodeId> binary(NodeReader& node, graph::BinaryKind kind, NodeId a, NodeId b);

// A scale or zero point, one number or one for each element of `axis`, in a shape that broadcasts along it in
// a tensor of that rank.
absl::StatusOr<NodeId> along(NodeReader& node, NodeId x, int rank, int64_t axis);

// x, already divided by the scale → the nearest integers (ties to even) plus the zero point, at the ends of
// the element's range where beyond.
struct StoredElement {
  tensor::Element element;
  bool four_bits = false;  // int4 and uint4, as i8 and u8
};
absl::StatusOr<NodeId> to_integers(NodeReader& node, NodeId x, std::optional<NodeId> zero,
                                   const StoredElement& stored);

// Scales or zero points, one for each block of elements along `axis` of x, in x's shape.
absl::StatusOr<NodeId> over_blocks(NodeReader& node, NodeId scale, NodeId x, int64_t axis, int64_t block);

}  // namespace tf::onnx
