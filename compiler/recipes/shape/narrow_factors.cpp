#include "compiler/recipes/shape/narrow_factors.h"

#include <algorithm>

#include "compiler/recipes/emit/tiling.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
namespace {

using tensor::Element;
using tensor::Workload;

int input_of(const Workload& workload, const tensor::BufferNode* buffer) {
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.get() == buffer) return static_cast<int>(i);
  return -1;
}

bool reads(const tensor::Stage& stage, const tensor::BufferNode* buffer) {
  bool found = false;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    found = found || (load != nullptr && load->buffer.get() == buffer);
    return !found;
  });
  return found;
}

double elements(const tensor::BufferNode& buffer) {
  double count = 1;
  for (const tensor::Expr& extent : buffer.extents)
    count *= static_cast<double>(tensor::as_int(extent).value_or(1));
  return count;
}

double products(const tensor::Stage& anchor) {
  double count = 1;
  for (const auto* axes : {&anchor.axes, &anchor.reduce_axes})
    for (const tensor::Axis& axis : *axes)
      count *= static_cast<double>(tensor::as_int(axis.extent).value_or(1));
  return count;
}

bool converts_halves(const target::Target& target) {
  return target.arch == target::Arch::kAArch64 || target.has("f16c");
}

}  // namespace

std::optional<NarrowFactors> narrow_factors(const Workload& workload, int anchor) {
  const tensor::Stage& stage = workload.stages[static_cast<size_t>(anchor)];
  const auto* product = tensor::as<tensor::Binary>(stage.body);
  if (stage.combiner != tensor::Combiner::kSum || product == nullptr ||
      product->op != tensor::BinaryOp::kMul || product->type().element != Element::kFloat32)
    return std::nullopt;
  for (const auto& [a, b] : {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
    const auto *data = tensor::as<tensor::Load>(a), *weights = tensor::as<tensor::Load>(b);
    const int input = weights != nullptr ? input_of(workload, weights->buffer.get()) : -1;
    if (input < 0 || !workload.inputs[static_cast<size_t>(input)].constant) continue;
    const auto readers = std::ranges::count_if(
        workload.stages, [&](const tensor::Stage& s) { return reads(s, weights->buffer.get()); });
    const bool squared = data != nullptr && data->buffer.same_as(weights->buffer);
    if (readers == 1 && !squared) return NarrowFactors{input, data != nullptr ? data->buffer.get() : nullptr};
  }
  return std::nullopt;
}

Storage read_storage(const tensor::KernelSpec& kernel, const Structure& structure) {
  const Workload& workload = kernel.workload;
  if (!structure.anchor) return Storage::kDefined;
  const std::optional<NarrowFactors> factors = narrow_factors(workload, *structure.anchor);
  if (!factors) return Storage::kDefined;
  constexpr double kFewUses = 8, kWorthReadingLess = 1 << 17;  // bytes: beyond L1
  const double count = elements(*workload.inputs[static_cast<size_t>(factors->weights)].buffer);
  const tensor::Stage& anchor = anchor_of(workload, structure);
  if (products(anchor) > kFewUses * count || 4 * count < kWorthReadingLess) return Storage::kDefined;
  if (allows(kernel.allowed, kFp16) && converts_halves(kernel.target)) return Storage::kFloat16;
  return allows(kernel.allowed, kBf16) ? Storage::kBFloat16 : Storage::kDefined;
}

std::vector<Storage> storages(const tensor::KernelSpec& kernel, const Structure& structure) {
  const Workload& workload = kernel.workload;
  std::vector<Storage> all = {Storage::kDefined};
  if (!structure.anchor) return all;
  const std::optional<NarrowFactors> factors = narrow_factors(workload, *structure.anchor);
  if (!factors) return all;
  const tensor::Stage& anchor = anchor_of(workload, structure);
  constexpr double kUsesWorthConverting = 32;
  const Storage reading = read_storage(kernel, structure);
  auto add = [&](Storage storage, bool first) { all.insert(first ? all.begin() : all.end(), storage); };
  if (allows(kernel.allowed, kFp16)) add(Storage::kFloat16, reading == Storage::kFloat16);
  if (allows(kernel.allowed, kBf16)) {
    const int64_t group = dot_group(kernel, structure, Columns::kAsGiven, Storage::kBFloat16);
    const bool dots = group > 1 && products(anchor) >= kUsesWorthConverting * elements(*factors->data);
    add(Storage::kBFloat16, dots || reading == Storage::kBFloat16);
  }
  return all;
}

void append_narrowing(const tensor::KernelSpec& kernel, const Structure& structure,
                      const Narrowing& narrowing, Steps& steps) {
  const Workload& workload = kernel.workload;
  const NarrowFactors factors = *narrow_factors(workload, *structure.anchor);
  const Element element = narrowing.storage == Storage::kFloat16 ? Element::kFloat16 : Element::kBFloat16;
  steps.push_back(Narrow{input_name(factors.weights), element});
  if (!narrowing.both) return;
  if (!narrowing.producer.empty()) {
    steps.push_back(Narrow{narrowing.producer, element});
    return;
  }
  const int input = input_of(workload, factors.data);
  const tensor::Layout& layout = kernel.ports.input(workload, static_cast<size_t>(input));
  const std::string copy = input_name(input) + ".pack";
  steps.push_back(CacheRead{input_name(input), stage_name(*structure.anchor), layout});
  steps.push_back(Narrow{copy, element});
  FlatLoops loops;
  loops.stage = copy;
  loops.rank = factors.data->rank();
  loops.vector_axis = layout.is_row_major() ? loops.rank - 1 : layout.axes.back().axis;
  loops.lanes = kernel.target.fp32_lanes();
  loops.vectorized = kernel.target.fp32_lanes() > 1;
  loops.parallel = narrowing.parallel;
  append_flat_loops(loops, steps);
}

}  // namespace tf::recipes
