// Resize and Upsample: tables of the elements that each result reads, and of their weights.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

enum class Method { kNearest, kLinear, kCubic };

struct ResizeOptions {
  Method method = Method::kNearest;
  std::string coordinates = "half_pixel", rounding = "round_prefer_floor";
  float cubic = -0.75F;
  double extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// One resized axis. Coordinates are computed in f32: which element is nearest, where two are equally near, is decided by
// the rounding of the scale, too.
struct ResizedAxis {
  int64_t axis = 0, from = 0, to = 0;
  float scale = 1, start = 0, end = 1;  // start and end: the part that is seen, of tf_crop_and_resize

  // Whether scales were rounded to the result's extent.
  bool is_rounded() const {
    return std::fabs(static_cast<float>(from) * scale - static_cast<float>(to)) > 1e-3F;
  }
};

float coordinate(const ResizeOptions& options, const ResizedAxis& axis, int64_t place) {
  const auto o = static_cast<float>(place), from = static_cast<float>(axis.from),
             to = static_cast<float>(axis.to);
  const std::string& mode = options.coordinates;
  if (mode == "asymmetric") return o / axis.scale;
  if (mode == "align_corners") return to == 1 ? 0 : o * (from - 1) / (to - 1);
  if (mode == "tf_half_pixel_for_nn") return (o + 0.5F) / axis.scale;
  if (mode == "tf_crop_and_resize") {
    if (to == 1) return 0.5F * (axis.start + axis.end) * (from - 1);
    return axis.start * (from - 1) + o * (axis.end - axis.start) * (from - 1) / (to - 1);
  }
  const float half_pixel = (o + 0.5F) / axis.scale - 0.5F;
  if (mode == "pytorch_half_pixel") return axis.to > 1 ? half_pixel : 0;
  if (mode == "half_pixel_symmetric") {
    const float adjustment = static_cast<float>(axis.to) / (axis.scale * from);
    return from / 2 * (1 - adjustment) + half_pixel;
  }
  return half_pixel;
}

// Of operator sets before 11, which say nothing: towards zero, but upwards where the axis shrinks.
constexpr const char* kOldRounding = "old";

float rounded(const ResizeOptions& options, const ResizedAxis& axis, float x) {
  const std::string& mode = options.rounding;
  if (mode == kOldRounding) return axis.scale < 1 ? std::ceil(x) : std::trunc(x);
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  const float below = std::floor(x);
  const float rest = x - below;
  if (rest == 0.5F) return mode == "round_prefer_floor" ? below : below + 1;
  return rest < 0.5F ? below : below + 1;
}

// Keys 1981, with a in the place of -1/2.
double cubic_weight(double a, double t) {
  t = std::fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}
double linear_weight(double t) {
  return std::max(0.0, 1 - std::fabs(t));
}

struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
};

// The elements around a place, which may lie outside the axis.
Taps taps_at(const ResizeOptions& options, const ResizedAxis& axis, float x) {
  if (options.method == Method::kNearest) return {static_cast<int64_t>(rounded(options, axis, x)), {1}};
  const int64_t support = options.method == Method::kLinear ? 1 : 2;
  const double shrinking = options.antialias ? std::min<double>(axis.scale, 1) : 1;
  const auto below = static_cast<int64_t>(std::floor(x));
  const double part = static_cast<double>(x) - static_cast<double>(below);
  const int64_t before = static_cast<int64_t>(std::floor(-static_cast<double>(support) / shrinking)) + 1;
  Taps taps{below + before, {}};
  double sum = 0;
  for (int64_t i = before; i < 2 - before; ++i) {
    const double t = (static_cast<double>(i) - part) * shrinking;
    const bool outside = below + i < 0 || below + i >= axis.from;
    double weight = options.method == Method::kLinear ? linear_weight(t)
                                                      : cubic_weight(static_cast<double>(options.cubic), t);
    if (outside && options.exclude_outside) weight = 0;
    sum += weight;
    taps.weights.push_back(weight);
  }
  if ((options.antialias || options.exclude_outside) && sum != 0)
    for (double& weight : taps.weights) weight /= sum;
  return taps;
}

