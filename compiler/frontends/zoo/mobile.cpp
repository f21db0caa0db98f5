// Networks of inverted residuals with squeeze-and-excitation.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/zoo/network_writer.h"
#include "compiler/frontends/zoo/networks.h"

namespace tf::zoo {
namespace {

constexpr int kOpset = 14;
constexpr double kSwishGain = 1.2;  // of what follows SiLU and hard-swish, which keep less than relu does

Feature conv_norm(NetworkWriter& net, const std::string& name, const Feature& x, ConvShape shape,
                  double gain) {
  shape.bias = false;
  return net.batch_norm(name + ".bn", net.conv(name, x, shape), gain);
}

// As deep learning frameworks have it: a multiple of 8, at most a tenth below.
int64_t whole_channels(double channels) {
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

using Activation = Feature (NetworkWriter::*)(const Feature&);

struct Excitation {
  int64_t channels;
  Activation inner, outer;
};

// x times a weight for each channel that depends on all of x.
Feature excite(NetworkWriter& net, const std::string& name, const Feature& x, const Excitation& how) {
  const Feature squeezed = net.conv(name + ".fc1", net.global_average_pool(x), {.channels = how.channels});
  const Feature weights = net.conv(name + ".fc2", (net.*how.inner)(squeezed), {.channels = x.channels});
  return net.mul(x, (net.*how.outer)(weights));
}

struct Inverted {
  int64_t kernel, expanded, channels, stride;
  Activation activation;
  Excitation excitation;  // of no channels: none
};

Feature inverted_residual(NetworkWriter& net, const std::string& name, const Feature& x,
                          const Inverted& block) {
  Feature y = x;
  if (block.expanded != x.channels)
    y = (net.*block.activation)(conv_norm(net, name + ".expand", x, {.channels = block.expanded}, 1));
  y = (net.*block.activation)(conv_norm(net, name + ".depthwise", y,
                                        {.channels = y.channels,
                                         .kernel = block.kernel,
                                         .stride = block.stride,
                                         .pad = block.kernel / 2,
                                         .groups = y.channels,
                                         .gain = kSwishGain},
                                        1));
  const bool excited = block.excitation.channels > 0;
  if (excited) y = excite(net, name + ".excite", y, block.excitation);
  const bool residual = block.stride == 1 && x.channels == block.channels;
  y = conv_norm(net, name + ".project", y,
                {.channels = block.channels, .gain = (excited ? 2 : 1) * kSwishGain}, residual ? 0.5 : 0.9);
  return residual ? net.add(x, y) : y;
}

}  // namespace

std::string mobilenet_v3(const Options& options) {
  NetworkWriter net("mobilenet_v3", options, kOpset);
  constexpr Activation kRelu = &NetworkWriter::relu, kSwish = &NetworkWriter::hard_swish;
  struct Row {
    int64_t kernel, expanded, channels;
    bool excited;
    Activation activation;
    int64_t stride;
  };
  constexpr std::array kRows = {Row{3, 16, 16, false, kRelu, 1},   Row{3, 64, 24, false, kRelu, 2},
                                Row{3, 72, 24, false, kRelu, 1},   Row{5, 72, 40, true, kRelu, 2},
                                Row{5, 120, 40, true, kRelu, 1},   Row{5, 120, 40, true, kRelu, 1},
                                Row{3, 240, 80, false, kSwish, 2}, Row{3, 200, 80, false, kSwish, 1},
                                Row{3, 184, 80, false, kSwish, 1}, Row{3, 184, 80, false, kSwish, 1},
                                Row{3, 480, 112, true, kSwish, 1}, Row{3, 672, 112, true, kSwish, 1},
                                Row{5, 672, 160, true, kSwish, 2}, Row{5, 960, 160, true, kSwish, 1},
                                Row{5, 960, 160, true, kSwish, 1}};
  Feature x = net.hard_swish(conv_norm(net, "conv1", net.input({3, 224, 224}),
                                       {.channels = 16, .kernel = 3, .stride = 2, .pad = 1}, 1));
  for (size_t i = 0; i < kRows.size(); ++i) {
    const Row& row = kRows[i];
    const int64_t squeezed = row.excited ? whole_channels(static_cast<double>(row.expanded) / 4) : 0;
    x = inverted_residual(net, absl::StrCat("block", i + 1), x,
                          {row.kernel,
                           row.expanded,
                           row.channels,
                           row.stride,
                           row.activation,
                           {squeezed, &NetworkWriter::relu, &NetworkWriter::hard_sigmoid}});
  }
  x = net.hard_swish(conv_norm(net, "conv2", x, {.channels = 960}, 1));
  x = net.hard_swish(net.gemm("fc1", net.flatten(net.global_average_pool(x)), 1280, 1));
  return std::move(net).finish(net.gemm("fc2", x, 1000, 0.05));
}

std::string efficientnet_b0(const Options& options) {
  NetworkWriter net("efficientnet_b0", options, kOpset);
  struct Stage {
    int64_t expand, channels, repeat, stride, kernel;
  };
  constexpr std::array kStages = {Stage{1, 16, 1, 1, 3}, Stage{6, 24, 2, 2, 3},  Stage{6, 40, 2, 2, 5},
                                  Stage{6, 80, 3, 2, 3}, Stage{6, 112, 3, 1, 5}, Stage{6, 192, 4, 2, 5},
                                  Stage{6, 320, 1, 1, 3}};
  Feature x = net.silu(conv_norm(net, "conv1", net.input({3, 224, 224}),
                                 {.channels = 32, .kernel = 3, .stride = 2, .pad = 1}, 1));
  int count = 0;
  for (const Stage& stage : kStages) {
    for (int64_t i = 0; i < stage.repeat; ++i)
      x = inverted_residual(net, absl::StrCat("block", ++count), x,
                            {stage.kernel,
                             x.channels * stage.expand,
                             stage.channels,
                             i == 0 ? stage.stride : 1,
                             &NetworkWriter::silu,
                             {x.channels / 4, &NetworkWriter::silu, &NetworkWriter::sigmoid}});
  }
  x = net.silu(conv_norm(net, "conv2", x, {.channels = 1280}, 1));
  return std::move(net).finish(net.gemm("classifier", net.flatten(net.global_average_pool(x)), 1000, 0.05));
}

}  // namespace tf::zoo
