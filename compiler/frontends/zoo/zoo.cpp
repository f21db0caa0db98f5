#include "compiler/frontends/zoo/zoo.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/frontends/zoo/bert.h"
#include "compiler/frontends/zoo/halves.h"
#include "compiler/frontends/zoo/network_writer.h"
#include "compiler/frontends/zoo/networks.h"

namespace tf::zoo {
namespace {

Feature conv_bn(NetworkWriter& net, const std::string& name, const Feature& x, ConvShape shape, double gain) {
  shape.bias = false;
  return net.batch_norm(name + ".bn", net.conv(name, x, shape), gain);
}

// Iandola et al., "SqueezeNet", 2016; version 1.1.
std::string squeezenet(const Options& options) {
  NetworkWriter net("squeezenet", options);
  auto fire = [&](const std::string& name, const Feature& x, int64_t squeeze, int64_t expand) {
    const Feature s = net.relu(net.conv(name + ".squeeze", x, {.channels = squeeze}));
    const Feature one = net.relu(net.conv(name + ".expand1x1", s, {.channels = expand}));
    const Feature three =
        net.relu(net.conv(name + ".expand3x3", s, {.channels = expand, .kernel = 3, .pad = 1}));
    return net.concat({one, three});
  };
  Feature x =
      net.relu(net.conv("conv1", net.input({3, 224, 224}), {.channels = 64, .kernel = 3, .stride = 2}));
  x = net.max_pool(x, {});
  x = fire("fire3", fire("fire2", x, 16, 64), 16, 64);
  x = net.max_pool(x, {});
  x = fire("fire5", fire("fire4", x, 32, 128), 32, 128);
  x = net.max_pool(x, {});
  x = fire("fire7", fire("fire6", x, 48, 192), 48, 192);
  x = fire("fire9", fire("fire8", x, 64, 256), 64, 256);
  x = net.relu(net.conv("conv10", net.dropout(x), {.channels = 1000}));
  return std::move(net).finish(net.flatten(net.global_average_pool(x)));
}

// He et al., "Deep Residual Learning for Image Recognition", 2015. The last factor of a residual branch is
// scaled down so that the sum does not grow with depth.
Feature basic_block(NetworkWriter& net, const std::string& name, const Feature& x, int64_t channels,
                    int64_t stride) {
  Feature y = net.relu(
      conv_bn(net, name + ".conv1", x, {.channels = channels, .kernel = 3, .stride = stride, .pad = 1}, 1));
  y = conv_bn(net, name + ".conv2", y, {.channels = channels, .kernel = 3, .pad = 1}, 0.5);
  const bool same = stride == 1 && x.channels == channels;
  return net.relu(net.add(
      y, same ? x : conv_bn(net, name + ".downsample", x, {.channels = channels, .stride = stride}, 0.8)));
}

// The stride stands at the 3x3 convolution, as PyTorch has it.
Feature bottleneck(NetworkWriter& net, const std::string& name, const Feature& x, int64_t channels,
                   int64_t stride) {
  const int64_t wide = 4 * channels;
  Feature y = net.relu(conv_bn(net, name + ".conv1", x, {.channels = channels}, 1));
  y = net.relu(
      conv_bn(net, name + ".conv2", y, {.channels = channels, .kernel = 3, .stride = stride, .pad = 1}, 1));
  y = conv_bn(net, name + ".conv3", y, {.channels = wide}, 0.4);
  const bool same = stride == 1 && x.channels == wide;
  return net.relu(net.add(
      y, same ? x : conv_bn(net, name + ".downsample", x, {.channels = wide, .stride = stride}, 0.8)));
}

using Block = Feature (*)(NetworkWriter&, const std::string&, const Feature&, int64_t channels,
                          int64_t stride);

std::string resnet(const std::string& name, const Options& options, Block block,
                   const std::array<int, 4>& repeats) {
  NetworkWriter net(name, options);
  Feature x = net.input({3, 224, 224});
  x = net.relu(conv_bn(net, "conv1", x, {.channels = 64, .kernel = 7, .stride = 2, .pad = 3}, 1));
  x = net.max_pool(x, {.pad = 1});
  for (size_t i = 0; i < repeats.size(); ++i) {
    for (int k = 0; k < repeats[i]; ++k)
      x = block(net, absl::StrCat("layer", i + 1, ".", k), x, 64 << i, i > 0 && k == 0 ? 2 : 1);
  }
  return std::move(net).finish(net.gemm("fc", net.flatten(net.global_average_pool(x)), 1000, 0.5));
}
std::string resnet18(const Options& options) {
  return resnet("resnet18", options, basic_block, {2, 2, 2, 2});
}
std::string resnet50(const Options& options) {
  return resnet("resnet50", options, bottleneck, {3, 4, 6, 3});
}

// Szegedy et al., "Going Deeper with Convolutions", 2014, without the auxiliary classifiers.
std::string inception_v1(const Options& options) {
  NetworkWriter net("inception_v1", options);
  struct Widths {
    int64_t one, three_reduce, three, five_reduce, five, pool;
  };
  auto conv = [&](const std::string& name, const Feature& x, const ConvShape& shape) {
    return net.relu(net.conv(name, x, shape));
  };
  auto inception = [&](const std::string& name, const Feature& x, const Widths& w) {
    const Feature one = conv(name + ".1x1", x, {.channels = w.one});
    const Feature three = conv(name + ".3x3", conv(name + ".3x3_reduce", x, {.channels = w.three_reduce}),
                               {.channels = w.three, .kernel = 3, .pad = 1});
    const Feature five = conv(name + ".5x5", conv(name + ".5x5_reduce", x, {.channels = w.five_reduce}),
                              {.channels = w.five, .kernel = 5, .pad = 2});
    // What the maximum adds to the scale is taken away again.
    const Feature pool = conv(name + ".pool_proj", net.max_pool(x, {.stride = 1, .pad = 1}),
                              {.channels = w.pool, .gain = 0.6});
    return net.concat({one, three, five, pool});
  };
  const PoolShape halve{.ceil = true};
  Feature x = net.input({3, 224, 224});
  x = conv("conv1", x, {.channels = 64, .kernel = 7, .stride = 2, .pad = 3});
  x = net.lrn(net.max_pool(x, halve), 1e-4);
  x = conv("conv2_reduce", x, {.channels = 64});
  x = conv("conv2", x, {.channels = 192, .kernel = 3, .pad = 1});
  x = net.max_pool(net.lrn(x, 1e-4), halve);
  x = inception("3a", x, {64, 96, 128, 16, 32, 32});
  x = inception("3b", x, {128, 128, 192, 32, 96, 64});
  x = net.max_pool(x, halve);
  x = inception("4a", x, {192, 96, 208, 16, 48, 64});
  x = inception("4b", x, {160, 112, 224, 24, 64, 64});
  x = inception("4c", x, {128, 128, 256, 24, 64, 64});
  x = inception("4d", x, {112, 144, 288, 32, 64, 64});
  x = inception("4e", x, {256, 160, 320, 32, 128, 128});
  x = net.max_pool(x, halve);
  x = inception("5a", x, {256, 160, 320, 32, 128, 128});
  x = inception("5b", x, {384, 192, 384, 48, 128, 128});
  x = net.dropout(net.average_pool(x, {.kernel = 7, .stride = 1}));
  return std::move(net).finish(net.gemm("fc", net.flatten(x), 1000, 0.7));
}

// Huang et al., "Densely Connected Convolutional Networks", 2017: growth 32, bottlenecks of 128, halving
// transitions. A layer reads all before it in its block.
std::string densenet(const std::string& name, const Options& options, const std::array<int, 4>& layers) {
  NetworkWriter net(name, options);
  constexpr int64_t kGrowth = 32;
  auto bn_relu = [&](const std::string& norm, const Feature& y) { return net.relu(net.batch_norm(norm, y)); };
  Feature x = net.input({3, 224, 224});
  x = net.relu(conv_bn(net, "conv1", x, {.channels = 64, .kernel = 7, .stride = 2, .pad = 3}, 1));
  x = net.max_pool(x, {.pad = 1});
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string block = absl::StrCat("block", i + 1);
    std::vector<Feature> all = {x};
    for (int k = 1; k <= layers[i]; ++k) {
      const std::string layer = absl::StrCat(block, ".", k);
      Feature y = all.size() == 1 ? all[0] : net.concat(all);
      y = net.conv(layer + ".conv1", bn_relu(layer + ".bn1", y), {.channels = 4 * kGrowth, .bias = false});
      all.push_back(net.conv(layer + ".conv2", bn_relu(layer + ".bn2", y),
                             {.channels = kGrowth, .kernel = 3, .pad = 1, .bias = false}));
    }
    x = bn_relu(block + ".bn", net.concat(all));
    if (i + 1 == layers.size()) break;
    x = net.conv(block + ".transition", x, {.channels = x.channels / 2, .bias = false});
    x = net.average_pool(x, {.kernel = 2, .stride = 2});
  }
  return std::move(net).finish(net.gemm("classifier", net.flatten(net.global_average_pool(x)), 1000, 0.5));
}

std::string densenet63(const Options& options) {
  return densenet("densenet63", options, {3, 6, 12, 8});
}
std::string densenet121(const Options& options) {
  return densenet("densenet121", options, {6, 12, 24, 16});
}

// Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018.
std::string mobilenet_v2(const Options& options) {
  NetworkWriter net("mobilenet_v2", options);
  auto block = [&](const std::string& name, const Feature& x, int64_t expand, int64_t channels,
                   int64_t stride) {
    Feature y = x;
    if (expand != 1) y = net.relu6(conv_bn(net, name + ".expand", x, {.channels = x.channels * expand}, 1));
    y = net.relu6(
        conv_bn(net, name + ".depthwise", y,
                {.channels = y.channels, .kernel = 3, .stride = stride, .pad = 1, .groups = y.channels}, 1));
    const bool residual = stride == 1 && x.channels == channels;
    y = conv_bn(net, name + ".project", y, {.channels = channels}, residual ? 0.5 : 0.9);
    return residual ? net.add(x, y) : y;
  };
  struct Stage {
    int64_t expand, channels, repeat, stride;
  };
  constexpr std::array kStages = {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2},
                                  Stage{6, 64, 4, 2}, Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2},
                                  Stage{6, 320, 1, 1}};
  Feature x = net.relu6(conv_bn(net, "conv1", net.input({3, 224, 224}),
                                {.channels = 32, .kernel = 3, .stride = 2, .pad = 1}, 1));
  int count = 0;
  for (const Stage& stage : kStages) {
    for (int64_t i = 0; i < stage.repeat; ++i)
      x = block(absl::StrCat("block", ++count), x, stage.expand, stage.channels, i == 0 ? stage.stride : 1);
  }
  x = net.relu6(conv_bn(net, "conv2", x, {.channels = 1280}, 1));
  return std::move(net).finish(net.gemm("classifier", net.flatten(net.global_average_pool(x)), 1000, 0.7));
}