struct Table {
  int64_t taps = 0;
  Ints indices;                 // [taps, to]
  std::vector<double> weights;  // the same
};

Table table_of(const ResizeOptions& options, const ResizedAxis& axis) {
  std::vector<Taps> all;
  size_t most = 1;
  for (int64_t o = 0; o < axis.to; ++o) {
    Taps taps = taps_at(options, axis, coordinate(options, axis, o));
    // What lies outside counts as the outermost element, and weights of one element are added up.
    Taps inside{std::clamp<int64_t>(taps.first, 0, axis.from - 1), {}};
    for (size_t t = 0; t < taps.weights.size(); ++t) {
      const int64_t at =
          std::clamp<int64_t>(taps.first + static_cast<int64_t>(t), 0, axis.from - 1) - inside.first;
      if (static_cast<size_t>(at) >= inside.weights.size())
        inside.weights.resize(static_cast<size_t>(at) + 1);
      inside.weights[static_cast<size_t>(at)] += taps.weights[t];
    }
    while (inside.weights.size() > 1 && inside.weights.back() == 0) inside.weights.pop_back();
    while (inside.weights.size() > 1 && inside.weights.front() == 0) {
      inside.weights.erase(inside.weights.begin());
      ++inside.first;
    }
    most = std::max(most, inside.weights.size());
    all.push_back(std::move(inside));
  }
  Table table{static_cast<int64_t>(most), Ints(most * all.size()), std::vector<double>(most * all.size())};
  for (size_t t = 0; t < most; ++t) {
    for (size_t o = 0; o < all.size(); ++o) {
      const bool used = t < all[o].weights.size();
      table.indices[t * all.size() + o] = all[o].first + (used ? static_cast<int64_t>(t) : 0);
      table.weights[t * all.size() + o] = used ? all[o].weights[t] : 0;
    }
  }
  return table;
}

absl::StatusOr<ResizeOptions> read_options(NodeReader& node) {
  ResizeOptions options;
  TF_ASSIGN_OR_RETURN(const std::string mode, node.string_attribute("mode", "nearest"));
  if (mode == "linear" || (mode == "bilinear" && node.opset() < 7)) {
    options.method = Method::kLinear;
  } else if (mode == "cubic" && node.op_type() == "Resize" && node.opset() >= 11) {
    options.method = Method::kCubic;
  } else if (mode != "nearest") {
    return node.invalid(absl::StrCat("attribute 'mode' is '", mode, "'"));
  }
  if (node.op_type() == "Upsample" || node.opset() < 11) {
    options.coordinates = "asymmetric";
    options.rounding = kOldRounding;
    return options;
  }
  TF_ASSIGN_OR_RETURN(options.coordinates,
                      node.string_attribute("coordinate_transformation_mode", options.coordinates));
  TF_ASSIGN_OR_RETURN(options.rounding, node.string_attribute("nearest_mode", options.rounding));
  TF_ASSIGN_OR_RETURN(const double cubic, node.float_attribute("cubic_coeff_a", -0.75));
  options.cubic = static_cast<float>(cubic);
  TF_ASSIGN_OR_RETURN(options.extrapolation, node.float_attribute("extrapolation_value", 0));
  TF_ASSIGN_OR_RETURN(const int64_t exclude, node.int_attribute("exclude_outside", 0));
  TF_ASSIGN_OR_RETURN(const int64_t antialias, node.int_attribute("antialias", 0));
  options.exclude_outside = exclude != 0;
  options.antialias = antialias != 0;
  constexpr std::array kCoordinates = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                       "align_corners", "asymmetric",           "tf_crop_and_resize"};
  const bool of_set_11 = options.coordinates == "tf_half_pixel_for_nn" && node.opset() < 13;
  if (std::ranges::find(kCoordinates, options.coordinates) == kCoordinates.end() && !of_set_11)
    return node.invalid(
        absl::StrCat("attribute 'coordinate_transformation_mode' is '", options.coordinates, "'"));
  constexpr std::array kRoundings = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  if (std::ranges::find(kRoundings, options.rounding) == kRoundings.end())
    return node.invalid(absl::StrCat("attribute 'nearest_mode' is '", options.rounding, "'"));
  return options;
}

