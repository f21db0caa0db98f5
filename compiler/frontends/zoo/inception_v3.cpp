#include <utility>
#include <vector>

#include "compiler/frontends/zoo/network_writer.h"
#include "compiler/frontends/zoo/networks.h"

namespace tf::zoo {
namespace {

class InceptionV3 {
 public:
  explicit InceptionV3(const Options& options) : net_("inception_v3", options) {}

  std::string run() && {
    Feature x = net_.input({3, 299, 299});
    x = square("conv1", x, 32, 3, 2);
    x = square("conv2", x, 32, 3);
    x = square("conv3", x, 64, 3, 1, 1);
    x = square("conv4", net_.max_pool(x, {}), 80, 1);
    x = net_.max_pool(square("conv5", x, 192, 3), {});
    x = mixed_a("5b", x, 32);
    x = mixed_a("5c", x, 64);
    x = mixed_a("5d", x, 64);
    x = reduction_a("6a", x);
    x = mixed_b("6b", x, 128);
    x = mixed_b("6c", x, 160);
    x = mixed_b("6d", x, 160);
    x = mixed_b("6e", x, 192);
    x = reduction_b("7a", x);
    x = mixed_c("7b", x);
    x = mixed_c("7c", x);
    x = net_.flatten(net_.dropout(net_.global_average_pool(x)));
    return std::move(net_).finish(net_.gemm("fc", x, 1000, 0.7));
  }

 private:
  Feature conv(const std::string& name, const Feature& x, ConvShape shape) {
    shape.bias = false;
    return net_.relu(net_.batch_norm(name + ".bn", net_.conv(name, x, shape)));
  }
  Feature square(const std::string& name, const Feature& x, int64_t channels, int64_t kernel,
                 int64_t stride = 1, int64_t pad = 0) {
    return conv(name, x, {.channels = channels, .kernel = kernel, .stride = stride, .pad = pad});
  }
  Feature row(const std::string& name, const Feature& x, int64_t channels, int64_t kernel) {
    return conv(name, x, {.channels = channels, .kernel = 1, .wide_kernel = kernel, .wide_pad = kernel / 2});
  }
  Feature column(const std::string& name, const Feature& x, int64_t channels, int64_t kernel) {
    return conv(name, x, {.channels = channels, .kernel = kernel, .pad = kernel / 2, .wide_kernel = 1});
  }
  // The mean of 3 x 3 counts the border, as PyTorch has it.
  Feature pooled(const std::string& name, const Feature& x, int64_t channels) {
    ::onnx::NodeProto& node = net_.node("AveragePool", name + ".pool", {x.value});
    set_ints(node, "kernel_shape", {3, 3});
    set_ints(node, "pads", {1, 1, 1, 1});
    set_int(node, "count_include_pad", 1);
    return square(name + ".pool_conv", {name + ".pool", x.channels}, channels, 1);
  }

  Feature mixed_a(const std::string& name, const Feature& x, int64_t pool) {
    const Feature one = square(name + ".1x1", x, 64, 1);
    const Feature five = square(name + ".5x5", square(name + ".5x5_reduce", x, 48, 1), 64, 5, 1, 2);
    Feature twice = square(name + ".3x3_1", square(name + ".3x3_reduce", x, 64, 1), 96, 3, 1, 1);
    twice = square(name + ".3x3_2", twice, 96, 3, 1, 1);
    return net_.concat({one, five, twice, pooled(name, x, pool)});
  }
  Feature reduction_a(const std::string& name, const Feature& x) {
    const Feature three = square(name + ".3x3", x, 384, 3, 2);
    Feature twice = square(name + ".twice_1", square(name + ".twice_reduce", x, 64, 1), 96, 3, 1, 1);
    twice = square(name + ".twice_2", twice, 96, 3, 2);
    return net_.concat({three, twice, net_.max_pool(x, {})});
  }
  Feature mixed_b(const std::string& name, const Feature& x, int64_t inner) {
    const Feature one = square(name + ".1x1", x, 192, 1);
    Feature seven = row(name + ".7_1", square(name + ".7_reduce", x, inner, 1), inner, 7);
    seven = column(name + ".7_2", seven, 192, 7);
    Feature twice = column(name + ".7d_1", square(name + ".7d_reduce", x, inner, 1), inner, 7);
    twice = row(name + ".7d_2", twice, inner, 7);
    twice = row(name + ".7d_4", column(name + ".7d_3", twice, inner, 7), 192, 7);
    return net_.concat({one, seven, twice, pooled(name, x, 192)});
  }
  Feature reduction_b(const std::string& name, const Feature& x) {
    const Feature three = square(name + ".3x3", square(name + ".3x3_reduce", x, 192, 1), 320, 3, 2);
    Feature seven = row(name + ".7_1", square(name + ".7_reduce", x, 192, 1), 192, 7);
    seven = square(name + ".7_3", column(name + ".7_2", seven, 192, 7), 192, 3, 2);
    return net_.concat({three, seven, net_.max_pool(x, {})});
  }
  Feature mixed_c(const std::string& name, const Feature& x) {
    const auto split = [&](const std::string& part, const Feature& y) {
      return std::vector{row(name + part + "_row", y, 384, 3), column(name + part + "_column", y, 384, 3)};
    };
    std::vector<Feature> parts = {square(name + ".1x1", x, 320, 1)};
    for (const Feature& each : split(".3x3", square(name + ".3x3_reduce", x, 384, 1))) parts.push_back(each);
    const Feature reduced = square(name + ".twice_reduce", x, 448, 1);
    for (const Feature& each : split(".twice", square(name + ".twice_1", reduced, 384, 3, 1, 1)))
      parts.push_back(each);
    parts.push_back(pooled(name, x, 192));
    return net_.concat(parts);
  }

  NetworkWriter net_;
};

}  // namespace

std::string inception_v3(const Options& options) {
  return InceptionV3(options).run();
}

}  // namespace tf::zoo
