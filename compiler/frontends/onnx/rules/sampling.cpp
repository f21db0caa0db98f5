// GridSample, AffineGrid and DeformConv.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"
#include "compiler/frontends/onnx/window.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;
using tensor::Element;

enum class Beyond { kZeros, kBorder, kReflection };

struct GridOptions {
  int64_t order = 1;  // of the interpolation: 0 nearest, 1 linear, 3 cubic
  Beyond beyond = Beyond::kZeros;
  bool align_corners = false;  // -1 and 1 are the centers of the outermost elements, not their outer edges
};

absl::StatusOr<GridOptions> read_grid_options(NodeReader& node) {
  // The methods were called otherwise before operator set 20.
  const bool old = node.opset() < 20;
  TF_ASSIGN_OR_RETURN(const std::string mode, node.string_attribute("mode", old ? "bilinear" : "linear"));
  TF_ASSIGN_OR_RETURN(const std::string padding, node.string_attribute("padding_mode", "zeros"));
  TF_ASSIGN_OR_RETURN(const int64_t align, node.int_attribute("align_corners", 0));
  GridOptions options{1, Beyond::kZeros, align != 0};
  if (mode == "nearest") {
    options.order = 0;
  } else if (mode == (old ? "bicubic" : "cubic")) {
    options.order = 3;
  } else if (mode != (old ? "bilinear" : "linear")) {
    return node.invalid(absl::StrCat("attribute 'mode' is '", mode, "'"));
  }
  if (padding == "border") {
    options.beyond = Beyond::kBorder;
  } else if (padding == "reflection") {
    options.beyond = Beyond::kReflection;
  } else if (padding != "zeros") {
    return node.invalid(absl::StrCat("attribute 'padding_mode' is '", padding, "'"));
  }
  return options;
}

// One axis of what is sampled.
class GridAxis {
 public:
  GridAxis(const GridOptions& options, int64_t extent)
      : options_(options),
        size_(static_cast<double>(extent)),
        low_(options.align_corners ? 0 : -0.5),
        high_(options.align_corners ? size_ - 1 : size_ - 0.5) {}

  // From [-1, 1] to elements. Where what lies beyond x is not zero, linear interpolation takes the place into x, and cubic
  // interpolation each element that it reads.
  Term place(const Term& v) const {
    Term place = options_.align_corners ? (v + 1.0) * ((size_ - 1) / 2) : ((v + 1.0) * size_ - 1.0) * 0.5;
    if (options_.order == 0) place = round(place);
    if (options_.order == 3 || options_.beyond == Beyond::kZeros) return place;
    return where(is_outside(place), options_.beyond == Beyond::kBorder ? clamped(place) : reflected(place),
                 place);
  }

  // Whether x has the element, and the one that stands for it.
  Term inside(const Term& whole) const { return both(0.0 <= whole, whole < size_); }
  Term element(Term whole) const {
    if (options_.beyond == Beyond::kReflection)
      whole = where(is_outside(whole), floor(reflected(whole)), whole);
    return cast(clamped(whole), Element::kInt32);
  }

  // The weight of an element so far from the place.
  Term weight(const Term& t) const {
    if (options_.order == 1) return 1.0 - t;
    // Keys 1981, with a = -0.75 in the place of -1/2.
    constexpr double a = -0.75;
    const Term near = ((a + 2) * t - (a + 3)) * t * t + 1.0;
    const Term far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
    return where(t <= 1.0, near, far);
  }

 private:
  Term is_outside(const Term& v) const { return either(v < low_, high_ < v); }
  Term clamped(const Term& v) const { return max(min(v, size_ - 1), 0.0); }

  // Mirrored at the borders as often as it takes.
  Term reflected(const Term& v) const {
    const double range = std::max(high_ - low_, 1e-6);
    const Term below = v < low_;
    const Term apart = where(below, low_ - v, v - high_);
    const Term turns = floor(apart / range);
    const Term rest = apart - turns * range;
    const Term is_even = equal(floor(turns * 0.5) * 2.0, turns);
    const Term from_low = low_ + rest, from_high = high_ - rest;
    return where(below, where(is_even, from_low, from_high), where(is_even, from_high, from_low));
  }

  const GridOptions& options_;
  const double size_, low_, high_;
};

// What Sample reads: places and weights, each [taps, batches, places].
struct Sampled {
  Term places;
  std::optional<Term> weights;
};