// From scales: rounded down, computed in f32 as everything else.
absl::Status set_scales(NodeReader& node, const std::vector<double>& scales, std::vector<ResizedAxis>& axes) {
  if (scales.size() != axes.size())
    return node.invalid(absl::StrCat("it has ", scales.size(), " scales for ", axes.size(), " axes"));
  for (size_t k = 0; k < axes.size(); ++k) {
    axes[k].scale = static_cast<float>(scales[k]);
    if (!(axes[k].scale > 0)) return node.invalid(absl::StrCat("a scale of ", scales[k]));
    const float to = std::floor(static_cast<float>(axes[k].from) * axes[k].scale);
    if (to > 0x1p31F) return node.invalid(absl::StrCat("a scale of ", scales[k]));
    axes[k].to = static_cast<int64_t>(to);
  }
  return absl::OkStatus();
}

absl::Status set_sizes(NodeReader& node, const Ints& sizes, std::vector<ResizedAxis>& axes) {
  TF_ASSIGN_OR_RETURN(const std::string policy, node.string_attribute("keep_aspect_ratio_policy", "stretch"));
  if (sizes.size() != axes.size())
    return node.invalid(absl::StrCat("it has ", sizes.size(), " sizes for ", axes.size(), " axes"));
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return node.invalid(absl::StrCat("attribute 'keep_aspect_ratio_policy' is '", policy, "'"));
  for (size_t k = 0; k < axes.size(); ++k) {
    if (sizes[k] < 0 || sizes[k] > INT32_MAX || (axes[k].from == 0 && sizes[k] > 0))
      return node.invalid(absl::StrCat("a size of ", sizes[k], " from ", axes[k].from));
    axes[k].to = sizes[k];
    axes[k].scale = axes[k].from == 0 ? 1 : static_cast<float>(sizes[k]) / static_cast<float>(axes[k].from);
  }
  if (policy == "stretch" || axes.empty()) return absl::OkStatus();
  float common = axes[0].scale;
  for (const ResizedAxis& axis : axes)
    common = policy == "not_larger" ? std::min(common, axis.scale) : std::max(common, axis.scale);
  for (ResizedAxis& axis : axes) {
    axis.scale = common;
    const float to = std::floor(common * static_cast<float>(axis.from) + 0.5F);
    if (to > 0x1p31F) return node.invalid("a size beyond 2^31");
    axis.to = static_cast<int64_t>(to);
  }
  return absl::OkStatus();
}

// The part of x that tf_crop_and_resize sees: all starts, then all ends.
absl::Status set_roi(NodeReader& node, std::vector<ResizedAxis>& axes) {
  if (!node.has(1)) return node.invalid("its region of interest (operand 1) is missing");
  TF_ASSIGN_OR_RETURN(const std::vector<double> roi, node.constant_floats(1, "region of interest"));
  if (roi.size() != 2 * axes.size())
    return node.invalid("its region of interest does not have two entries per axis");
  for (size_t k = 0; k < axes.size(); ++k) {
    axes[k].start = static_cast<float>(roi[k]);
    axes[k].end = static_cast<float>(roi[k + axes.size()]);
  }
  return absl::OkStatus();
}

bool has_elements(NodeReader& node, int i) {
  if (!node.has(i)) return false;
  const auto id = node.input(i);
  return id.ok() && element_count(node.graph().shape(*id)).value_or(0) > 0;
}

