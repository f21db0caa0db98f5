#pragma once
// Owns: a kernel as a network has it: the nodes that it fuses, and the task that they became. Does not know:
// where networks come from, who computes the kernel.

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/kernels/group.h"
#include "compiler/graph/kernels/task.h"

namespace tf::bench {

struct NetworkKernel {
  std::shared_ptr<const graph::Graph> network;  // as it was planned: what the ids are of
  graph::Group group;                           // no nodes: a copy from one layout to another
  std::vector<graph::NodeId> inputs;            // one a workload input: the node whose result it is
  graph::Task task;                             // between the layouts that the network chose

  // The first of its nodes that is such an operator, or null.
  template <typename Operator>
  const graph::Node* find() const {
    for (const graph::NodeId id : group.nodes) {
      const graph::Node& node = network->node(id);
      if (graph::as<Operator>(node) != nullptr) return &node;
    }
    return nullptr;
  }
};

// What a kernel mainly does; the groups of a report, in its order.
enum class Family : uint8_t {
  kMatrixProduct,
  kAttention,
  kConvolution,
  kDepthwise,  // one channel a group
  kPool,
  kReduction,
  kNormalization,  // over channels or rows: LRN, layer norm
  kSoftmax,
  kElementwise,
  kMovement  // no arithmetic: concat, transpose, gather, change of layout
};
std::string name_of(Family family);  // "matrix products"
Family family_of(const NetworkKernel& kernel);

// What it computes and on how much, without the network's name: "3x3_64_128_56_s2_relu",
// "gemm_128x1024x256_add_gelu", "max_pool_3x3_s2_64_112", "layer_norm_1x128x768".
std::string shape_name(const NetworkKernel& kernel);

}  // namespace tf::bench
