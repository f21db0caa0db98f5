#include "tests/bench/peers/network_kernels.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/frontends.h"
#include "compiler/graph/kernels/lower_group.h"
#include "compiler/graph/program/program.h"

namespace tf::peers {
namespace {

using bench::NetworkKernel;
using graph::Group;
using graph::NodeId;
using graph::Program;

// The kernel that a call runs, for peers to see what it computes. A call that puts a value into another
// layout stands for no node.
absl::StatusOr<NetworkKernel> kernel_of(const Program& program, const graph::Call& call,
                                        const std::shared_ptr<const graph::Graph>& network,
                                        const std::map<NodeId, Group>& groups) {
  NetworkKernel kernel{.network = network, .group = {}, .inputs = {}, .task = program.tasks[call.task()]};
  const auto group = groups.find(program.values[call.results[0]].node);
  if (group != groups.end()) {
    TF_ASSIGN_OR_RETURN(graph::LoweredGroup lowered, graph::lower_group(*network, group->second));
    const bool computed = lowered.workload.label == kernel.task.kernel.workload.label;
    if (computed) kernel.group = group->second, kernel.inputs = std::move(lowered.inputs);
  }
  if (kernel.group.nodes.empty()) {
    const graph::Operand& source = call.operands[0];
    kernel.inputs = {source.value < 0 ? source.constant : program.values[source.value].node};
  }
  return kernel;
}

}  // namespace

absl::StatusOr<std::vector<bench::Kernel>> network_kernels(const std::string& network, graph::Graph imported,
                                                           int64_t lanes) {
  TF_ASSIGN_OR_RETURN(Program program, graph::plan_program(std::move(imported), {.lanes = lanes}));
  const auto planned = std::make_shared<const graph::Graph>(program.graph);
  std::map<NodeId, Group> groups;
  for (Group& group : graph::make_groups(*planned)) groups[group.result()] = std::move(group);
  std::vector<bench::Kernel> kernels;
  std::set<std::string> names;
  std::set<int> seen;
  for (const graph::Call& call : program.calls) {
    if (call.task() < 0 || !seen.insert(call.task()).second) continue;
    TF_ASSIGN_OR_RETURN(NetworkKernel part, kernel_of(program, call, planned, groups));
    std::string name = absl::StrCat(network, "_", bench::shape_name(part));
    if (!names.insert(name).second) absl::StrAppend(&name, "@", call.name);
    kernels.push_back({std::move(name), std::move(part)});
  }
  return kernels;
}

absl::StatusOr<std::vector<bench::Kernel>> model_kernels(const std::string& model_path, int64_t lanes) {
  TF_ASSIGN_OR_RETURN(graph::Graph imported, frontends::import_file(model_path, {}));
  return network_kernels(std::filesystem::path(model_path).stem().string(), std::move(imported), lanes);
}

void keep_distinct(std::vector<bench::Kernel>& kernels) {
  std::set<std::string> seen;
  std::erase_if(kernels, [&](const bench::Kernel& kernel) {
    const auto* part = std::get_if<NetworkKernel>(&kernel.shape);
    return part != nullptr && !seen.insert(graph::task_key(part->task)).second;
  });
}

void sort_by_family(std::vector<bench::Kernel>& kernels) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const bench::Kernel& a, const bench::Kernel& b) {
    return bench::family_of(a) < bench::family_of(b);
  });
}

}  // namespace tf::peers