// The axes that are resized, with their new extents.
absl::StatusOr<std::vector<ResizedAxis>> read_axes(NodeReader& node, NodeId x, const ResizeOptions& options) {
  const int rank = node.rank(x);
  Ints numbers(rank);
  std::iota(numbers.begin(), numbers.end(), 0);
  TF_ASSIGN_OR_RETURN(numbers, node.ints_attribute("axes", std::move(numbers)));
  TF_ASSIGN_OR_RETURN(numbers, node.axes(std::move(numbers), rank));
  const Ints shape = node.graph().shape(x);
  std::vector<ResizedAxis> axes;
  for (int64_t axis : numbers) {
    if (std::ranges::find(axes, axis, &ResizedAxis::axis) != axes.end())
      return node.invalid(absl::StrCat("axis ", axis, " is named twice"));
    axes.push_back({axis, shape[axis], shape[axis]});
  }
  const bool old = node.op_type() == "Upsample" || node.opset() < 11;
  const int scales_at = old ? 1 : 2;
  std::vector<double> scales;
  if (node.op_type() == "Upsample" && node.opset() < 7) {
    TF_ASSIGN_OR_RETURN(const double height, node.float_attribute("height_scale", 0));
    TF_ASSIGN_OR_RETURN(const double width, node.float_attribute("width_scale", 0));
    if (rank != 4) return node.invalid("it needs an input of rank 4");
    scales = {1, 1, height, width};
  } else if (node.has_attribute("scales")) {
    TF_ASSIGN_OR_RETURN(scales, node.floats_attribute("scales"));
  } else if (!old && node.has(3) && !has_elements(node, 2)) {
    TF_ASSIGN_OR_RETURN(const Ints sizes, node.constant_ints(3, "sizes"));
    TF_RETURN_IF_ERROR(set_sizes(node, sizes, axes));
  } else {
    TF_ASSIGN_OR_RETURN(scales, node.constant_floats(scales_at, "scales"));
  }
  if (!scales.empty() || axes.empty()) TF_RETURN_IF_ERROR(set_scales(node, scales, axes));
  if (options.coordinates == "tf_crop_and_resize") TF_RETURN_IF_ERROR(set_roi(node, axes));
  return axes;
}

// Whether the axis stays as it is, whatever the method.
bool is_kept(const ResizeOptions& options, const ResizedAxis& axis) {
  if (axis.from != axis.to) return false;
  if (axis.to == 0 || (axis.scale == 1 && options.coordinates != "tf_crop_and_resize")) return true;
  const Table table = table_of(options, axis);
  bool kept = table.taps == 1;
  for (int64_t o = 0; kept && o < axis.to; ++o) kept = table.indices[o] == o && table.weights[o] == 1;
  return kept;
}

class Resizing {
 public:
  Resizing(NodeReader& node, const ResizeOptions& options) : node_(node), options_(options) {}

  // The nearest elements of all axes at once; sums of several axis by axis, which is less work.
  Result resized(NodeId x, std::vector<ResizedAxis> axes) {
    const bool weighted = options_.method != Method::kNearest;
    constexpr size_t kMostAxes = 3;  // of one kernel
    const size_t together = weighted ? 1 : kMostAxes;
    if (weighted) put_in_order(axes);
    for (size_t first = 0; first < axes.size(); first += together) {
      Resample op{{}, weighted};
      std::vector<NodeId> operands = {x};
      for (size_t k = first; k < std::min(first + together, axes.size()); ++k) {
        op.axes.push_back(axes[k].axis);
        TF_RETURN_IF_ERROR(add_table(axes[k], node_.type(x).element, operands));
      }
      TF_ASSIGN_OR_RETURN(x, node_.emit(std::move(op), std::move(operands)));
    }
    return x;
  }

  // y with the extrapolation value where a coordinate lies outside x.
  Result extrapolated(NodeId y, const std::vector<ResizedAxis>& axes) {
    for (const ResizedAxis& axis : axes) {
      Ints outside;
      for (int64_t o = 0; o < axis.to; ++o) {
        const float x = coordinate(options_, axis, o);
        outside.push_back(x < 0 || x > static_cast<float>(axis.from - 1));
      }
      if (std::ranges::find(outside, 1) == outside.end()) continue;
      Ints shape(node_.rank(y) - axis.axis, 1);
      shape[0] = axis.to;
      const NodeId mask = node_.graph().add_constant(
          tensor_type(tensor::Element::kBool, shape),
          std::make_shared<const Blob>(write_integers(tensor::Element::kBool, outside)), "outside");
      TF_ASSIGN_OR_RETURN(
          y, node_.emit(Where{}, {mask, node_.scalar(options_.extrapolation, node_.type(y).element), y}));
    }
    return y;
  }