// At places [1, batches, places] along each of the spatial axes of x.
Sampled sampled_at(const GridOptions& options, const std::vector<Term>& places, const Ints& shape) {
  Formula& f = places[0].formula();
  const size_t spatial = places.size();
  const int64_t each = options.order + 1;
  int64_t taps = 1;
  for (size_t d = 0; d < spatial; ++d) taps *= each;
  std::optional<Term> flat, inside, weights;
  int64_t stride = taps;
  for (size_t d = 0; d < spatial; ++d) {
    stride /= each;
    std::vector<double> offsets;
    for (int64_t t = 0; t < taps; ++t)
      offsets.push_back(static_cast<double>(t / stride % each) - (options.order == 3 ? 1 : 0));
    const GridAxis axis(options, shape[d + 2]);
    const Term& place = places[d];
    Term whole = place;
    if (options.order > 0) {
      whole = floor(place) + f.floats({taps, 1, 1}, offsets, place.element());
      const Term weight = axis.weight(abs(place - whole));
      weights = weights ? *weights * weight : weight;
    }
    if (options.beyond == Beyond::kZeros) {
      const Term exists = axis.inside(whole);
      inside = inside ? both(*inside, exists) : exists;
    }
    const Term element = axis.element(whole);
    flat = flat ? *flat * static_cast<double>(shape[d + 2]) + element : element;
  }
  return {inside ? where(*inside, *flat, -1.0) : *flat, weights};
}

std::vector<Term> places_of(const GridOptions& options, const Term& grid, const Ints& shape) {
  const Ints grid_shape = grid.shape();
  const auto spatial = static_cast<int64_t>(shape.size()) - 2;
  const int64_t count =
      std::accumulate(grid_shape.begin() + 1, grid_shape.end() - 1, int64_t{1}, std::multiplies<>());
  std::vector<Term> places;
  for (int64_t d = 0; d < spatial; ++d) {
    // The grid names the last axis first.
    const Term given = slice(grid, spatial + 1, spatial - 1 - d, 1);
    places.push_back(GridAxis(options, shape[static_cast<size_t>(d) + 2])
                         .place(reshape(given, Ints{1, grid_shape[0], count})));
  }
  return places;
}

// A feature map as rows of all spatial axes, whose places are computed in floats and held in i32.
absl::StatusOr<int64_t> elements_of_map(NodeReader& node, const Ints& shape) {
  int64_t elements = 1;
  for (size_t d = 2; d < shape.size(); ++d) {
    if (shape[d] < 1 || shape[d] >= 1 << 24 || __builtin_mul_overflow(elements, shape[d], &elements) ||
        elements > INT32_MAX)
      return node.unsupported(absl::StrCat("a map with an axis of ", shape[d], " elements is not supported"));
  }
  return elements;
}

// Rows of x [batches, channels, elements].
Term sample_of(const Term& x, const Sampled& sampled) {
  Formula& f = x.formula();
  if (!f.ok()) return x;
  Ints batches(static_cast<size_t>(x.shape()[0]));
  std::iota(batches.begin(), batches.end(), 0);
  const Term rows = f.integers({std::ssize(batches)}, batches, Element::kInt64);
  std::vector<Term> operands = {x, rows, sampled.places};
  if (sampled.weights) operands.push_back(*sampled.weights);
  return f.emit(Sample{}, operands);
}

Result grid_sample(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId grid, node.input(1));
  TF_ASSIGN_OR_RETURN(const GridOptions options, read_grid_options(node));
  const Element element = node.type(x).element;
  const Ints shape = node.graph().shape(x), grid_shape = node.graph().shape(grid);
  const int spatial = node.rank(x) - 2;
  if (spatial < (node.opset() < 20 ? 2 : 1) || spatial > (node.opset() < 20 ? 2 : 3) ||
      grid_shape.size() != shape.size() || grid_shape[0] != shape[0] || grid_shape.back() != spatial ||
      !tensor::is_float(node.type(grid).element))
    return node.invalid(
        absl::StrCat("cannot sample ", to_string(node.type(x)), " at ", to_string(node.type(grid))));
  if (options.order > 0 && !tensor::is_float(element))
    return node.unsupported(absl::StrCat("interpolation of ", to_string(node.type(x)), " is not supported"));
  TF_ASSIGN_OR_RETURN(const int64_t elements, elements_of_map(node, shape));
  const Element computed = element == Element::kFloat64 ? Element::kFloat64 : Element::kFloat32;
  Formula f(node);
  const std::vector<Term> places = places_of(options, cast(f.term(grid), computed), shape);
  if (!f.ok()) return f.status();
  Ints result(grid_shape.begin(), grid_shape.end() - 1);
  result.insert(result.begin() + 1, shape[1]);
  const Term rows = reshape(f.term(x), Ints{shape[0], shape[1], elements});
  return f.result(reshape(sample_of(rows, sampled_at(options, places, shape)), result));
}

