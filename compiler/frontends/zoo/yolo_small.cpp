#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/zoo/networks.h"
#include "compiler/frontends/zoo/sequence_writer.h"

namespace tf::zoo {
namespace {

using ::onnx::TensorProto;

class YoloSmall : public SequenceWriter {
  static constexpr int64_t kSize = 256, kClasses = 20, kKept = 100, kFirstStride = 8;
  static constexpr int kLevels = 3;
  static constexpr double kOverlap = 0.3;

 public:
  explicit YoloSmall(const Options& options) : SequenceWriter("yolo_small", options, 14) {}

  std::string run() && {
    std::vector<std::string> boxes, classes;  // [batch, cells, 4], [batch, cells, classes]
    const std::vector<Feature> maps = pyramid();
    for (int i = 0; i < kLevels; ++i) {
      const std::string name = absl::StrCat("head", i);
      const Feature y = conv(name + ".conv", maps[static_cast<size_t>(i)], 64, 3, 1);
      const int64_t stride = kFirstStride << i, cells = (kSize / stride) * (kSize / stride);
      boxes.push_back(
          decoded(name, rows(net_.conv(name + ".boxes", y, {.channels = 4, .gain = 0.5}), cells), stride));
      classes.push_back(
          unary("Sigmoid", rows(net_.conv(name + ".classes", y, {.channels = kClasses}), cells)));
    }
    best_of(concat(boxes, 1), concat(classes, 1));
    return std::move(net_).bytes();
  }

 private:
  Feature conv(const std::string& name, const Feature& x, int64_t channels, int64_t kernel, int64_t stride) {
    const Feature y = net_.conv(name, x,
                                {.channels = channels,
                                 .kernel = kernel,
                                 .stride = stride,
                                 .pad = kernel / 2,
                                 .bias = false,
                                 .gain = 1.05});
    return net_.silu(net_.batch_norm(name + ".bn", y));
  }

  // A residual bottleneck on half of the channels.
  Feature stage(const std::string& name, const Feature& x) {
    const int64_t half = x.channels / 2;
    const Feature side = conv(name + ".side", x, half, 1, 1), main = conv(name + ".main", x, half, 1, 1);
    const Feature inner = conv(name + ".inner2", conv(name + ".inner1", main, half, 1, 1), half, 3, 1);
    return conv(name + ".join", net_.concat({net_.add(main, inner), side}), x.channels, 1, 1);
  }

  Feature grown(const Feature& x) {
    const std::string scales = net_.tensor(net_.unnamed("scales"), {4}, {1, 1, 2, 2}),
                      name = net_.unnamed("Resize");
    ::onnx::NodeProto& node = net_.node("Resize", name, {x.value, "", scales});
    for (const auto& [key, value] : {std::pair{"mode", "nearest"},
                                     {"coordinate_transformation_mode", "asymmetric"},
                                     {"nearest_mode", "floor"}}) {
      ::onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(key);
      attribute.set_type(::onnx::AttributeProto::STRING);
      attribute.set_s(value);
    }
    return {name, x.channels};
  }

  // Maps of strides 8, 16 and 32, the finer ones with what the coarser ones have seen.
  std::vector<Feature> pyramid() {
    Feature x = conv("stem1", net_.input({3, kSize, kSize}), 16, 3, 2);
    x = stage("stage1", conv("stem2", x, 32, 3, 2));
    std::vector<Feature> maps;
    for (int i = 0; i < kLevels; ++i) {
      x = stage(absl::StrCat("stage", i + 2), conv(absl::StrCat("down", i), x, 64 << i, 3, 2));
      maps.push_back(x);
    }
    for (int i = kLevels - 1; i-- > 0;) {
      const auto at = static_cast<size_t>(i);
      const Feature above = grown(conv(absl::StrCat("reduce", i), maps[at + 1], maps[at].channels, 1, 1));
      maps[at] = conv(absl::StrCat("merge", i), net_.concat({above, maps[at]}), maps[at].channels, 3, 1);
    }
    return maps;
  }

  // [batch, channels, height, width] → [batch, cells, channels]
  std::string rows(const Feature& map, int64_t cells) {
    return transpose(reshape(map.value, {0, map.channels, cells}), {0, 2, 1});
  }

