#include "tuner/space/sketch/attention.h"

#include "compiler/schedule/attention.h"
#include "tuner/space/parameters.h"

namespace tf::space {

std::optional<Sketch> generated_attention(const tensor::KernelSpec& spec) {
  const std::optional<schedule::Attention> attention = schedule::attention_of(spec.workload, spec.ports);
  if (!attention) return std::nullopt;
  Sketch sketch;
  sketch.family = "generated attention";
  sketch.workload = std::make_shared<const tensor::Workload>(spec.workload);
  schedule::AttentionSizes sizes = schedule::default_attention_sizes(spec.workload, *attention, spec.target);
  Point seed;
  auto open = [&](const char* name, std::vector<int64_t> values, schedule::Size& size) {
    Parameter parameter = scalar_parameter(name, std::move(values));
    seed.push_back(ensure_choice(parameter, {size.value}));
    sketch.parameters.push_back(std::move(parameter));
    size = schedule::Size::open(static_cast<int>(sketch.parameters.size()) - 1, 0);
  };
  open("block_tiles", {1, 2, 3, 4, 6, 8}, sizes.block_tiles);
  open("rows", {1, 2, 4, 6, 7, 8, 10, 12, 14}, sizes.rows);
  open("score_vectors", {1, 2, 3, 4}, sizes.score_vectors);
  open("value_vectors", {1, 2, 3, 4}, sizes.value_vectors);
  schedule::append_attention(spec.workload, *attention, sizes, spec.threads > 1, sketch.steps.steps);
  sketch.seeds.push_back(std::move(seed));
  return sketch;
}

}  // namespace tf::space
