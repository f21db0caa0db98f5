#include "tests/bench/search/replay/named_constants.h"

namespace tf::replay {

std::span<const NamedConstant> roofline_constants() {
#define TF_CONSTANT(name)                                                     \
  {                                                                           \
#name, [](model::RooflineConstants & all) -> double& { return all.name; } \
  }
  static constexpr NamedConstant kAll[] = {
      TF_CONSTANT(spill_cycles),
      TF_CONSTANT(spill_each),
      TF_CONSTANT(window_spill),
      TF_CONSTANT(free_broadcast),
      TF_CONSTANT(row_broadcast_cycles),
      TF_CONSTANT(gathered_lane),
      TF_CONSTANT(accumulator_cycles),
      TF_CONSTANT(wanted_share),
      TF_CONSTANT(look_ahead),
      TF_CONSTANT(fma_latency),
      TF_CONSTANT(long_code),
      TF_CONSTANT(short_code),
      TF_CONSTANT(guarded_reduction),
      TF_CONSTANT(overlap),
      TF_CONSTANT(written),
      TF_CONSTANT(l2_bytes),
      TF_CONSTANT(l2_run),
      TF_CONSTANT(l3_bytes),
      TF_CONSTANT(l3_run),
      TF_CONSTANT(memory_bytes),
      TF_CONSTANT(memory_run),
      TF_CONSTANT(l1.low),
      TF_CONSTANT(l1.width),
      TF_CONSTANT(l2.low),
      TF_CONSTANT(l2.width),
      TF_CONSTANT(shared.low),
      TF_CONSTANT(shared.width),
      TF_CONSTANT(l1_sets.low),
      TF_CONSTANT(l1_sets.width),
      TF_CONSTANT(l2_sets.low),
      TF_CONSTANT(l2_sets.width),
  };
#undef TF_CONSTANT
  return kAll;
}

}  // namespace tf::replay