 private:
  // What shrinks first, from the outermost axis on. Then what grows, from the innermost axis on: there elements are picked
  // one by one, while the others' lie next to each other.
  static void put_in_order(std::vector<ResizedAxis>& axes) {
    std::ranges::sort(axes, {}, &ResizedAxis::axis);
    const auto growing = std::stable_partition(axes.begin(), axes.end(),
                                               [](const ResizedAxis& axis) { return axis.to < axis.from; });
    std::reverse(growing, axes.end());
  }

  absl::Status add_table(const ResizedAxis& axis, tensor::Element element, std::vector<NodeId>& operands) {
    const Table table = table_of(options_, axis);
    const auto add = [&](tensor::Element of, std::string bytes) {
      operands.push_back(node_.graph().add_constant(tensor_type(of, Ints{table.taps, axis.to}),
                                                    std::make_shared<const Blob>(std::move(bytes)),
                                                    "resample"));
    };
    const bool weighted = options_.method != Method::kNearest;
    TF_RETURN_IF_ERROR(node_.count_made(table.taps * axis.to * (weighted ? 12 : 4)));
    add(tensor::Element::kInt32, write_integers(tensor::Element::kInt32, table.indices));
    if (weighted) add(element, write_floats(element, table.weights));
    return absl::OkStatus();
  }

  NodeReader& node_;
  const ResizeOptions& options_;
};

Result resize(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const ResizeOptions options, read_options(node));
  TF_ASSIGN_OR_RETURN(std::vector<ResizedAxis> axes, read_axes(node, x, options));
  for (const ResizedAxis& axis : axes) {
    if (axis.to > 0 && axis.from == 0)
      return node.invalid(absl::StrCat("axis ", axis.axis, " has no element"));
    // ONNX's text counts the result's elements, its tests the product before it is rounded down.
    if (options.coordinates == "align_corners" && axis.to > 1 && axis.is_rounded())
      return node.unsupported(
          "align_corners with scales that give no whole extent is not supported: give sizes");
  }
  TF_RETURN_IF_ERROR([&] {
    int64_t entries = 0;
    for (const ResizedAxis& axis : axes) entries += axis.to;
    return node.count_made(entries);
  }());
  std::erase_if(axes, [&](const ResizedAxis& axis) { return is_kept(options, axis); });
  if (axes.empty()) return node.emit(Unary{UnaryKind::kIdentity}, {x});
  const tensor::Element element = node.type(x).element;
  const bool whole = options.method != Method::kNearest && !tensor::is_float(element);
  if (whole && element == tensor::Element::kBool) return node.invalid("bool has no values in between");
  // Sums are made in f32: of halves, of whole numbers, which are cut off then. Wide numbers are summed in f64.
  NodeId y = x;
  if (options.method != Method::kNearest) {
    const bool wide = element == tensor::Element::kFloat64 || (whole && tensor::element_bytes(element) > 2);
    TF_ASSIGN_OR_RETURN(y, node.cast_to(wide ? tensor::Element::kFloat64 : tensor::Element::kFloat32, x));
  }
  Resizing resizing(node, options);
  TF_ASSIGN_OR_RETURN(y, resizing.resized(y, axes));
  if (options.coordinates == "tf_crop_and_resize") {
    TF_ASSIGN_OR_RETURN(y, resizing.extrapolated(y, axes));
  }
  return node.cast_to(element, y);
}

constexpr std::array kResizeRules = {NamedRule{"Resize", resize}, NamedRule{"Upsample", resize}};

}  // namespace

std::span<const NamedRule> resize_rules() {
  return kResizeRules;
}

}  // namespace tf::onnx
