#include "compiler/graph/infer_window.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::graph {
namespace {

using tensor::Expr;

// Sizes from files are bounded so that sums and products of a few of them cannot overflow.
constexpr int64_t kLargest = int64_t{1} << 31;

absl::Status check_entries(std::span<const int64_t> entries, const char* what, int spatial, int64_t least) {
  if (static_cast<int>(entries.size()) != spatial)
    return absl::InvalidArgumentError(absl::StrCat(
        what, " has ", entries.size(), " entries, but needs one for each of ", spatial, " spatial axes"));
  for (int64_t entry : entries) {
    if (entry < least || entry > kLargest)
      return absl::InvalidArgumentError(
          absl::StrCat(what, " has an entry ", entry, ", but needs at least ", least));
  }
  return absl::OkStatus();
}

struct Window {
  std::span<const int64_t> kernel, strides, dilations, pads_begin, pads_end;
};

// Appends the extents of the axes that the window slides over.
absl::Status slide(const Graph& graph, const Window& w, const TensorType& x, std::vector<Expr>& extents) {
  const int spatial = x.rank() - 2;
  TF_RETURN_IF_ERROR(check_entries(w.kernel, "kernel", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(w.strides, "strides", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(w.dilations, "dilations", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(w.pads_begin, "pads_begin", spatial, 0));
  TF_RETURN_IF_ERROR(check_entries(w.pads_end, "pads_end", spatial, 0));
  for (int i = 0; i < spatial; ++i) {
    const int64_t reach = w.dilations[i] * (w.kernel[i] - 1) + 1;
    const int64_t room = w.pads_begin[i] + w.pads_end[i] - reach;
    const int64_t extent = graph.value(x.extents[i + 2]);
    if (extent == 0 || extent + room < 0)
      return absl::InvalidArgumentError(absl::StrCat("a window of ", reach, " does not fit spatial axis ", i,
                                                     " of ", to_string(x), " with its padding"));
    extents.push_back(tensor::floor_div(x.extents[i + 2] + room, w.strides[i]) + 1);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorType> infer_conv(const Graph& graph, const Conv& op, const TensorType& x,
                                      const TensorType& w, const TensorType* bias) {
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank())
    return absl::InvalidArgumentError(
        absl::StrCat("needs an input of rank 3 to 5 and weights of the same rank, not ", to_string(x),
                     " and ", to_string(w)));
  const std::vector<int64_t> ws = graph.shape(w);
  const int64_t channels = graph.value(x.extents[1]);
  if (channels < 1 || op.groups < 1 || channels % op.groups != 0 || ws[0] % op.groups != 0 ||
      ws[1] != channels / op.groups)
    return absl::InvalidArgumentError(absl::StrCat("weights ", to_string(w), " do not fit ", channels,
                                                   " channels in ", op.groups, " groups"));
  if (bias && (bias->rank() != 1 || graph.value(bias->extents[0]) != ws[0]))
    return absl::InvalidArgumentError(
        absl::StrCat("the bias is ", to_string(*bias), ", but needs ", ws[0], " values"));
  TensorType result{x.element, {x.extents[0], w.extents[0]}};
  const std::span<const int64_t> kernel(ws.begin() + 2, ws.end());
  TF_RETURN_IF_ERROR(
      slide(graph, {kernel, op.strides, op.dilations, op.pads_begin, op.pads_end}, x, result.extents));
  return result;
}

absl::StatusOr<TensorType> infer_pool(const Graph& graph, const Pool& op, const TensorType& x) {
  if (x.rank() < 3 || x.rank() > 5)
    return absl::InvalidArgumentError(absl::StrCat("needs an input of rank 3 to 5, not ", to_string(x)));
  TensorType result{x.element, {x.extents[0], x.extents[1]}};
  TF_RETURN_IF_ERROR(
      slide(graph, {op.kernel, op.strides, op.dilations, op.pads_begin, op.pads_end}, x, result.extents));
  for (size_t i = 0; i < op.kernel.size(); ++i) {
    if (op.pads_begin[i] >= op.dilations[i] * (op.kernel[i] - 1) + 1)
      return absl::InvalidArgumentError(
          absl::StrCat("a window of spatial axis ", i, " would see only padding"));
  }
  if (op.kind == PoolKind::kMaxIndex) result.element = tensor::Element::kInt64;
  return result;
}

}  // namespace tf::graph
