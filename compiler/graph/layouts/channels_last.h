#pragma once
// Owns: which values of a network may have their channels last. Does not know: what layouts cost.

#include <cstdint>
#include <vector>

#include "compiler/graph/layouts/layout_choice.h"
#include "compiler/tensor/type.h"

namespace tf::graph {

// For each node, whether its result may have all channels innermost (NHWC). It is a feature map of one of these elements,
// its channels fill vectors of `lanes`, and every kernel that makes or reads it is fast then:
//
// - convolutions without groups, which take their data in any layout; a residual has the result's;
// - poolings, depthwise convolutions and element-wise kernels whose other maps have channels last, too;
// - means and other reductions of few pixels.
//
// So no kernel but a convolution without groups reads or makes maps of two layouts, and no map is copied.
std::vector<bool> may_have_channels_last(const Graph& graph, const std::vector<PlannedGroup>& groups,
                                         const std::vector<tensor::Element>& elements, int64_t lanes);

}  // namespace tf::graph
