#pragma once
// Owns: choosing the layout of every activation between kernels. Does not know: how a kernel uses a layout.
//
// Feature maps (rank 4, more than one pixel, at least `lanes` channels) may be stored as vectors of channels,
// NCHW<lanes>c, text "0,1,2,3,1:<lanes>", or, for GPUs, with all channels last, NHWC, text "0,2,3,1". Everything else,
// inputs and outputs of the model included, is row-major. Where what a kernel makes is not what a reader wants, a copy
// stands between.

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/kernels/group.h"
#include "compiler/graph/layouts/layout_cost.h"
#include "compiler/target/target.h"

namespace tf::graph {

// A group with its task, whose layouts the choice sets, and the nodes behind its workload's inputs.
struct PlannedGroup {
  Group group;
  Task task;
  std::vector<NodeId> inputs;  // one a workload input, constants included
};

// The layouts of a network's groups, in order: kept while it is planned at one size and taken at others, so that all
// have the same.
struct LayoutTrace {
  std::vector<tensor::PortLayouts> groups;
  bool is_known = false;
  size_t next = 0;  // of those that are taken
};

struct LayoutOptions {
  int64_t lanes = 16;  // of one vector; at most 1: everything stays row-major
  // If given, maps of these element types are stored with all channels innermost, where may_have_channels_last() (see
  // channels_last.h) allows it. Other maps are then row-major. Not given: vectors of channels.
  std::optional<std::vector<tensor::Element>> channels_last = std::nullopt;
  LayoutCost* cost = nullptr;  // null: StaticLayoutCost
  LayoutTrace* trace = nullptr;
  // What a run finds (graph/found.h) is assumed to have the graph's values, for a program that is joined with those of other
  // values: calls of equal kernels have tasks of their own, as they may not be equal at these. Else such a graph is refused.
  bool assumes_found = false;
  // Where a value that is made in its place in a concatenation may begin: at multiples of this. At least TF_ALIGNMENT.
  int64_t alignment_bytes = 64;
};

// As networks for the target are planned. For GPUs parts of memory begin where all drivers take them as arguments. Where
// matrix instructions multiply an element, its maps may have channels last: threads then copy vectors of the terms that a
// convolution sums.
LayoutOptions layout_options(const target::Target& target, LayoutCost* cost = nullptr);

// What was chosen: the sum of all kernels and copies, in nanoseconds of the cost. The alternatives are the kernels
// and copies that the network would run if one more or one less value were stored as vectors of channels, where
// that would cost little more, for measuring them may turn the choice: each once, the closest first, at most a
// quarter as many as there are kernels. None is part of the choice. Concatenations in place are none.
struct LayoutChoice {
  double nanoseconds = 0;
  std::vector<Task> alternatives;
};

// Sets in_layouts and out_layouts of each group's task so that the sum of kernels and copies is least, as
// found by local search from both uniform choices.
absl::StatusOr<LayoutChoice> choose_layouts(const Graph& graph, std::vector<PlannedGroup>& groups,
                                            const LayoutOptions& options);

// Whether the concatenation's operands, all in that layout, lie one after another in its result, aligned, so
// that they can be made in place and nothing is copied. Outputs and inputs of the graph cannot.
bool can_concat_in_place(const Graph& graph, NodeId concat, const tensor::Layout& layout,
                         int64_t alignment_bytes);

// Physical elements of the node's result in that layout, 0 if the result has none. RESOURCE_EXHAUSTED if they
// are too many to count.
absl::StatusOr<int64_t> physical_elements(const Graph& graph, NodeId node, const tensor::Layout& layout);

}  // namespace tf::graph
