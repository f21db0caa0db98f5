#include "tuner/model/gpu/gpu_features.h"

#include "base/check.h"

namespace tf::model {
namespace {

using tensor::Scope;

Value on_log_scale(const Value& x) {
  return log2(1 + max(x, 0));
}

// Puts each feature into the next free place of its kind; the others stay 0.
class Places {
 public:
  void add(const Value& value) { put(value, /*relative=*/true, relative_); }
  void add_own(const Value& value) { put(value, /*relative=*/false, own_); }
  std::array<Value, kFeatureCount> finish(const Value& seconds) {
    row_[kRooflineFeature] = on_log_scale(seconds * 1e9);
    return row_;
  }

 private:
  void put(const Value& value, bool relative, size_t& next) {
    const auto& is_relative = relative_features();
    while (next < kFeatureCount && (is_relative[next] != relative || next == kRooflineFeature)) ++next;
    TF_CHECK(next < kFeatureCount) << "more features of GPUs than places";
    row_[next++] = value;
  }
  std::array<Value, kFeatureCount> row_;
  size_t relative_ = 0, own_ = 0;
};

// Requests of all threads of a launch to one kind of memory.
struct Requests {
  Value count = 0, bytes = 0, useful_bytes = 0, passes = 0;
  void add(const GpuAccess& access) {
    count += access.requests;
    bytes += access.requests * access.sectors * kSectorBytes;
    useful_bytes += access.requests * access.useful_bytes;
    passes += access.requests * access.passes;
  }
};

void add_requests(const Requests& requests, const Value& math, Places& row) {
  const Value count = max(1e-9, requests.count);
  row.add(min(1, requests.useful_bytes / max(1e-9, requests.bytes)));  // how well lanes lie beside each other
  row.add(on_log_scale(requests.passes / count));
  row.add(on_log_scale(math / count));  // arithmetic for each request
  row.add(on_log_scale(requests.useful_bytes / count / kWarpLanes));
  row.add_own(on_log_scale(requests.count));
}

}  // namespace

std::array<Value, kFeatureCount> gpu_features(std::span<const GpuLaunch> launches, size_t main,
                                              const target::Target& target, const GpuPace& pace,
                                              const GpuCost& all) {
  const GpuLaunch& launch = launches[main];
  const GpuCost cost = cost_of(launch, target, pace);
  const Value warps = launch.warps(), blocks = launch.blocks();
  const Value resident = cost.resident_blocks;
  Requests loads, stores, shared;
  Value copies = 1, vector = 1, runs = 0, math = 0, turns = 0;
  for (const GpuNest& nest : launch.nests) {
    copies = max(copies, nest.copies);
    vector = max(vector, nest.vector);
    runs += nest.is_staging ? nest.runs : Value(0);
    math += nest.turns * nest.flops_per_turn;
    turns += nest.turns / nest.copies;
    for (const GpuAccess& access : nest.accesses) {
      if (access.scope == Scope::kShared) shared.add(access);
      if (access.scope == Scope::kGlobal) (access.is_store ? stores : loads).add(access);
    }
  }
  Places row;
  row.add(launch.threads() / target.gpu.block_threads);
  row.add(on_log_scale(launch.threads()));
  row.add(launch.threads() / (warps * kWarpLanes));
  row.add(launch.registers / target.gpu.registers_per_thread);
  row.add(launch.shared_bytes / static_cast<double>(target.gpu.shared_bytes));
  row.add(on_log_scale(resident * warps));  // warps of a unit
  row.add(min(1, blocks / (pace.units * resident)));
  row.add(blocks / (pace.units * ceil(blocks / pace.units)));  // how evenly units have blocks
  row.add(on_log_scale(copies));
  row.add(on_log_scale(vector));
  for (const Requests* requests : {&loads, &stores, &shared}) add_requests(*requests, math, row);
  row.add(on_log_scale(cost.flops / max(1, cost.l2_bytes)));
  row.add(on_log_scale(cost.flops / max(1, cost.memory_bytes)));
  for (const Value& share : all.shares) row.add(share);
  row.add_own(on_log_scale(blocks));
  row.add_own(on_log_scale(launch.block[0]));
  row.add_own(on_log_scale(launch.block[1]));
  row.add_own(on_log_scale(runs));
  row.add_own(on_log_scale(turns));
  row.add_own(on_log_scale(math));
  row.add_own(on_log_scale(cost.flops));
  row.add_own(on_log_scale(cost.l2_bytes));
  row.add_own(on_log_scale(cost.memory_bytes));
  row.add_own(static_cast<double>(launches.size()));
  row.add_own(on_log_scale(all.flops));
  row.add_own(on_log_scale(all.l2_bytes));
  row.add_own(on_log_scale(all.memory_bytes));
  return row.finish(all.seconds);
}

}  // namespace tf::model