// The shapes of a DeformConv: x [n, channels, spatial…], weights [out, channels / groups, kernel…], of which each group of
// channels has offsets of its own.
struct Deformed {
  Ints x, w, result;  // the result's spatial extents
  int64_t groups = 1, offset_groups = 1, taps = 1, count = 1;
};

absl::StatusOr<Deformed> read_deformed(NodeReader& node, const Term& x, const Term& w, const Window& window) {
  Deformed d{x.shape(), w.shape(), {}};
  TF_ASSIGN_OR_RETURN(d.groups, node.int_attribute("group", 1));
  TF_ASSIGN_OR_RETURN(d.offset_groups, node.int_attribute("offset_group", 1));
  if (d.groups < 1 || d.offset_groups < 1 || d.x[1] != d.w[1] * d.groups || d.w[0] % d.groups != 0 ||
      d.x[1] % d.offset_groups != 0)
    return node.invalid(absl::StrCat("weights ", to_string(w.type()), " in ", d.groups, " groups and ",
                                     d.offset_groups, " of offsets do not fit ", to_string(x.type())));
  for (size_t i = 0; i + 2 < d.x.size(); ++i) {
    const int64_t padded = d.x[i + 2] + window.pads_begin[i] + window.pads_end[i];
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (padded < reach)
      return node.invalid(absl::StrCat("its kernel is larger than axis ", i + 2, " of its operand"));
    d.result.push_back((padded - reach) / window.strides[i] + 1);
    d.taps *= window.kernel[i];
    d.count *= d.result.back();
  }
  return d;
}

// Where each tap of each result reads x, along each axis: [1, n * offset groups, taps * results].
std::vector<Term> deformed_places(const Deformed& d, const Window& window, const Term& offsets) {
  Formula& f = offsets.formula();
  const int64_t axes = std::ssize(d.result), rows = d.x[0] * d.offset_groups;
  Ints shape = {rows, d.taps, axes};
  shape.insert(shape.end(), d.result.begin(), d.result.end());
  const Term all = reshape(offsets, shape);
  shape.erase(shape.begin() + 2);
  std::vector<Term> places;
  int64_t inner = d.taps;
  for (size_t i = 0; i < d.result.size(); ++i) {
    inner /= window.kernel[i];
    std::vector<double> taps, starts;
    for (int64_t t = 0; t < d.taps; ++t)
      taps.push_back(static_cast<double>(t / inner % window.kernel[i] * window.dilations[i]));
    for (int64_t o = 0; o < d.result[i]; ++o)
      starts.push_back(static_cast<double>(o * window.strides[i] - window.pads_begin[i]));
    Ints along_taps(shape.size(), 1), along_result(shape.size(), 1);
    along_taps[1] = d.taps;
    along_result[i + 2] = d.result[i];
    const Term given = reshape(slice(all, 2, static_cast<int64_t>(i), 1), shape);
    const Term place = given + f.floats(along_taps, taps, offsets.element()) +
                       f.floats(along_result, starts, offsets.element());
    places.push_back(reshape(place, Ints{1, rows, d.taps * d.count}));
  }
  return places;
}

