#pragma once
// Owns: what the steps share: a stage's first loops, and replacing loops by others with their values. Does
// not know: single steps.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// One loop an axis (i0, i1 … over `region`, then r0, r1 … over the reduce axes). With an empty `region` the
// whole output from 0.
void reset_loops(StageState& stage, std::vector<tensor::Expr> origin = {}, std::vector<SymInt> region = {});

// Why a step that makes other stages of this one cannot: it is not known (null) or inlined, not at root, split, or holds or reads
// placed stages. Nothing: it can.
std::optional<Illegal> check_untouched(const StateData& data, const StageState* stage);

// Puts `loops` in place of the `count` loops from `first`; `values` gives the old loops' variables in terms
// of `vars`, the new loops'.
void replace_loops(StageState& stage, int first, int count, const std::vector<Loop>& loops,
                   const std::vector<tensor::Var>& vars, const std::vector<tensor::Expr>& values);

// Whether what is computed in loop number `loop` knows one grid loop and not the other: a raster makes one of both.
bool is_between_grid_loops(const StageState& stage, int loop);

// Bytes of the part of a stage that one run of its loops computes.
SymInt region_bytes(const std::vector<SymInt>& region, tensor::Element element);
// Of all tiles that a pipeline over that loop of `holder` copies in one iteration.
SymInt copied_bytes(const StateData& data, const StageState& holder, std::string_view loop);

// The extent of a bound axis; open where the steps cut it by an open size.
SymInt extent_of_axis(const tensor::Axis& axis);
// The same where nothing can be open.
int64_t constant_extent(const tensor::Axis& axis);

// A copy of the stage with variables of its own for axes and reduce axes.
tensor::Stage with_fresh_axes(const tensor::Stage& stage);

// `body` with every load of `from` replaced by what `make` gives for its indices.
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
