#include "compiler/onnx/zoo.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/onnx/network_writer.h"

namespace tf::onnx {
namespace {

// Iandola et al., "SqueezeNet", 2016; version 1.1.
std::string squeezenet(const ZooOptions& options) {
  NetworkWriter net("squeezenet", options);
  auto fire = [&](const std::string& name, const Feature& x, int64_t squeeze, int64_t expand) {
    const Feature s = net.relu(net.conv(name + ".squeeze", x, {.channels = squeeze}));
    const Feature one = net.relu(net.conv(name + ".expand1x1", s, {.channels = expand}));
    const Feature three =
        net.relu(net.conv(name + ".expand3x3", s, {.channels = expand, .kernel = 3, .pad = 1}));
    return net.concat(one, three);
  };
  Feature x =
      net.relu(net.conv("conv1", net.input({3, 224, 224}), {.channels = 64, .kernel = 3, .stride = 2}));
  x = net.max_pool(x, 3, 2, 0);
  x = fire("fire3", fire("fire2", x, 16, 64), 16, 64);
  x = net.max_pool(x, 3, 2, 0);
  x = fire("fire5", fire("fire4", x, 32, 128), 32, 128);
  x = net.max_pool(x, 3, 2, 0);
  x = fire("fire7", fire("fire6", x, 48, 192), 48, 192);
  x = fire("fire9", fire("fire8", x, 64, 256), 64, 256);
  x = net.relu(net.conv("conv10", net.dropout(x), {.channels = 1000}));
  return std::move(net).finish(net.flatten(net.global_average_pool(x)));
}

// He et al., "Deep Residual Learning for Image Recognition", 2015.
std::string resnet18(const ZooOptions& options) {
  NetworkWriter net("resnet18", options);
  auto conv_bn = [&](const std::string& name, const Feature& x, ConvShape shape, double gain) {
    shape.bias = false;
    return net.batch_norm(name + ".bn", net.conv(name, x, shape), gain);
  };
  auto block = [&](const std::string& name, const Feature& x, int64_t channels, int64_t stride) {
    Feature y = net.relu(
        conv_bn(name + ".conv1", x, {.channels = channels, .kernel = 3, .stride = stride, .pad = 1}, 1));
    // Half the scale on the residual branch keeps the sum from growing with depth.
    y = conv_bn(name + ".conv2", y, {.channels = channels, .kernel = 3, .pad = 1}, 0.5);
    const bool same = stride == 1 && x.channels == channels;
    return net.relu(net.add(
        y, same ? x : conv_bn(name + ".downsample", x, {.channels = channels, .stride = stride}, 0.8)));
  };
  Feature x = net.input({3, 224, 224});
  x = net.relu(conv_bn("conv1", x, {.channels = 64, .kernel = 7, .stride = 2, .pad = 3}, 1));
  x = net.max_pool(x, 3, 2, 1);
  const std::array<int64_t, 4> channels = {64, 128, 256, 512};
  for (size_t i = 0; i < channels.size(); ++i) {
    const std::string layer = absl::StrCat("layer", i + 1);
    x = block(layer + ".0", x, channels[i], i == 0 ? 1 : 2);
    x = block(layer + ".1", x, channels[i], 1);
  }
  return std::move(net).finish(net.gemm("fc", net.flatten(net.global_average_pool(x)), 1000, 0.5));
}

// Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018.
std::string mobilenet_v2(const ZooOptions& options) {
  NetworkWriter net("mobilenet_v2", options);
  auto conv_bn = [&](const std::string& name, const Feature& x, ConvShape shape, double gain) {
    shape.bias = false;
    return net.batch_norm(name + ".bn", net.conv(name, x, shape), gain);
  };
  auto block = [&](const std::string& name, const Feature& x, int64_t expand, int64_t channels,
                   int64_t stride) {
    Feature y = x;
    if (expand != 1) y = net.relu6(conv_bn(name + ".expand", x, {.channels = x.channels * expand}, 1));
    y = net.relu6(
        conv_bn(name + ".depthwise", y,
                {.channels = y.channels, .kernel = 3, .stride = stride, .pad = 1, .groups = y.channels}, 1));
    const bool residual = stride == 1 && x.channels == channels;
    y = conv_bn(name + ".project", y, {.channels = channels}, residual ? 0.5 : 0.9);
    return residual ? net.add(x, y) : y;
  };
  struct Stage {
    int64_t expand, channels, repeat, stride;
  };
  constexpr std::array kStages = {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2},
                                  Stage{6, 64, 4, 2}, Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2},
                                  Stage{6, 320, 1, 1}};
  Feature x = net.relu6(
      conv_bn("conv1", net.input({3, 224, 224}), {.channels = 32, .kernel = 3, .stride = 2, .pad = 1}, 1));
  int count = 0;
  for (const Stage& stage : kStages) {
    for (int64_t i = 0; i < stage.repeat; ++i)
      x = block(absl::StrCat("block", ++count), x, stage.expand, stage.channels, i == 0 ? stage.stride : 1);
  }
  x = net.relu6(conv_bn("conv2", x, {.channels = 1280}, 1));
  return std::move(net).finish(net.gemm("classifier", net.flatten(net.global_average_pool(x)), 1000, 0.7));
}

std::string mlp(const ZooOptions& options) {
  NetworkWriter net("mlp", options);
  Feature x = net.input({784});
  x = net.relu(net.gemm("fc1", x, 1024, 1));
  x = net.relu(net.gemm("fc2", x, 1024, 1));
  x = net.relu(net.gemm("fc3", x, 512, 1));
  return std::move(net).finish(net.gemm("fc4", x, 10, 0.7));
}

struct Entry {
  const char* name;
  const char* description;
  std::string (*make)(const ZooOptions&);
};
constexpr std::array kEntries = {
    Entry{"mlp", "four dense layers, 784 inputs, 10 classes", mlp},
    Entry{"mobilenet_v2", "inverted residuals with depthwise convolutions, 224 x 224, 3.5 M weights",
          mobilenet_v2},
    Entry{"resnet18", "residual network of 18 layers, 224 x 224, 11.7 M weights", resnet18},
    Entry{"squeezenet", "SqueezeNet 1.1, 224 x 224, 1.2 M weights", squeezenet}};

}  // namespace

std::vector<ZooNetwork> zoo_networks() {
  std::vector<ZooNetwork> all;
  for (const Entry& entry : kEntries) all.push_back({entry.name, entry.description});
  return all;
}

absl::StatusOr<std::string> zoo_model(std::string_view name, const ZooOptions& options) {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) {
    if (name == entry.name) {
      if (options.batch < 1 || options.batch > 1 << 20)
        return absl::InvalidArgumentError(
            absl::StrCat("a batch of ", options.batch, "; 1 to 1048576 are possible"));
      return entry.make(options);
    }
    names.push_back(entry.name);
  }
  return absl::NotFoundError(
      absl::StrCat("the zoo has no network '", std::string(name), "'; it has ", absl::StrJoin(names, ", ")));
}

}  // namespace tf::onnx