  // Corners from offsets in the grid: centre = (2 σ(x) - ½ + cell) * stride, size = (2 σ(x))² * 2 stride.
  std::string decoded(const std::string& name, const std::string& x, int64_t stride) {
    const int64_t side = kSize / stride;
    std::vector<float> corner;
    for (int64_t i = 0; i < side * side; ++i)
      for (const int64_t cell : {i % side, i / side}) corner.push_back(static_cast<float>(cell) - 0.5f);
    const std::string grid = net_.tensor(name + ".grid", {1, side * side, 2}, corner);
    const std::string twice = binary("Mul", unary("Sigmoid", x), scalar(2));
    ::onnx::NodeProto& split =
        net_.node("Split", name + ".place", {twice, net_.integers(name + ".parts", {2, 2})});
    set_int(split, "axis", -1);
    split.add_output(name + ".size");
    const auto scale = scalar(static_cast<double>(stride));
    const std::string centre = binary("Mul", binary("Add", name + ".place", grid), scale);
    const std::string half = binary("Mul", binary("Mul", name + ".size", name + ".size"), scale);
    return concat({binary("Sub", centre, half), binary("Add", centre, half)}, -1);
  }

  std::string reduce(const std::string& op, const std::string& x, int64_t axis) {
    const std::string name = net_.unnamed(op);
    ::onnx::NodeProto& node = net_.node(op, name, {x});
    op == "ArgMax" ? set_int(node, "axis", axis) : set_ints(node, "axes", {axis});
    set_int(node, "keepdims", 0);
    return name;
  }
  std::string chosen(const std::string& x, const std::string& places, int64_t axis) {
    const std::string name = net_.unnamed("GatherElements");
    set_int(net_.node("GatherElements", name, {x, places}), "axis", axis);
    return name;
  }
  std::string cast(const std::string& x, TensorProto::DataType type) {
    const std::string name = net_.unnamed("Cast");
    set_int(net_.node("Cast", name, {x}), "to", type);
    return name;
  }

  void best_of(const std::string& boxes, const std::string& scores) {
    const std::string best = reduce("ReduceMax", scores, 2), kind = reduce("ArgMax", scores, 2);
    ::onnx::NodeProto& top = net_.node("TopK", "top", {best, net_.integers("top.count", {kKept})});
    top.add_output("top.places");
    const std::string classes = chosen(kind, "top.places", 1);
    const std::string four = binary("Expand", unsqueeze("top.places", 2), net_.integers("four", {1, 1, 4}));
    const std::string corners = chosen(boxes, four, 1);
    const std::string kept = binary("Mul", "top", without_overlaps(corners, classes));
    net_.output("boxes", corners, TensorProto::FLOAT, {net_.batch(), {kKept, ""}, {4, ""}});
    net_.output("scores", kept, TensorProto::FLOAT, {net_.batch(), {kKept, ""}});
    net_.output("classes", classes, TensorProto::INT64, {net_.batch(), {kKept, ""}});
  }

  // 1 for the boxes [batch, kept, 4] that overlap no earlier one of their class, else 0: [batch, kept].
  std::string without_overlaps(const std::string& boxes, const std::string& classes) {
    // Boxes of different classes are moved apart.
    const std::string apart = binary("Mul", cast(classes, TensorProto::FLOAT), scalar(4 * kSize));
    const std::string moved = binary("Add", boxes, unsqueeze(apart, 2));
    const auto part = [&](int64_t begin) {  // the corner at 0 or at 2
      const std::string name = net_.unnamed("Slice");
      net_.node("Slice", name,
                {moved, net_.integers(name + ".begin", {begin}), net_.integers(name + ".end", {begin + 2}),
                 net_.integers(name + ".axes", {2})});
      return name;
    };
    const std::string low = part(0), high = part(2);
    const auto product = [&](const std::string& x) { return reduce("ReduceProd", x, -1); };
    const std::string area = product(binary("Sub", high, low));
    const std::string from = binary("Max", unsqueeze(low, 1), unsqueeze(low, 2));
    const std::string to = binary("Min", unsqueeze(high, 1), unsqueeze(high, 2));
    const std::string common = product(binary("Max", binary("Sub", to, from), scalar(0)));
    const std::string all = binary("Sub", binary("Add", unsqueeze(area, 1), unsqueeze(area, 2)), common);
    // [batch, later, earlier], of which those on and after the diagonal do not count.
    const std::string overlap = binary("Div", common, all);
    ::onnx::NodeProto& earlier = net_.node("Trilu", "earlier", {overlap, below_diagonal()});
    set_int(earlier, "upper", 0);
    const std::string most = reduce("ReduceMax", "earlier", 2);
    return cast(binary("LessOrEqual", most, scalar(kOverlap)), TensorProto::FLOAT);
  }
  std::string below_diagonal() {
    return binary("Squeeze", net_.integers("diagonal", {-1}), net_.integers("diagonal.axes", {0}));
  }
};

}  // namespace

std::string yolo_small(const Options& options) {
  return YoloSmall(options).run();
}

}  // namespace tf::zoo
