#include "compiler/graph/passes/select.h"

#include <algorithm>

#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/program/host_calls.h"

namespace tf::graph {
namespace {

using tensor::Element;
using Shape = std::vector<int64_t>;

// A result, with room for the most that it may hold.
struct Room {
  Element element;
  Shape shape;
  int counted_axis;  // whose extent the function finds; -1: none
};

// The last result of such a function says how many it found.
absl::StatusOr<std::vector<HostTensor>> run_counted(const HostCall& call,
                                                    std::span<const HostTensor> operands,
                                                    const std::vector<Room>& rooms) {
  std::vector<TensorType> types;
  std::vector<std::string> buffers;
  for (const HostTensor& operand : operands) {
    types.push_back(tensor_type(operand.element, operand.shape));
    buffers.emplace_back(operand.data->bytes());
  }
  for (const Room& room : rooms) {
    TF_ASSIGN_OR_RETURN(const int64_t count, element_count(room.shape));
    types.push_back(tensor_type(room.element, room.shape));
    buffers.emplace_back(static_cast<size_t>(count * tensor::element_bytes(room.element)), '\0');
  }
  types.push_back(tensor_type(Element::kInt64, {}));
  buffers.emplace_back(sizeof(int64_t), '\0');
  TF_RETURN_IF_ERROR(run_host_function(call, host_numbers(call, types), buffers));
  const int64_t found = read_integers(Element::kInt64, buffers.back())[0];
  std::vector<HostTensor> results;
  for (size_t i = 0; i < rooms.size(); ++i) {
    Shape shape = rooms[i].shape;
    if (rooms[i].counted_axis >= 0) shape[static_cast<size_t>(rooms[i].counted_axis)] = found;
    TF_ASSIGN_OR_RETURN(const int64_t count, element_count(shape));
    std::string& bytes = buffers[operands.size() + i];
    bytes.resize(static_cast<size_t>(count * tensor::element_bytes(rooms[i].element)));
    results.push_back(
        {"", rooms[i].element, std::move(shape), std::make_shared<const Blob>(std::move(bytes))});
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> nonzero_of(const HostTensor& x) {
  TF_ASSIGN_OR_RETURN(const int64_t count, element_count(x.shape));
  const auto rank = static_cast<int64_t>(x.shape.size());
  return run_counted({"tf_host_nonzero", {}}, {&x, 1}, {{Element::kInt64, {rank, count}, 1}});
}

absl::StatusOr<std::vector<HostTensor>> unique_of(const HostTensor& x, int64_t axis, bool sorted) {
  TF_ASSIGN_OR_RETURN(const int64_t count, element_count(x.shape));
  const Shape flat = {axis < 0 ? count : x.shape[static_cast<size_t>(axis)]};
  return run_counted({"tf_host_unique", {axis, sorted}}, {&x, 1},
                     {{x.element, axis < 0 ? flat : x.shape, static_cast<int>(std::max<int64_t>(axis, 0))},
                      {Element::kInt64, flat, 0},
                      {Element::kInt64, flat, -1},
                      {Element::kInt64, flat, 0}});
}

absl::StatusOr<std::vector<HostTensor>> non_max_suppression_of(std::span<const HostTensor> operands,
                                                               bool centered, bool scored) {
  const Shape& scores = operands[1].shape;
  const int64_t most = read_integers(Element::kInt64, operands[2].data->bytes())[0];
  const int64_t of_class = std::clamp(most, int64_t{0}, scores[2]);
  TF_ASSIGN_OR_RETURN(const int64_t all, element_count(Shape{scores[0], scores[1], of_class}));
  return run_counted({"tf_host_non_max_suppression", {centered, scored}}, operands,
                     {{Element::kInt64, {all, 3}, 0}});
}

}  // namespace tf::graph
