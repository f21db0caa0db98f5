#include "compiler/ops/convolution.h"

#include "absl/strings/str_cat.h"
#include "compiler/ops/window.h"

namespace tf::ops {
namespace {

struct Channels {
  int64_t in = 0, out = 0;  // of all groups
  int64_t in_per_group = 0, out_per_group = 0;
  bool depthwise = false;
};

// The channel of x that result channel m reads first.
Expr first_channel(const Channels& channels, const Expr& m) {
  if (channels.in_per_group == channels.in) return tensor::imm(int64_t{0});
  return floor_div(m, channels.out_per_group) * channels.in_per_group;
}

std::string check(const Buffer& x, const Buffer& w, const ConvOptions& options, Channels& channels,
                  Window& window) {
  if (w->rank() != x->rank() || x->rank() < 3)
    return absl::StrCat("the input is ", describe(x), " and the weights are ", describe(w),
                        "; both have batch or channel axes and the same spatial axes");
  std::vector<int64_t> weights;
  for (const Expr& extent : w->extents) {
    const auto value = tensor::as_int(extent);
    if (!value) return absl::StrCat("the weights ", describe(w), " have an extent that is not a number");
    weights.push_back(*value);
  }
  const auto in = tensor::as_int(x->extents[1]);
  if (!in || options.groups < 1 || *in % options.groups != 0 || weights[0] % options.groups != 0 ||
      weights[1] * options.groups != *in)
    return absl::StrCat("weights ", describe(w), " do not fit input ", describe(x), " in ", options.groups,
                        " groups");
  channels = {*in, weights[0], weights[1], weights[0] / options.groups,
              options.groups > 1 && options.groups == *in};
  window = {{weights.begin() + 2, weights.end()},
            options.strides,
            options.dilations,
            options.pads_begin,
            options.pads_end};
  return complete(window, x);
}

}  // namespace

Buffer conv(Builder& b, const Buffer& x, const Buffer& w, const ConvOptions& options) {
  if (b.failed()) return x;
  Channels channels;
  Window window;
  if (std::string message = check(x, w, options, channels, window); !message.empty())
    return b.fail("conv", message);
  const size_t spatial = window.kernel.size();
  const char* prefix = channels.depthwise ? "depthwise_" : options.groups > 1 ? "grouped_" : "";
  const std::string name = absl::StrCat(prefix, "conv", spatial, "d");
  b.label(name);

  const Buffer padded = pad_window(b, window, x, 0);
  const Element sum_element = accumulator(x->element);
  std::vector<Expr> extents = {x->extents[0], w->extents[0]};
  for (Expr& extent : slide_extents(window, x)) extents.push_back(extent);
  std::vector<Expr> reduce_extents;
  if (!channels.depthwise) reduce_extents.push_back(w->extents[1]);
  reduce_extents.insert(reduce_extents.end(), w->extents.begin() + 2, w->extents.end());

  const Buffer sum =
      b.reduce(name, sum_element, extents, reduce_extents, Combiner::kSum, [&](Indices i, Indices r) {
        const Expr c = channels.depthwise ? tensor::imm(int64_t{0}) : r[0];
        const Indices k = channels.depthwise ? r : r.subspan(1);
        std::vector<Expr> source = {i[0], first_channel(channels, i[1]) + c}, weight = {i[1], c};
        for (size_t d = 0; d < spatial; ++d) {
          source.push_back(window_at(window, d, i[d + 2], k[d]));
          weight.push_back(k[d]);
        }
        const Type type{sum_element, 1};
        return tensor::cast(type, at(padded, std::move(source))) *
               tensor::cast(type, at(w, std::move(weight)));
      });
  return tensor::is_float(x->element) ? round_to(b, sum, x->element) : sum;
}

}  // namespace tf::ops
