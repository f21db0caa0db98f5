#include "compiler/graph/passes/optimize.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "compiler/graph/passes/fold.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/verify.h"

namespace tf::graph {
namespace {

template <Graph (*pass)(const Graph&)>
Graph reading(Graph graph) {
  return pass(graph);
}

constexpr std::array kPasses = {
    Pass{"remove_dead_code", reading<remove_dead_code>},
    Pass{"fold_constants", reading<fold_constants>},
    Pass{"remove_identities", reading<remove_identities>},
    Pass{"gather_parts", reading<gather_parts>},
    Pass{"share_concats", reading<share_concats>},
    // Batch norms become scales and shifts whose factors fold, and these then fold into weights.
    Pass{"expand_batch_norms", reading<expand_batch_norms>},
    Pass{"fold_batch_norm_factors", reading<fold_constants>},
    Pass{"multiply_by_reciprocals", reading<multiply_by_reciprocals>},
    Pass{"split_products", reading<split_products>},
    Pass{"hoist_numbers", reading<hoist_numbers>},
    Pass{"sink_reshapes", reading<sink_reshapes>},
    Pass{"fold_sunk_constants", reading<fold_constants>},
    Pass{"remove_met_reshapes", reading<remove_identities>},
    Pass{"fold_affine", fold_affine},
};

}  // namespace

std::span<const Pass> passes() {
  return kPasses;
}

namespace {

Region optimized(const Region& region) {
  return std::make_shared<const Graph>(optimize(*region));
}

// Regions have no constants from outside: each is optimised alone.
void optimize_regions(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (auto* branch = std::get_if<If>(&node.op)) {
      branch->then_branch = optimized(branch->then_branch);
      branch->else_branch = optimized(branch->else_branch);
    } else if (auto* loop = std::get_if<Loop>(&node.op)) {
      loop->body = optimized(loop->body);
    }
  }
}

}  // namespace

Graph optimize(Graph graph, const OptimizeOptions& options) {
  for (const Pass& pass : kPasses) {
    graph = pass.run(std::move(graph));
    if (options.verify_each) {
      const absl::Status status = verify(graph);
      TF_CHECK(status.ok()) << "after " << pass.name << ": " << status.message();
    }
    if (options.after) options.after(pass.name, graph);
  }
  optimize_regions(graph);
  return graph;
}

}  // namespace tf::graph
