#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/zoo/network_writer.h"
#include "compiler/frontends/zoo/networks.h"

namespace tf::zoo {

std::string unet(const Options& options) {
  constexpr int64_t kSize = 256, kWidth = 32, kClasses = 2;
  constexpr int kDepth = 4;
  NetworkWriter net("unet", options);
  const auto twice = [&](const std::string& name, Feature x, int64_t channels) {
    for (int i = 1; i <= 2; ++i) {
      const std::string layer = absl::StrCat(name, ".conv", i);
      x = net.conv(layer, x, {.channels = channels, .kernel = 3, .pad = 1, .bias = false});
      x = net.relu(net.batch_norm(layer + ".bn", x));
    }
    return x;
  };
  const auto grown = [&](const std::string& name, const Feature& x) {
    const int64_t channels = x.channels / 2;
    const double deviation = std::sqrt(2.0 / static_cast<double>(x.channels));
    ::onnx::NodeProto& node =
        net.node("ConvTranspose", name,
                 {x.value,
                  net.tensor(name + ".weight", {x.channels, channels, 2, 2},
                             net.normal(x.channels * channels * 4, 0, deviation)),
                  net.tensor(name + ".bias", {channels}, net.normal(channels, 0, 0.1))});
    set_ints(node, "kernel_shape", {2, 2});
    set_ints(node, "strides", {2, 2});
    return Feature{name, channels};
  };
  std::vector<Feature> levels;
  Feature x = twice("down0", net.input({3, kSize, kSize}), kWidth);
  for (int i = 1; i <= kDepth; ++i) {
    levels.push_back(x);
    x = twice(absl::StrCat("down", i), net.max_pool(x, {.kernel = 2, .stride = 2}), kWidth << i);
  }
  for (int i = kDepth; i-- > 0;) {
    x = net.concat({levels[static_cast<size_t>(i)], grown(absl::StrCat("grow", i), x)});
    x = twice(absl::StrCat("up", i), x, kWidth << i);
  }
  x = net.conv("logits", x, {.channels = kClasses});
  return std::move(net).finish(x.value, {kClasses, kSize, kSize});
}

}  // namespace tf::zoo
