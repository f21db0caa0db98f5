#pragma once
// Owns: lowering, the pure function from a bound workload, a schedule and the layouts of its ports to loop IR
// that a back end accepts, and the visible table of passes that it runs.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"
#include "compiler/passes/pipeline.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::passes {

using tensor::PortLayouts;

struct LowerOptions {
  std::string name = "kernel";
  Pipeline pipeline = cpu_pipeline();
  bool verify_each = false;  // run the IR verifier after each pass
  // Called with the function that build_loops made, then after each pass of the pipeline; must not throw.
  std::function<void(std::string_view pass, const ir::Function&)> after;
};

// The names that `after` is called with, in order: build_loops, then the passes.
std::vector<std::string> pass_names(const Pipeline& pipeline);

// What lowering yields: the function (every buffer flat, vectors explicit, no annotated loop but parallel
// ones, for a GPU grid and thread loops), and of every parameter in call order its physical layout and
// element count and, of constants, the maps that come before the layout. Parameters: the workload's inputs;
// constants that are sums of one of these; outputs.
struct Lowered {
  ir::Function function;
  std::vector<tensor::Layout> param_layouts;
  std::vector<int64_t> param_elements;
  std::vector<std::vector<schedule::AxisMap>> param_maps;
  std::vector<std::optional<schedule::ConstantSums>> param_sums;
};

absl::StatusOr<Lowered> lower(const tensor::Workload& workload, const schedule::Schedule& schedule,
                              const tensor::PortLayouts& ports, const LowerOptions& options = {});

// Schedules of one workload and ports with the same hash lower to the same function; those that differ seldom
// do. Takes a few hundredths of the time that building the code takes, so that what differs in nothing that
// matters (a split of a loop that is unrolled whole, say) need not be built to be found out.
absl::StatusOr<uint64_t> loops_hash(const tensor::Workload& workload, const schedule::Schedule& schedule,
                                    const tensor::PortLayouts& ports);

}  // namespace tf::passes
