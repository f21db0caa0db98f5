#pragma once
// Owns: functions that the steps share: a stage's initial loops, and replacing loops. Does not know: single
// steps.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// Gives the stage one loop per axis: i0, i1 … over `region`, then r0, r1 … over the reduce axes. An empty
// `region` means the whole output.
void reset_loops(StageState& stage, std::vector<tensor::Expr> origin = {}, std::vector<SymInt> region = {});

// Why a step cannot make new stages from this one: it is unknown (null) or inlined, not at root, split, or
// holds or reads placed stages. Empty if the step can.
std::optional<Illegal> check_untouched(const StateData& data, const StageState* stage);

// Replaces the `count` loops from `first` on by `loops`. `values` expresses the variables of the old loops in
// terms of `vars`, the variables of the new loops.
void replace_loops(StageState& stage, int first, int count, const std::vector<Loop>& loops,
                   const std::vector<tensor::Var>& vars, const std::vector<tensor::Expr>& values);

// Whether loop number `loop` is inside one grid loop but outside the other. A raster combines the two into
// one.
bool is_between_grid_loops(const StageState& stage, int loop);

// The bytes of the part of a stage that one run of its loops computes.
SymInt region_bytes(const std::vector<SymInt>& region, tensor::Element element);
// The bytes of all tiles that a pipeline over that loop of `holder` copies in one iteration.
SymInt copied_bytes(const StateData& data, const StageState& holder, std::string_view loop);

// The extent of a bound axis. It is open if steps split it by an open size.
SymInt extent_of_axis(const tensor::Axis& axis);
// The same, if no size can be open.
int64_t constant_extent(const tensor::Axis& axis);
// The limit of the terms in one stored part of a reduction, including masked terms after the last one.
int64_t greatest_part(const StateData& data, const tensor::Stage& reduction);

// A copy of the stage with new variables for axes and reduce axes.
tensor::Stage with_fresh_axes(const tensor::Stage& stage);

// `body` with every load of `from` replaced by make(load).
template <typename F>
tensor::Expr replace_loads(const tensor::Expr& body, const tensor::BufferNode* from, F&& make) {
  return tensor::rewrite(body, [&](const tensor::Expr& e) -> tensor::Expr {
    const auto* load = tensor::as<tensor::Load>(e);
    return load && load->buffer.get() == from ? make(*load) : e;
  });
}

// A name not yet taken by a stage: base, base.1, base.2 …
std::string fresh_stage_name(const StateData& data, const std::string& base);

}  // namespace tf::schedule
