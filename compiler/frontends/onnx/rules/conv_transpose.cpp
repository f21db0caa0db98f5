// ConvTranspose and Col2Im: what windows overlap in is summed.
//
// With stride s, element u of the uncropped result sees the kernel elements u mod s + s · t only, each with element u / s -
// t of the input. So each remainder (phase) is a convolution of stride 1 with every s-th kernel element, from the last
// to the first, and the phases are the result's neighbours:
//   weights [C, M, K] → [s · M, C, ⌈K / s⌉], convolution, DepthToSpace
#include <algorithm>
#include <array>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

// One spatial axis.
struct Deconvolved {
  int64_t from = 0, kernel = 1, stride = 1, dilation = 1;
  int64_t begin = 0, to = 0;  // the result is [begin, begin + to) of what the windows cover

  int64_t taps() const { return ceil_div(kernel, stride); }
  int64_t first() const { return begin / stride; }  // of the places u / stride
  int64_t last() const { return (begin + to - 1) / stride; }
};

absl::Status check_entries(const NodeReader& node, const Ints& list, const char* what, size_t count,
                           int64_t least) {
  if (list.size() != count)
    return node.invalid(absl::StrCat("attribute '", what, "' has ", list.size(), " entries, not ", count));
  for (int64_t entry : list)
    if (entry < least || entry > INT32_MAX)
      return node.invalid(absl::StrCat("attribute '", what, "' has an entry ", entry));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Deconvolved>> read_axes(NodeReader& node, const Ints& x, const Ints& weights) {
  const size_t spatial = x.size() - 2;
  const Ints kernel(weights.begin() + 2, weights.end());
  TF_ASSIGN_OR_RETURN(const Ints kernel_shape, node.ints_attribute("kernel_shape", kernel));
  if (kernel_shape != kernel) return node.invalid("kernel_shape differs from the shape of the weights");
  TF_ASSIGN_OR_RETURN(const Ints strides, node.ints_attribute("strides", Ints(spatial, 1)));
  TF_ASSIGN_OR_RETURN(const Ints dilations, node.ints_attribute("dilations", Ints(spatial, 1)));
  TF_ASSIGN_OR_RETURN(const Ints pads, node.ints_attribute("pads", Ints(2 * spatial, 0)));
  TF_ASSIGN_OR_RETURN(const Ints more, node.ints_attribute("output_padding", Ints(spatial, 0)));
  TF_ASSIGN_OR_RETURN(Ints shape, node.ints_attribute("output_shape", {}));
  TF_ASSIGN_OR_RETURN(const std::string auto_pad, node.string_attribute("auto_pad", "NOTSET"));
  TF_RETURN_IF_ERROR(check_entries(node, kernel, "kernel_shape", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(node, strides, "strides", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(node, dilations, "dilations", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(node, pads, "pads", 2 * spatial, 0));
  TF_RETURN_IF_ERROR(check_entries(node, more, "output_padding", spatial, 0));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID")
    return node.invalid(absl::StrCat("attribute 'auto_pad' is '", auto_pad, "'"));
  // Some exporters give batch and channels, too.
  if (shape.size() == spatial + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (!shape.empty()) TF_RETURN_IF_ERROR(check_entries(node, shape, "output_shape", spatial, 1));
  std::vector<Deconvolved> axes;
  for (size_t d = 0; d < spatial; ++d) {
    Deconvolved axis{x[d + 2], kernel[d], strides[d], dilations[d]};
    if (axis.from < 1 || axis.from > INT32_MAX)
      return node.invalid(absl::StrCat("spatial axis ", d, " has ", axis.from, " elements"));
    const int64_t whole = axis.stride * (axis.from - 1) + axis.dilation * (axis.kernel - 1) + 1 + more[d];
    if (!shape.empty() || same) {
      // Kernels smaller than the stride leave the end uncovered: then no zeros are added to what there is.
      axis.to = shape.empty() ? std::min(axis.from * axis.stride, whole) : shape[d];
      const int64_t padding = std::max<int64_t>(whole - axis.to, 0);
      axis.begin = auto_pad == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
    } else {
      const bool padded = auto_pad == "NOTSET";
      axis.begin = padded ? pads[d] : 0;
      axis.to = whole - (padded ? pads[d] + pads[d + spatial] : 0);
    }
    if (axis.to < 1)
      return node.invalid(absl::StrCat("its result has ", axis.to, " elements along spatial axis ", d));
    axes.push_back(axis);
  }
  return axes;
}

// The convolutions of one transposed convolution.
class Deconvolution {
 public:
  Deconvolution(NodeReader& node, std::vector<Deconvolved> axes, int64_t groups)
      : node_(node), axes_(std::move(axes)), groups_(groups) {}

  Result run(NodeId x, NodeId weights) {
    batch_ = node_.type(x).extents[0];
    element_ = node_.type(x).element;
    TF_ASSIGN_OR_RETURN(weights, in_groups(weights));
    if (std::ranges::all_of(axes_, [](const Deconvolved& axis) { return axis.stride == 1; }))
      return one_phase(x, weights, Ints(axes_.size(), 0));
    // One convolution computes all phases of every place that one of them needs, and products with zeros where they have
    // fewer taps than others. Where that is much, each is computed by itself.
    constexpr double kMostWaste = 1.08;
    constexpr int64_t kMostPhases = 16;
    double waste = 1;
    int64_t count = 1;
    for (const Deconvolved& axis : axes_) {
      const auto all = static_cast<double>((axis.last() - axis.first() + 1) * axis.stride * axis.taps());
      waste *= all * static_cast<double>(axis.stride) / static_cast<double>(axis.to * axis.kernel);
      count *= axis.stride;
    }
    const bool together = waste <= kMostWaste || count > kMostPhases;
    DepthToSpace shuffle{together ? groups_ : 1, {}, {}, {}};
    for (const Deconvolved& axis : axes_) {
      shuffle.blocks.push_back(axis.stride);
      shuffle.begin.push_back(together ? axis.begin - axis.first() * axis.stride : 0);
      shuffle.sizes.push_back(axis.to);
    }
    TF_ASSIGN_OR_RETURN(const NodeId z, together ? all_phases(x, weights) : one_by_one(x, weights));
    return node_.emit(std::move(shuffle), {z});
  }

 private:
  // [C, M / groups, kernel…] as [groups, M / groups · C / groups, kernel…], dilated where strides would see gaps.
  Result in_groups(NodeId weights) {
    const Ints shape = node_.graph().shape(weights);
    each_in_ = shape[0] / groups_;
    each_out_ = shape[1];
    Ints split = {groups_, each_in_, each_out_}, joined = {groups_, each_out_ * each_in_}, order = {0, 2, 1};
    for (size_t d = 2; d < shape.size(); ++d) {
      split.push_back(shape[d]);
      joined.push_back(shape[d]);
      order.push_back(static_cast<int64_t>(d) + 1);
    }
    TF_ASSIGN_OR_RETURN(NodeId w, reshape(weights, split));
    TF_ASSIGN_OR_RETURN(w, node_.emit(Transpose{order}, {w}));
    TF_ASSIGN_OR_RETURN(w, reshape(w, joined));
    for (size_t d = 0; d < axes_.size(); ++d) {
      if (axes_[d].dilation == 1 || axes_[d].stride == 1) continue;
      TF_ASSIGN_OR_RETURN(w, dilated(w, d));
    }
    return w;
  }

  // A zero behind each element, as often as that takes, then without those behind the last one.
  Result dilated(NodeId w, size_t d) {
    Deconvolved& axis = axes_[d];
    Ints apart = node_.graph().shape(w);
    apart.insert(apart.begin() + static_cast<int64_t>(d) + 3, 1);
    TF_ASSIGN_OR_RETURN(w, reshape(w, apart));
    Pad gaps{Ints(apart.size(), 0), Ints(apart.size(), 0), 0};
    gaps.end[d + 3] = axis.dilation - 1;
    TF_ASSIGN_OR_RETURN(w, node_.emit(std::move(gaps), {w}));
    Ints joined = node_.graph().shape(w);
    joined[d + 2] *= joined[d + 3];
    joined.erase(joined.begin() + static_cast<int64_t>(d) + 3);
    TF_ASSIGN_OR_RETURN(w, reshape(w, joined));
    axis.kernel = (axis.kernel - 1) * axis.dilation + 1;
    axis.dilation = 1;
    return node_.emit(Slice{{static_cast<int64_t>(d) + 2}, {0}, {axis.kernel}, {1}}, {w});
  }

  // Every stride-th element of the result from `offset` on: a convolution of stride 1 with every stride-th kernel element.
  Result one_phase(NodeId x, NodeId w, const Ints& offset) {
    Slice flip;
    Ints shape = {groups_ * each_out_, each_in_}, first, last;
    for (size_t d = 0; d < axes_.size(); ++d) {
      const Deconvolved& axis = axes_[d];
      const int64_t phase = (axis.begin + offset[d]) % axis.stride,
                    place = (axis.begin + offset[d]) / axis.stride;
      const int64_t taps = ceil_div(std::max<int64_t>(axis.kernel - phase, 0), axis.stride);
      first.push_back(place);
      last.push_back(place + ceil_div(axis.to, axis.stride) - 1);
      shape.push_back(taps);
      flip.axes.push_back(static_cast<int64_t>(d) + 2);
      flip.starts.push_back(phase + (taps - 1) * axis.stride);
      flip.sizes.push_back(taps);
      flip.steps.push_back(-axis.stride);
    }
    if (std::ranges::find(shape, 0) != shape.end()) return zeros(first, last);
    TF_ASSIGN_OR_RETURN(w, node_.emit(std::move(flip), {w}));
    TF_ASSIGN_OR_RETURN(w, reshape(w, shape));
    return convolved(x, w, first, last);
  }

  // One of all phases, whose results are channels. Kernels are filled up with zeros.
  Result all_phases(NodeId x, NodeId w) {
    const size_t spatial = axes_.size();
    Ints first, last;
    Pad filled{Ints(2, 0), Ints(2, 0), 0};
    Slice flip;
    Ints apart = {groups_, each_out_ * each_in_}, order = {0}, joined = {groups_ * each_out_, each_in_};
    for (const Deconvolved& axis : axes_) {
      filled.begin.push_back(0);
      filled.end.push_back(axis.taps() * axis.stride - axis.kernel);
      first.push_back(axis.first());
      last.push_back(axis.last());
      flip.axes.push_back(static_cast<int64_t>(apart.size()));
      flip.starts.push_back(axis.taps() - 1);
      flip.sizes.push_back(axis.taps());
      flip.steps.push_back(-1);
      order.push_back(static_cast<int64_t>(apart.size()) + 1);
      apart.push_back(axis.taps());
      apart.push_back(axis.stride);
      joined[0] *= axis.stride;
      joined.push_back(axis.taps());
    }
    order.push_back(1);
    for (size_t d = 0; d < spatial; ++d) order.push_back(static_cast<int64_t>(2 * d) + 2);
    TF_ASSIGN_OR_RETURN(w, node_.emit(std::move(filled), {w}));
    TF_ASSIGN_OR_RETURN(w, reshape(w, apart));
    TF_ASSIGN_OR_RETURN(w, node_.emit(std::move(flip), {w}));
    TF_ASSIGN_OR_RETURN(w, node_.emit(Transpose{std::move(order)}, {w}));
    TF_ASSIGN_OR_RETURN(w, reshape(w, joined));
    return convolved(x, w, first, last);
  }

  // The windows whose last elements are `first` to `last` of each axis, which may lie outside x: then x is padded, or
  // what no window sees is left out.
  Result convolved(NodeId x, NodeId w, const Ints& first, const Ints& last) {
    Conv conv{Ints(axes_.size(), 1), {}, {}, {}, groups_};
    Slice seen;
    const Ints kernel = node_.graph().shape(w);
    for (size_t d = 0; d < axes_.size(); ++d) {
      const int64_t from = axes_[d].from, least = first[d] - (kernel[d + 2] - 1) * axes_[d].dilation;
      const int64_t begin = std::max<int64_t>(least, 0), end = std::min(last[d] + 1, from);
      if (begin >= end) return zeros(first, last);
      conv.dilations.push_back(axes_[d].dilation);
      conv.pads_begin.push_back(begin - least);
      conv.pads_end.push_back(last[d] + 1 - end);
      if (begin == 0 && end == from) continue;
      seen.axes.push_back(static_cast<int64_t>(d) + 2);
      seen.starts.push_back(begin);
      seen.sizes.push_back(end - begin);
      seen.steps.push_back(1);
    }
    if (!seen.axes.empty()) {
      TF_ASSIGN_OR_RETURN(x, node_.emit(std::move(seen), {x}));
    }
    return node_.emit(std::move(conv), {x, w});
  }

  // What windows give that see no element of x, or that no kernel element belongs to.
  Result zeros(const Ints& first, const Ints& last) {
    std::vector<tensor::Expr> extents = {batch_, tensor::imm(groups_ * each_out_)};
    for (size_t d = 0; d < axes_.size(); ++d) extents.push_back(tensor::imm(last[d] - first[d] + 1));
    return node_.emit(Expand{std::move(extents)}, {node_.scalar(0, element_)});
  }

  Result one_by_one(NodeId x, NodeId w) {
    std::vector<NodeId> parts;
    Ints phase(axes_.size(), 0);
    for (bool more = true; more;) {
      TF_ASSIGN_OR_RETURN(parts.emplace_back(), one_phase(x, w, phase));
      more = false;
      for (size_t d = axes_.size(); d-- > 0 && !more;) {
        more = ++phase[d] < axes_[d].stride;
        if (!more) phase[d] = 0;
      }
    }
    return node_.emit(Concat{1}, std::move(parts));
  }

  Result reshape(NodeId x, const Ints& shape) {
    return node_.emit(Reshape{tensor_type(tensor::Element::kInt64, shape).extents}, {x});
  }

  NodeReader& node_;
  std::vector<Deconvolved> axes_;
  const int64_t groups_;
  int64_t each_in_ = 0, each_out_ = 0;
  tensor::Expr batch_;
  tensor::Element element_{};
};

Result conv_transpose(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const std::vector<NodeId> inputs, node.inputs());
  if (inputs.size() < 2) return node.invalid("needs an input and weights");
  const Ints x = node.graph().shape(inputs[0]), weights = node.graph().shape(inputs[1]);
  TF_ASSIGN_OR_RETURN(const int64_t groups, node.int_attribute("group", 1));
  if (x.size() < 3 || x.size() > 5 || weights.size() != x.size())
    return node.invalid(absl::StrCat("needs an input of rank 3 to 5 and weights of the same rank, not ",
                                     to_string(node.type(inputs[0])), " and ",
                                     to_string(node.type(inputs[1]))));
  if (groups < 1 || weights[0] != x[1] || x[1] < 1 || x[1] % groups != 0 || weights[1] < 1)
    return node.invalid(absl::StrCat("weights ", to_string(node.type(inputs[1])), " do not fit ", x[1],
                                     " channels in ", groups, " groups"));
  if (!tensor::is_float(node.type(inputs[0]).element))
    return node.invalid(absl::StrCat("it needs floating point, not ", to_string(node.type(inputs[0]))));
  TF_ASSIGN_OR_RETURN(std::vector<Deconvolved> axes, read_axes(node, x, weights));
  TF_ASSIGN_OR_RETURN(const NodeId y, Deconvolution(node, std::move(axes), groups).run(inputs[0], inputs[1]));
  if (inputs.size() < 3) return y;
  Ints along(x.size() - 1, 1);
  along[0] = weights[1] * groups;
  if (node.graph().shape(inputs[2]) != Ints{along[0]})
    return node.invalid(
        absl::StrCat("the bias is ", to_string(node.type(inputs[2])), ", but needs ", along[0], " values"));
  TF_ASSIGN_OR_RETURN(const NodeId bias,
                      node.emit(Reshape{tensor_type(tensor::Element::kInt64, along).extents}, {inputs[2]}));
  return node.emit(Binary{BinaryKind::kAdd}, {y, bias});
}

// Which elements of a spatial axis' [kernel, windows] are summed in each element of the image, as a table; a place behind
// the last one stands for nothing.
struct Overlap {
  int64_t windows = 0, taps = 1;
  Ints indices;  // [taps, image]
};
Overlap overlap(int64_t image, int64_t kernel, int64_t stride, int64_t dilation, int64_t begin,
                int64_t windows) {
  std::vector<Ints> seen(image);
  Overlap overlap{windows};
  for (int64_t k = 0; k < kernel; ++k) {
    for (int64_t w = 0; w < windows; ++w) {
      const int64_t at = w * stride + k * dilation - begin;
      if (at >= 0 && at < image) seen[at].push_back(k * windows + w);
    }
  }
  for (const Ints& each : seen) overlap.taps = std::max(overlap.taps, static_cast<int64_t>(each.size()));
  overlap.indices.assign(overlap.taps * image, kernel * windows);
  for (int64_t i = 0; i < image; ++i)
    for (size_t t = 0; t < seen[i].size(); ++t)
      overlap.indices[static_cast<int64_t>(t) * image + i] = seen[i][t];
  return overlap;
}

Result col2im(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const Ints image, node.constant_ints(1, "image shape"));
  TF_ASSIGN_OR_RETURN(const Ints block, node.constant_ints(2, "block shape"));
  const size_t spatial = image.size();
  TF_ASSIGN_OR_RETURN(const Ints strides, node.ints_attribute("strides", Ints(spatial, 1)));
  TF_ASSIGN_OR_RETURN(const Ints dilations, node.ints_attribute("dilations", Ints(spatial, 1)));
  TF_ASSIGN_OR_RETURN(const Ints pads, node.ints_attribute("pads", Ints(2 * spatial, 0)));
  if (spatial < 1 || spatial > 3)
    return node.unsupported(absl::StrCat("an image of ", spatial, " axes is not supported"));
  TF_RETURN_IF_ERROR(check_entries(node, image, "image_shape", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(node, block, "block_shape", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(node, strides, "strides", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(node, dilations, "dilations", spatial, 1));
  TF_RETURN_IF_ERROR(check_entries(node, pads, "pads", 2 * spatial, 0));
  const Ints shape = node.graph().shape(x);
  int64_t elements = 1, all = 1;
  std::vector<Overlap> overlaps;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t room = image[d] + pads[d] + pads[d + spatial] - dilations[d] * (block[d] - 1) - 1;
    if (room < 0) return node.invalid(absl::StrCat("a block does not fit spatial axis ", d));
    const int64_t windows = room / strides[d] + 1;
    TF_RETURN_IF_ERROR(node.count_made(block[d] * windows + image[d]));
    overlaps.push_back(overlap(image[d], block[d], strides[d], dilations[d], pads[d], windows));
    elements *= block[d];
    all *= windows;
  }
  if (shape.size() != 3 || elements < 1 || shape[1] % elements != 0 || shape[2] != all)
    return node.invalid(absl::StrCat("its input is ", to_string(node.type(x)), "; it needs ", elements,
                                     " rows a channel and ", all, " columns"));
  // [N, C, kernel…, windows…] → [N, C, kernel · windows, …], with a zero behind each axis.
  const int64_t channels = shape[1] / elements;
  Ints apart = {shape[0], channels}, joined = apart;
  apart.insert(apart.end(), block.begin(), block.end());
  Ints order = {0, 1};
  Pad zero{Ints(spatial + 2, 0), Ints(spatial + 2, 0), 0};
  for (size_t d = 0; d < spatial; ++d) {
    apart.push_back(overlaps[d].windows);
    joined.push_back(block[d] * overlaps[d].windows);
    order.push_back(static_cast<int64_t>(d) + 2);
    order.push_back(static_cast<int64_t>(d + spatial) + 2);
    zero.end[d + 2] = 1;
  }
  const auto reshape = [&](const Ints& to) {
    return node.emit(Reshape{tensor_type(tensor::Element::kInt64, to).extents}, {x});
  };
  TF_ASSIGN_OR_RETURN(x, reshape(apart));
  TF_ASSIGN_OR_RETURN(x, node.emit(Transpose{order}, {x}));
  TF_ASSIGN_OR_RETURN(x, reshape(joined));
  TF_ASSIGN_OR_RETURN(x, node.emit(std::move(zero), {x}));
  const tensor::Element element = node.type(x).element;
  TF_ASSIGN_OR_RETURN(x, node.widened(x));
  for (size_t d = 0; d < spatial; ++d) {
    const NodeId table = node.graph().add_constant(
        tensor_type(tensor::Element::kInt32, Ints{overlaps[d].taps, image[d]}),
        std::make_shared<const Blob>(write_integers(tensor::Element::kInt32, overlaps[d].indices)),
        "overlap");
    TF_ASSIGN_OR_RETURN(x, node.emit(Resample{{static_cast<int64_t>(d) + 2}, false}, {x, table}));
  }
  return node.cast_to(element, x);
}

constexpr std::array kConvTransposeRules = {NamedRule{"Col2Im", col2im},
                                            NamedRule{"ConvTranspose", conv_transpose}};

}  // namespace

std::span<const NamedRule> conv_transpose_rules() {
  return kConvTransposeRules;
}

}  // namespace tf::onnx
