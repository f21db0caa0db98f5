// Folds of lanes, run for the 32 lanes of a warp at once.
#include <array>
#include <type_traits>

#include "compiler/ir/machine_lanes.h"
#include "compiler/ir/machine_watch.h"

namespace tf::ir::machine {
namespace {

// As the program's own arithmetic: whole numbers wrap, a NaN stays.
template <typename LaneType>
typename LaneType::Lane folded(tensor::Combiner combiner, typename LaneType::Lane a,
                               typename LaneType::Lane b) {
  using T = typename LaneType::Lane;
  if (combiner == tensor::Combiner::kMax) return a > b || a != a ? a : b;
  if (combiner == tensor::Combiner::kMin) return a < b || a != a ? a : b;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return LaneType::finish(a + b);
}

}  // namespace

// In steps, as shuffles do it: each lane takes what the one half a group away has, then a quarter away, and so on.
void run_lane_fold(const Node& node, std::span<Machine* const> lanes) {
  const LaneFold& fold = *node.fold;
  const Site& site = lanes[0]->run->program->sites[static_cast<size_t>(node.sites[0])];
  const int64_t bytes = tensor::element_bytes(fold.buffer->element);
  std::array<int64_t, kWarpThreads> offsets{};
  std::array<bool, kWarpThreads> defined{};
  for (size_t l = 0; l < lanes.size(); ++l) {
    Machine& m = *lanes[l];
    const BufferState& buffer = m.buffers[static_cast<size_t>(site.buffer_slot)];
    std::array<int64_t, kMaxRank> index{};
    for (size_t d = 0; d < site.indices.size(); ++d) index[d] = *m.at<int64_t>(site.indices[d]);
    offsets[l] = locate_indices(m, site, *buffer.shape, index.data(), 0);
    if (offsets[l] < 0) return;
    defined[l] = m.run->watch == nullptr || watch_read(m, site, buffer, offsets[l]);
  }
  with_lane(fold.buffer->element, [&](auto lane) {
    using Type = decltype(lane);
    std::array<typename Type::Lane, kWarpThreads> values{}, before{};
    const auto place = [&](size_t l) {
      return lanes[l]->buffers[static_cast<size_t>(site.buffer_slot)].data + offsets[l] * bytes;
    };
    for (size_t l = 0; l < lanes.size(); ++l) values[l] = Type::read(place(l));
    for (size_t step = static_cast<size_t>(fold.lanes) / 2; step > 0; step /= 2) {
      before = values;
      const std::array<bool, kWarpThreads> was = defined;
      for (size_t l = 0; l < lanes.size(); ++l) {
        values[l] = folded<Type>(fold.combiner, before[l], before[l ^ step]);
        defined[l] = was[l] && was[l ^ step];
      }
    }
    for (size_t l = 0; l < lanes.size(); ++l) {
      Machine& m = *lanes[l];
      if (m.run->watch != nullptr)
        watch_write(m, site, m.buffers[static_cast<size_t>(site.buffer_slot)], offsets[l], defined[l]);
      Type::write(place(l), values[l]);
    }
  });
}

}  // namespace tf::ir::machine