// A product of the weights with what each tap reads, linearly interpolated, times a mask. Beyond x are zeros.
Result deform_conv(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given), w = widened(f.input(1)), offsets = widened(f.input(2));
  if (!f.ok()) return f.status();
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank() || !x.is_float())
    return node.invalid("weights " + to_string(w.type()) + " do not fit " + to_string(x.type()));
  const Ints kernel = w.shape();
  TF_ASSIGN_OR_RETURN(const Window window, read_window(node, x.id(), Ints(kernel.begin() + 2, kernel.end())));
  TF_ASSIGN_OR_RETURN(const Deformed d, read_deformed(node, x, w, window));
  TF_ASSIGN_OR_RETURN(const int64_t elements, elements_of_map(node, d.x));
  const auto has_shape = [&](const Term& operand, int64_t channels) {
    Ints want = {d.x[0], channels};
    want.insert(want.end(), d.result.begin(), d.result.end());
    return operand.shape() == want;
  };
  const int64_t rows = d.x[0] * d.offset_groups, places = d.taps * d.count;
  if (!has_shape(offsets, d.offset_groups * d.taps * std::ssize(d.result)))
    return node.invalid("its offsets are " + to_string(offsets.type()));
  const Term image = reshape(x, Ints{rows, d.x[1] / d.offset_groups, elements});
  Term read = sample_of(image, sampled_at({}, deformed_places(d, window, offsets), d.x));
  if (f.has(4)) {
    const Term mask = widened(f.input(4));
    if (f.ok() && !has_shape(mask, d.offset_groups * d.taps))
      return node.invalid("its mask is " + to_string(mask.type()));
    read = read * reshape(mask, Ints{rows, 1, places});
  }
  Term y = matmul(reshape(w, Ints{d.groups, d.w[0] / d.groups, d.w[1] * d.taps}),
                  reshape(read, Ints{d.x[0], d.groups, d.w[1] * d.taps, d.count}));
  Ints result = {d.x[0], d.w[0]};
  result.insert(result.end(), d.result.begin(), d.result.end());
  y = reshape(y, result);
  if (f.has(3)) y = y + along_axis(widened(f.input(3)), 1, y.rank());
  return f.result(cast(y, given.element()));
}

// From -1 to 1: the places of the outermost elements' centers, or of their outer edges.
std::vector<double> places(int64_t extent, bool align_corners) {
  std::vector<double> places(extent);
  const auto size = static_cast<double>(extent);
  for (int64_t i = 0; i < extent; ++i) {
    const auto at = static_cast<double>(i);
    if (align_corners) {
      places[i] = extent == 1 ? -1 : -1 + 2 * at / (size - 1);
    } else {
      places[i] = (2 * at + 1) / size - 1;
    }
  }
  return places;
}

// [N, result…, spatial] = theta[N, spatial, spatial + 1] · (places of the result, 1), the last spatial axis first.
Result affine_grid(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId theta, node.input(0));
  TF_ASSIGN_OR_RETURN(const Ints size, node.constant_ints(1, "size"));
  TF_ASSIGN_OR_RETURN(const int64_t align, node.int_attribute("align_corners", 0));
  const Ints shape = node.graph().shape(theta);
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  if (spatial < 2 || spatial > 3 || shape != Ints{size[0], spatial, spatial + 1})
    return node.invalid(absl::StrCat("matrices ", to_string(node.type(theta)), " do not fit a size of ",
                                     size.size(), " entries"));
  Ints result(size.begin() + 2, size.end());
  const absl::StatusOr<int64_t> count = element_count(result);
  if (!count.ok() || *count < 1) return node.invalid("its size is invalid");
  TF_RETURN_IF_ERROR(node.count_made(*count * (spatial + 1) * 4));
  std::vector<std::vector<double>> along;
  for (int64_t extent : result) along.push_back(places(extent, align != 0));
  std::vector<double> base;
  for (int64_t i = 0; i < *count; ++i) {
    int64_t rest = i;
    for (int64_t d = spatial - 1; d >= 0; --d) {
      base.push_back(along[d][rest % result[d]]);
      rest /= result[d];
    }
    base.push_back(1);
  }
  const Element element = node.type(theta).element;
  TF_ASSIGN_OR_RETURN(theta, node.widened(theta));
  const Element wide = node.type(theta).element;
  const NodeId rows =
      node.graph().add_constant(tensor_type(wide, Ints{*count, spatial + 1}),
                                std::make_shared<const Blob>(write_floats(wide, base)), "base grid");
  TF_ASSIGN_OR_RETURN(const NodeId grid, node.emit(MatMul{false, true}, {rows, theta}));
  result.insert(result.begin(), size[0]);
  result.push_back(spatial);
  TF_ASSIGN_OR_RETURN(const NodeId y,
                      node.emit(Reshape{tensor_type(Element::kInt64, result).extents}, {grid}));
  return node.cast_to(element, y);
}

constexpr std::array kSamplingRules = {NamedRule{"AffineGrid", affine_grid},
                                       NamedRule{"DeformConv", deform_conv},
                                       NamedRule{"GridSample", grid_sample}};

}  // namespace

std::span<const NamedRule> sampling_rules() {
  return kSamplingRules;
}

}  // namespace tf::onnx
