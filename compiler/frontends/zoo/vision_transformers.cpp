// Networks that read an image as a sequence of patches.
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/zoo/networks.h"
#include "compiler/frontends/zoo/sequence_writer.h"

namespace tf::zoo {
namespace {

class PatchWriter : public SequenceWriter {
 public:
  PatchWriter(const std::string& name, const Options& options, int64_t width)
      : SequenceWriter(name, options, 17), width_(width) {}

 protected:
  static constexpr int64_t kImage = 224, kPatch = 16, kPatches = (kImage / kPatch) * (kImage / kPatch),
                           kClasses = 1000;
  static constexpr double kEpsilon = 1e-6, kBranchGain = 0.4;  // the sum of branches grows slowly with depth

  // [batch, patches, width]
  std::string patches() {
    const Feature map = net_.conv("patches", net_.input({3, kImage, kImage}),
                                  {.channels = width_, .kernel = kPatch, .stride = kPatch});
    return transpose(reshape(map.value, {0, width_, kPatches}), {0, 2, 1});
  }
  std::string norm(const std::string& name, const std::string& x) {
    return layer_norm(name, x, width_, kEpsilon);
  }
  std::string branch(const std::string& x, const std::string& y) { return binary("Add", x, y); }
  std::string finish(const std::string& x) && {
    return std::move(net_).finish(net_.gemm("head", {x, width_}, kClasses, 0.7));
  }

  const int64_t width_;
};

class VitSmall : public PatchWriter {
 public:
  explicit VitSmall(const Options& options) : PatchWriter("vit_small", options, 384) {}

  std::string run() && {
    constexpr int64_t kHeads = 6;
    constexpr int kLayers = 12;
    const std::string cut = patches();
    const std::string positions =
        net_.tensor("positions", {1, kPatches + 1, width_}, net_.normal((kPatches + 1) * width_, 0, 0.3));
    std::string x = binary("Add", concat({class_token(cut), cut}, 1), positions);
    for (int i = 0; i < kLayers; ++i) {
      const std::string layer = absl::StrCat("layer", i);
      x = branch(x, self_attention(layer + ".attention", norm(layer + ".norm1", x), width_, kHeads, "",
                                   kBranchGain));
      x = branch(x, mlp(layer, norm(layer + ".norm2", x), width_, 4 * width_, kBranchGain));
    }
    return std::move(*this).finish(gather(norm("norm", x), 0, 1));
  }

 private:
  // The same for every image of the batch.
  std::string class_token(const std::string& x) {
    const std::string token = net_.tensor("class_token", {1, 1, width_}, net_.normal(width_, 0, 1));
    const std::string rest = net_.integers("class_token.shape", {1, width_});
    return binary("Expand", token, concat({unsqueeze(extent(x, 0), 0), rest}, 0));
  }
};

class MlpMixer : public PatchWriter {
 public:
  explicit MlpMixer(const Options& options) : PatchWriter("mlp_mixer", options, 512) {}

  std::string run() && {
    constexpr int kLayers = 8;
    std::string x = patches();
    for (int i = 0; i < kLayers; ++i) {
      const std::string layer = absl::StrCat("layer", i);
      const std::string across = transpose(norm(layer + ".norm1", x), {0, 2, 1});
      x = branch(x, transpose(mlp(layer + ".tokens", across, kPatches, 256, kBranchGain), {0, 2, 1}));
      x = branch(x, mlp(layer + ".channels", norm(layer + ".norm2", x), width_, 4 * width_, kBranchGain));
    }
    return std::move(*this).finish(mean(norm("norm", x), 1, false));
  }
};

}  // namespace

std::string vit_small(const Options& options) {
  return VitSmall(options).run();
}

std::string mlp_mixer(const Options& options) {
  return MlpMixer(options).run();
}

}  // namespace tf::zoo
