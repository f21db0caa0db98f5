// Regions of interest: bins of a map's elements, each the mean or the greatest of samples in between them.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

struct RegionOptions {
  std::string mode;
  int64_t bins[2] = {1, 1};  // of y, of x
  int64_t samples = 1;       // of a bin, along each axis
  double scale = 1;
  bool half_pixel = true;
};

absl::StatusOr<RegionOptions> read_region_options(NodeReader& node) {
  RegionOptions options;
  TF_ASSIGN_OR_RETURN(options.mode, node.string_attribute("mode", "avg"));
  TF_ASSIGN_OR_RETURN(options.bins[0], node.int_attribute("output_height", 1));
  TF_ASSIGN_OR_RETURN(options.bins[1], node.int_attribute("output_width", 1));
  TF_ASSIGN_OR_RETURN(options.samples, node.int_attribute("sampling_ratio", 0));
  TF_ASSIGN_OR_RETURN(options.scale, node.float_attribute("spatial_scale", 1));
  const char* otherwise = node.opset() < 16 ? "output_half_pixel" : "half_pixel";
  TF_ASSIGN_OR_RETURN(const std::string coordinates,
                      node.string_attribute("coordinate_transformation_mode", otherwise));
  options.half_pixel = coordinates == "half_pixel";
  if (options.mode != "avg" && options.mode != "max")
    return node.invalid(absl::StrCat("attribute 'mode' is '", options.mode, "'"));
  if (!options.half_pixel && coordinates != "output_half_pixel")
    return node.invalid(absl::StrCat("attribute 'coordinate_transformation_mode' is '", coordinates, "'"));
  for (int64_t bins : options.bins)
    if (bins < 1 || bins > INT16_MAX) return node.invalid(absl::StrCat("an output of ", bins, " elements"));
  if (options.samples == 0)
    return node.unsupported(
        "a sampling ratio of 0, which takes more samples of larger regions, is not supported");
  if (options.samples < 0 || options.samples > 64)
    return node.unsupported(absl::StrCat("a sampling ratio of ", options.samples, " is not supported"));
  return options;
}

// Which of `modulus` each tap or place is, counted in steps of `divisor`.
std::vector<double> numbered(int64_t count, int64_t divisor, int64_t modulus) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i / divisor % modulus));
  return numbers;
}

// What the taps read along one axis, [taps, regions, bins] each.
struct RegionTaps {
  Term element, weight, exists;
};

// Taps are (sample of y, sample of x, element of y, element of x), places are (bin of y, bin of x).
RegionTaps region_taps(const RegionOptions& options, const Term& regions, int64_t count, int64_t extent,
                       int axis) {
  Formula& f = regions.formula();
  const auto size = static_cast<double>(extent);
  const int64_t taps = options.samples * options.samples * 4, places = options.bins[0] * options.bins[1];
  // Regions are x1, y1, x2, y2.
  const auto corner = [&](int which) {
    return reshape(slice(regions, 1, which, 1), Ints{1, count, 1}) * options.scale -
           (options.half_pixel ? 0.5 : 0);
  };
  const Term start = corner(1 - axis);
  Term span = corner(3 - axis) - start;
  if (!options.half_pixel) span = max(span, 1.0);
  const Term bin = span / static_cast<double>(options.bins[axis]);
  std::vector<double> parts = numbered(taps, axis == 0 ? 4 * options.samples : 4, options.samples);
  for (double& part : parts) part = (part + 0.5) / static_cast<double>(options.samples);
  const Term number =
      f.floats({1, 1, places}, numbered(places, axis == 0 ? options.bins[1] : 1, options.bins[axis]),
               regions.element());
  const Term place = start + bin * (number + f.floats({taps, 1, 1}, parts, regions.element()));
  // The second of two neighbours has the weight that the first one leaves.
  const Term near = max(min(place, size - 1), 0.0);
  const Term first = floor(near), part = near - first;
  const Term second = f.floats({taps, 1, 1}, numbered(taps, axis == 0 ? 2 : 1, 2), regions.element());
  return {cast(min(first + second, size - 1), tensor::Element::kInt32),
          where(equal(second, 0.0), 1.0 - part, part), both(-1.0 <= place, place <= size)};
}

Result roi_align(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId regions, node.input(1));
  TF_ASSIGN_OR_RETURN(const NodeId batches, node.input(2));
  TF_ASSIGN_OR_RETURN(const RegionOptions options, read_region_options(node));
  const Ints shape = node.graph().shape(x), region_shape = node.graph().shape(regions);
  const tensor::Element element = node.type(x).element;
  if (shape.size() != 4 || region_shape.size() != 2 || region_shape[1] != 4 ||
      node.graph().shape(batches) != Ints{region_shape[0]} || !tensor::is_float(element) ||
      node.type(regions).element != element)
    return node.invalid(
        absl::StrCat("regions ", to_string(node.type(regions)), " do not fit ", to_string(node.type(x))));
  const int64_t elements = shape[2] * shape[3];
  if (elements < 1 || elements > INT32_MAX || std::max(shape[2], shape[3]) >= 1 << 24)
    return node.unsupported(absl::StrCat("maps of ", elements, " elements are not supported"));
  const tensor::Element computed =
      element == tensor::Element::kFloat64 ? tensor::Element::kFloat64 : tensor::Element::kFloat32;
  Formula f(node);
  const Term boxes = cast(f.term(regions), computed);
  const int64_t count = region_shape[0];
  const RegionTaps down = region_taps(options, boxes, count, shape[2], 0);
  const RegionTaps across = region_taps(options, boxes, count, shape[3], 1);
  const Term flat = down.element * static_cast<double>(shape[3]) + across.element;
  const Term places = where(both(down.exists, across.exists), flat, -1.0);
  Term weights = down.weight * across.weight;
  if (options.mode == "avg") weights = weights / static_cast<double>(options.samples * options.samples);
  const Term rows = reshape(f.term(x), Ints{shape[0], shape[1], elements});
  const Term sampled =
      f.emit(Sample{options.mode == "max"}, std::vector<Term>{rows, f.term(batches), places, weights});
  return f.result(reshape(sampled, Ints{count, shape[1], options.bins[0], options.bins[1]}));
}

constexpr std::array kRoiAlignRules = {NamedRule{"RoiAlign", roi_align}};

}  // namespace

std::span<const NamedRule> roi_align_rules() {
  return kRoiAlignRules;
}

}  // namespace tf::onnx
