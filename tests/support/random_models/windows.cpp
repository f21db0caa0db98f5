// Operators on windows and places of maps: convolutions, pools, resizing, sampling.
#include <algorithm>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

// Extents of a kernel, and the attributes of its window, each of which may be left out.
struct Window {
  Shape kernel, strides, dilations, pads;
  std::string auto_pad;  // or empty
  int64_t span(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

Window window(RandomModel& m, int64_t axes, bool can_dilate) {
  Window w;
  const bool dilates = can_dilate && m.one_in(3);
  for (int64_t i = 0; i < axes; ++i) {
    w.kernel.push_back(m.pick(Shape{1, 2, 3, 3, 5}));
    w.strides.push_back(m.pick(Shape{1, 1, 2, 3}));
    w.dilations.push_back(dilates ? m.between(1, 3) : 1);
  }
  if (m.one_in(4)) w.auto_pad = m.pick({"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"});
  const bool pads = m.flip() && (w.auto_pad.empty() || w.auto_pad == "NOTSET");
  for (int64_t side = 0; side < 2; ++side)
    for (size_t i = 0; i < w.kernel.size(); ++i)
      w.pads.push_back(pads ? m.between(0, std::min<int64_t>(w.kernel[i] - 1, 3)) : 0);
  return w;
}

Shape map_of(RandomModel& m, const Window& w, int64_t batch, int64_t channels) {
  Shape shape = {batch, channels};
  const int64_t most = w.kernel.size() >= 3 ? 5 : w.kernel.size() == 2 ? 9 : 17;
  for (size_t i = 0; i < w.kernel.size(); ++i) shape.push_back(std::max(w.span(i), m.extent(most)));
  return shape;
}

void set_window(RandomModel& m, ::onnx::NodeProto& node, const Window& w, bool kernel_is_known) {
  const auto is_one = [](int64_t v) { return v == 1; };
  if (!kernel_is_known || m.flip()) set(node, "kernel_shape", w.kernel);
  if (!std::ranges::all_of(w.strides, is_one) || m.flip()) set(node, "strides", w.strides);
  if (!std::ranges::all_of(w.dilations, is_one)) set(node, "dilations", w.dilations);
  if (!w.auto_pad.empty()) set(node, "auto_pad", w.auto_pad);
  if (std::ranges::any_of(w.pads, [](int64_t v) { return v != 0; })) set(node, "pads", w.pads);
}

void conv(RandomModel& m) {
  const Window w = window(m, m.pick(Shape{1, 2, 2, 2, 3}), true);
  const int64_t group = m.pick(Shape{1, 1, 1, 2, 3, 4});
  const int64_t per_group = m.one_in(3) ? 1 : m.extent(9), out = group * (m.one_in(3) ? 1 : m.extent(9));
  const int type = m.type("ffffhd");
  std::vector<std::string> inputs = {m.operand(type, map_of(m, w, m.between(1, 2), group * per_group))};
  Shape weights = {out, per_group};
  weights.insert(weights.end(), w.kernel.begin(), w.kernel.end());
  inputs.push_back(m.constant(type, weights));
  if (m.flip()) inputs.push_back(m.constant(type, {out}));
  auto& node = m.node("Conv", inputs);
  set_window(m, node, w, true);
  if (group > 1 || m.one_in(4)) set(node, "group", group);
}

void conv_transpose(RandomModel& m) {
  Window w = window(m, m.pick(Shape{1, 2, 2, 3}), true);
  const int64_t group = m.pick(Shape{1, 1, 2, 3});
  const int64_t per_group = m.extent(5), in = group * m.extent(5);
  const int type = m.type("fffd");
  const Shape map = map_of(m, w, m.between(1, 2), in);
  std::vector<std::string> inputs = {m.operand(type, map)};
  Shape weights = {in, per_group};
  weights.insert(weights.end(), w.kernel.begin(), w.kernel.end());
  inputs.push_back(m.constant(type, weights));
  if (m.flip()) inputs.push_back(m.constant(type, {group * per_group}));
  Shape more, extents;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    more.push_back(m.below(std::max(w.strides[i], w.dilations[i])));
    extents.push_back(w.strides[i] * (map[i + 2] - 1) + w.span(i) - m.below(std::min<int64_t>(3, w.span(i))));
  }
  auto& node = m.node("ConvTranspose", inputs);
  if (m.one_in(5)) {
    w.auto_pad.clear();
    w.pads.assign(w.pads.size(), 0);
    set(node, "output_shape", extents);
    if (m.flip()) set(node, "auto_pad", m.pick({"SAME_UPPER", "SAME_LOWER"}));
  } else if (m.one_in(3)) {
    set(node, "output_padding", more);
  }
  set_window(m, node, w, true);
  if (group > 1 || m.one_in(4)) set(node, "group", group);
}

void max_pool(RandomModel& m) {
  const Window w = window(m, m.pick(Shape{1, 2, 2, 3}), m.opset() >= 10);
  const int type = m.type(m.opset() >= 12 ? "fhdbB" : "fhd");
  const bool has_places = m.opset() >= 8 && m.one_in(3);
  const std::string x = m.operand(type, map_of(m, w, m.between(1, 2), m.extent(5)),
                                  has_places ? Fill::kDistinct : Fill::kSmall);
  auto& node = m.node("MaxPool", {x}, has_places ? 2 : 1);
  set_window(m, node, w, false);
  if (m.opset() >= 10 && m.one_in(3)) set(node, "ceil_mode", 1);
  if (has_places && m.one_in(3)) set(node, "storage_order", 1);
}

void average_pool(RandomModel& m) {
  const Window w = window(m, m.pick(Shape{1, 2, 2, 3}), m.opset() >= 19);
  const std::string x = m.operand(m.type("fhd"), map_of(m, w, m.between(1, 2), m.extent(5)));
  auto& node = m.node("AveragePool", {x});
  set_window(m, node, w, false);
  if (m.opset() >= 10 && m.one_in(3)) set(node, "ceil_mode", 1);
  if (m.flip()) set(node, "count_include_pad", m.below(2));
}

void lp_pool(RandomModel& m) {
  const Window w = window(m, m.pick(Shape{1, 2, 2, 3}), m.opset() >= 18);
  const std::string x = m.operand(1, map_of(m, w, m.between(1, 2), m.extent(5)));
  auto& node = m.node("LpPool", {x});
  set_window(m, node, w, false);
  if (m.opset() >= 18 && m.one_in(3)) set(node, "ceil_mode", 1);
  if (m.flip()) set(node, "p", m.between(1, 3));
}

void global_pool(RandomModel& m) {
  const std::string op_type = m.pick({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"});
  auto& node = m.node(op_type, {m.operand(m.type(op_type == "GlobalLpPool" ? "f" : "fhd"), m.shape(3, 5))});
  if (op_type == "GlobalLpPool" && m.flip()) set(node, "p", m.between(1, 3));
}

void max_unpool(RandomModel& m) {
  Window w = window(m, m.between(1, 2), false);
  w.auto_pad.clear();
  w.pads.assign(w.pads.size(), 0);
  const std::string x = m.operand(1, map_of(m, w, m.between(1, 2), m.extent(4)), Fill::kDistinct);
  auto& pool = m.node("MaxPool", {x}, 2);
  set(pool, "kernel_shape", w.kernel);
  set(pool, "strides", w.kernel);
  const std::vector<std::string> pooled = m.results();
  auto& node = m.node("MaxUnpool", {pooled[0], pooled[1]});
  set(node, "kernel_shape", w.kernel);
  set(node, "strides", w.kernel);
}

void resize(RandomModel& m) {
  const bool is_old = m.opset() < 11;
  Shape shape = {m.extent(2), m.extent(4), m.extent(9), m.extent(9)};
  if (m.one_in(3)) shape.erase(shape.begin() + 3);
  const int64_t rank = std::ssize(shape);
  std::string mode = m.pick({"nearest", "linear", "nearest", "linear", "cubic"});
  if (is_old && mode == "cubic") mode = "linear";
  if (mode == "cubic" && rank != 4) mode = "nearest";
  Shape sizes = shape;
  std::vector<double> scales(static_cast<size_t>(rank), 1);
  for (int64_t i = 2; i < rank; ++i) {
    scales[static_cast<size_t>(i)] = m.pick(std::vector<double>{2, 3, 0.5, 1.5, 1, 2.25, 0.75});
    sizes[static_cast<size_t>(i)] = m.extent(17);
  }
  const std::string x = m.operand(m.type("fffdBb"), shape);
  const auto row = [&](const std::vector<double>& values) {
    return m.reals(1, {std::ssize(values)}, values, !m.one_in(20));
  };
  if (m.opset() < 9) {
    auto& node = m.node("Upsample", {x});
    for (double& scale : scales) scale = std::max(scale, 1.0);
    set(node, "scales", scales);
    set(node, "mode", mode);
    return;
  }
  if (is_old) {
    if (m.opset() == 9)
      for (double& scale : scales) scale = std::max(scale, 1.0);
    set(m.node(m.opset() == 9 ? "Upsample" : "Resize", {x, row(scales)}), "mode", mode);
    return;
  }
  std::string coordinates = m.pick({"half_pixel", "half_pixel", "asymmetric", "align_corners",
                                    "pytorch_half_pixel", "tf_crop_and_resize"});
  if (m.opset() >= 19 && m.one_in(6)) coordinates = "half_pixel_symmetric";
  std::string roi;
  if (coordinates == "tf_crop_and_resize") {
    std::vector<double> corners(static_cast<size_t>(2 * rank), 0);
    for (int64_t i = 0; i < rank; ++i) {
      corners[static_cast<size_t>(i)] = i < 2 ? 0 : m.real(-0.2, 0.4);
      corners[static_cast<size_t>(i + rank)] = i < 2 ? 1 : m.real(0.5, 1.3);
    }
    roi = row(corners);
  }
  const bool by_sizes = m.flip();
  const bool has_axes = m.opset() >= 18 && m.one_in(3);
  if (has_axes) {
    sizes.erase(sizes.begin(), sizes.begin() + 2);
    scales.erase(scales.begin(), scales.begin() + 2);
    if (!roi.empty()) coordinates = "half_pixel", roi.clear();
  }
  std::vector<std::string> inputs = {x, roi.empty() && m.opset() < 13 ? row({}) : roi};
  if (by_sizes) {
    inputs.push_back(m.opset() < 13 ? row({}) : "");
    inputs.push_back(m.list(sizes));
  } else {
    inputs.push_back(row(scales));
  }
  auto& node = m.node("Resize", inputs);
  set(node, "mode", mode);
  if (coordinates != "half_pixel" || m.flip()) set(node, "coordinate_transformation_mode", coordinates);
  if (mode == "nearest" && m.flip())
    set(node, "nearest_mode", m.pick({"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}));
  if (mode == "cubic" && m.flip()) set(node, "cubic_coeff_a", m.pick(std::vector<double>{-0.5, -0.75}));
  if (mode == "cubic" && m.flip()) set(node, "exclude_outside", 1);
  if (coordinates == "tf_crop_and_resize" && m.flip()) set(node, "extrapolation_value", m.real(-2, 2));
  if (has_axes) {
    Shape axes;
    for (int64_t i = 2; i < rank; ++i) axes.push_back(m.signed_axis(i, rank));
    set(node, "axes", axes);
  }
  if (m.opset() >= 18 && mode != "nearest" && m.one_in(4)) set(node, "antialias", 1);
  if (m.opset() >= 18 && by_sizes && m.one_in(5))
    set(node, "keep_aspect_ratio_policy", m.pick({"stretch", "not_larger", "not_smaller"}));
}

void grid_sample(RandomModel& m) {
  const int64_t batch = m.between(1, 2);
  const bool is_volume = m.opset() >= 20 && m.one_in(4);
  const int type = m.type("fd");
  Shape map = {batch, m.extent(4), m.extent(6), m.extent(6)}, grid = {batch, m.extent(5), m.extent(5), 2};
  if (is_volume) map.push_back(m.extent(4)), grid = {batch, m.extent(4), m.extent(4), m.extent(4), 3};
  const std::string x = m.operand(type, map);
  auto& node = m.node("GridSample", {x, m.operand(type, grid, m.one_in(3) ? Fill::kSmall : Fill::kUnit)});
  const bool is_new = m.opset() >= 20;
  if (m.flip())
    set(node, "mode",
        is_volume ? m.pick({"linear", "nearest"})
        : is_new  ? m.pick({"linear", "nearest", "cubic"})
                  : m.pick({"bilinear", "nearest", "bicubic"}));
  if (m.flip()) set(node, "padding_mode", m.pick({"zeros", "border", "reflection"}));
  if (m.flip()) set(node, "align_corners", m.below(2));
}

void affine_grid(RandomModel& m) {
  const int64_t batch = m.between(1, 3);
  const bool is_volume = m.one_in(3);
  const std::string theta = m.operand(m.type("fd"), is_volume ? Shape{batch, 3, 4} : Shape{batch, 2, 3});
  Shape size = {batch, m.extent(4), m.extent(7), m.extent(7)};
  if (is_volume) size.push_back(m.extent(5));
  auto& node = m.node("AffineGrid", {theta, m.list(size)});
  if (m.flip()) set(node, "align_corners", m.below(2));
}

void roi_align(RandomModel& m) {
  const int64_t batch = m.between(1, 2), rois = m.between(1, 4);
  const std::string x = m.operand(1, {batch, m.extent(4), m.between(4, 9), m.between(4, 9)});
  std::vector<double> corners;
  Shape of;
  for (int64_t i = 0; i < rois; ++i) {
    const double a = m.real(-1, 5), b = m.real(-1, 5);
    corners.insert(corners.end(), {a, b, a + m.real(0.5, 5), b + m.real(0.5, 5)});
    of.push_back(m.below(batch));
  }
  const std::string boxes = m.reals(1, {rois, 4}, corners, m.flip());
  auto& node = m.node("RoiAlign", {x, boxes, m.whole(7, {rois}, of, m.flip())});
  if (m.flip()) set(node, "mode", m.pick({"avg", "max"}));
  if (m.flip()) set(node, "output_height", m.between(1, 4));
  if (m.flip()) set(node, "output_width", m.between(1, 4));
  if (m.flip()) set(node, "sampling_ratio", m.between(0, 3));
  if (m.flip()) set(node, "spatial_scale", m.real(0.5, 1.5));
  if (m.opset() >= 16 && m.flip())
    set(node, "coordinate_transformation_mode", m.pick({"half_pixel", "output_half_pixel"}));
}

void max_roi_pool(RandomModel& m) {
  const int64_t batch = m.between(1, 2), regions = m.between(1, 4);
  std::vector<double> corners;
  for (int64_t i = 0; i < regions; ++i) {
    const double left = m.real(-1, 5), top = m.real(-1, 5);
    corners.insert(corners.end(), {static_cast<double>(m.below(batch)), left, top});
    corners.insert(corners.end(), {left + m.real(0, 6), top + m.real(0, 6)});
  }
  const std::string x = m.operand(1, {batch, m.extent(4), m.between(4, 9), m.between(4, 9)});
  auto& node = m.node("MaxRoiPool", {x, m.reals(1, {regions, 5}, corners, m.flip())});
  set(node, "pooled_shape", Shape{m.between(1, 4), m.between(1, 4)});
  if (m.flip()) set(node, "spatial_scale", m.real(0.5, 1.5));
}

void deform_conv(RandomModel& m) {
  const int64_t group = m.pick(Shape{1, 1, 2}), spread = m.pick(Shape{1, 1, 2}), channels = 2 * m.extent(3),
                out = group * m.extent(4), batch = m.between(1, 2);
  const Shape kernel = {m.between(1, 3), m.between(1, 3)}, image = {m.between(3, 7), m.between(3, 7)},
              strides = {m.between(1, 2), m.between(1, 2)}, dilations = {1, m.between(1, 2)},
              pads = {m.below(2), m.below(2), m.below(2), 2};
  Shape offsets = {batch, 2 * spread * kernel[0] * kernel[1]};
  for (size_t d = 0; d < 2; ++d)
    offsets.push_back((image[d] + pads[d] + pads[d + 2] - dilations[d] * (kernel[d] - 1) - 1) / strides[d] +
                      1);
  Shape mask = offsets;
  mask[1] /= 2;
  std::vector<std::string> inputs = {m.operand(1, {batch, channels, image[0], image[1]}),
                                     m.constant(1, {out, channels / group, kernel[0], kernel[1]})};
  inputs.push_back(m.operand(1, offsets));
  if (m.flip()) {
    inputs.push_back(m.flip() ? m.constant(1, {out}) : "");
    inputs.push_back(m.operand(1, mask, Fill::kUnit));
  }
  auto& node = m.node("DeformConv", inputs);
  set(node, "pads", pads), set(node, "strides", strides), set(node, "dilations", dilations);
  set(node, "group", group), set(node, "offset_group", spread);
}

void col2im(RandomModel& m) {
  // Of one axis, ONNX Runtime adds other elements where it dilates.
  const int64_t axes = m.between(1, 2);
  Window w = window(m, axes, axes == 2);
  w.auto_pad.clear();
  Shape image;
  int64_t blocks = 1;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    image.push_back(w.span(i) + m.below(7));
    blocks *= (image[i] + w.pads[i] + w.pads[i + w.kernel.size()] - w.span(i)) / w.strides[i] + 1;
  }
  const std::string x = m.operand(1, {m.between(1, 2), m.extent(4) * count_of(w.kernel), blocks});
  const std::string extents = m.list(image);
  auto& node = m.node("Col2Im", {x, extents, m.list(w.kernel)});
  set(node, "strides", w.strides);
  set(node, "dilations", w.dilations);
  set(node, "pads", w.pads);
}

}  // namespace

RandomOperators window_operators() {
  return {{"Conv", 7, conv},
          {"ConvTranspose", 7, conv_transpose},
          {"MaxPool", 7, max_pool},
          {"AveragePool", 7, average_pool},
          {"LpPool", 7, lp_pool},
          {"GlobalPool", 7, global_pool},
          {"MaxUnpool", 9, max_unpool},
          {"Resize", 7, resize},
          {"GridSample", 16, grid_sample},
          {"AffineGrid", 20, affine_grid},
          {"RoiAlign", 10, roi_align},
          {"MaxRoiPool", 7, max_roi_pool},
          {"DeformConv", 19, deform_conv},
          {"Col2Im", 18, col2im}};
}

}  // namespace tf::onnx