// Turc et al., "Well-Read Students Learn Better", 2019.
std::string bert_mini(const Options& options) {
  return bert("bert_mini", options, {.layers = 4, .width = 256, .opset = 13});
}
std::string bert_base(const Options& options) {
  return bert("bert_base", options, {.layers = 12, .width = 768, .opset = 17});
}

std::string mlp(const Options& options) {
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
  std::string (*make)(const Options&);
  std::vector<std::string> lengths = {};
};

const std::vector<Entry>& entries() {
  static const std::vector<std::string> kSequence = {"sequence"};
  static const std::vector<Entry> kEntries = {
      {"bert_base", "BERT of 12 layers 768 wide, 108.6 M weights", bert_base, kSequence},
      {"bert_mini", "BERT of 4 layers 256 wide, 11.0 M weights", bert_mini, kSequence},
      {"conformer", "two blocks 144 wide, for speech, 1.0 M weights", conformer, kSequence},
      {"densenet121", "dense blocks of 6, 12, 24, 16 layers, 224 x 224, 8.0 M weights", densenet121},
      {"densenet63", "dense blocks of 3, 6, 12 and 8 layers, 224 x 224, 2.9 M weights", densenet63},
      {"efficientnet_b0", "inverted residuals, SiLU, 224 x 224, 5.3 M weights", efficientnet_b0},
      {"gpt2_small",
       "GPT-2 of 12 layers 768 wide, key-value cache, 124.4 M weights",
       gpt2_small,
       {"sequence", "past"}},
      {"inception_v1", "GoogLeNet, 224 x 224, 7.0 M weights", inception_v1},
      {"inception_v3", "Inception v3, 299 x 299, 23.8 M weights", inception_v3},
      {"lstm_tagger", "two bidirectional LSTMs of 128 units, 17 tags, 2.6 M weights", lstm_tagger, kSequence},
      {"mlp", "four dense layers, 784 inputs, 10 classes", mlp},
      {"mlp_mixer", "S/16 of 8 layers 512 wide, 224 x 224, 18.5 M weights", mlp_mixer},
      {"mobilenet_v2", "inverted residuals, depthwise, 224 x 224, 3.5 M weights", mobilenet_v2},
      {"mobilenet_v3", "the large one, hard-swish, 224 x 224, 5.5 M weights", mobilenet_v3},
      {"resnet18", "residual network of 18 layers, 224 x 224, 11.7 M weights", resnet18},
      {"resnet50", "residual network of 50 layers, 224 x 224, 25.6 M weights", resnet50},
      {"squeezenet", "SqueezeNet 1.1, 224 x 224, 1.2 M weights", squeezenet},
      {"unet", "U-Net of 5 levels, 32 channels wide, 256 x 256, 7.8 M weights", unet},
      {"vit_small", "ViT-S/16 of 12 layers 384 wide, 224 x 224, 22.0 M weights", vit_small},
      {"yolo_small", "detector of three levels, 256 x 256, 1.5 M weights", yolo_small}};
  return kEntries;
}

}  // namespace

std::vector<Network> networks() {
  std::vector<Network> all;
  for (const Entry& entry : entries()) all.push_back({entry.name, entry.description, entry.lengths});
  return all;
}

absl::StatusOr<std::string> model(std::string_view name, const Options& options) {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (name == entry.name) {
      if (options.batch < 1 || options.batch > 1 << 20)
        return absl::InvalidArgumentError(
            absl::StrCat("a batch of ", options.batch, " is out of range: give 1 to 1048576"));
      if (options.sequence < 1 || options.sequence > kBertPositions)
        return absl::InvalidArgumentError(
            absl::StrCat(options.sequence, " tokens is out of range: give 1 to ", kBertPositions));
      return options.halves ? in_halves(entry.make(options)) : entry.make(options);
    }
    names.push_back(entry.name);
  }
  return absl::NotFoundError(
      absl::StrCat("the zoo has no network '", std::string(name), "'; it has ", absl::StrJoin(names, ", ")));
}

}  // namespace tf::zoo
