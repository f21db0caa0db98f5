#include "tuner/service/farm/network_tasks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/recipes/shape/structure.h"
#include "tuner/search/search.h"
#include "tuner/service/farm/network_calls.h"

namespace tf::service {

namespace {

// Of each task: a size of the network that has a program of its own counts as much as any other, though it may take
// a fraction of the time.
std::vector<double> importance_of_tasks(const graph::Program& program) {
  std::vector<double> importance(program.tasks.size(), 1);
  std::vector<std::set<size_t>> used;
  std::vector<double> work;
  for (const graph::Variant& variant : program.variants) {
    std::set<size_t>& of_variant = used.emplace_back();
    graph::for_each_program(variant.program, [&](const graph::Program& each) {
      for (const graph::Call& call : each.calls)
        if (call.task() >= 0) of_variant.insert(static_cast<size_t>(call.task()));
    });
    double& sum = work.emplace_back(0);
    for (const size_t i : of_variant) {
      const graph::Task& task = program.tasks[i];
      sum += static_cast<double>(task.count) * (task.flops + task.bytes);
    }
  }
  for (size_t v = 0; v < work.size(); ++v) {
    if (work[v] <= 0) continue;
    for (const size_t i : used[v])
      importance[i] = std::max(importance[i], *std::ranges::max_element(work) / work[v]);
  }
  return importance;
}

// A task once, however many sizes of the network have it.
class TaskList {
 public:
  absl::Status add(graph::Task task, double importance) {
    // Of a kernel for all sizes, the size whose schedule it takes.
    if (!task.at_sizes.empty()) task.kernel = tensor::KernelSpec(task.at_sizes.front());
    TF_ASSIGN_OR_RETURN(const tensor::Workload bound,
                        tensor::bind(task.kernel.workload, task.kernel.binding));
    if (recipes::computes_nothing(bound)) return absl::OkStatus();  // one schedule, and no time
    const auto [found, is_new] = known_.try_emplace(graph::task_key(task), tasks_.size());
    if (is_new)
      tasks_.push_back({.label = std::move(task.label), .kernel = std::move(task.kernel), .weight = 0});
    session::Task& known = tasks_[found->second];
    known.weight = std::max(known.weight, static_cast<double>(task.count));
    known.importance = std::max(known.importance, importance);
    return absl::OkStatus();
  }
  std::vector<session::Task> take() { return std::move(tasks_); }

 private:
  std::vector<session::Task> tasks_;
  std::map<std::string, size_t> known_;
};

}  // namespace

absl::StatusOr<std::vector<session::Task>> network_tasks(const std::string& model_path,
                                                         const target::Target& target,
                                                         const frontends::NetworkRequest& request) {
  TF_ASSIGN_OR_RETURN(NetworkPlan plan, plan_of_network(model_path, target, 1, request));
  return std::move(plan.tasks);
}

absl::StatusOr<NetworkPlan> plan_of_network(const std::string& model_path, const target::Target& target,
                                            int threads, const frontends::NetworkRequest& request) {
  TF_ASSIGN_OR_RETURN(const graph::Network network, frontends::import_network(model_path, request));
  TF_ASSIGN_OR_RETURN(graph::Program program, graph::plan_network(network, graph::layout_options(target)));
  NetworkPlan plan{.calls = network_calls(program, target, threads)};
  TaskList list;
  const std::vector<double> importance = importance_of_tasks(program);
  for (const bool for_all_sizes : {false, true}) {
    for (size_t i = 0; i < program.tasks.size(); ++i)
      if (program.tasks[i].at_sizes.empty() != for_all_sizes)
        TF_RETURN_IF_ERROR(list.add(program.tasks[i], importance[i]));
  }
  // Of a program for all sizes, alternatives are those of a size at which it was planned.
  if (program.dims.empty()) {
    for (graph::Task& task : program.alternatives) TF_RETURN_IF_ERROR(list.add(std::move(task), 1));
  }
  plan.tasks = list.take();
  if (!plan.tasks.empty()) return plan;
  return absl::InvalidArgumentError(
      absl::StrCat(model_path, " has nothing to tune: none of its operators is computed at run time"));
}

absl::StatusOr<session::SessionOptions> session_options(const JobSpec& spec, int64_t job_id,
                                                        const std::string& device_class) {
  session::SessionOptions options;
  TF_ASSIGN_OR_RETURN(options.target, target::parse_target(spec.target()));
  TF_ASSIGN_OR_RETURN(options.strategy, search::kind_from_name(spec.strategy()));
  options.threads = static_cast<int>(spec.threads());
  options.device_class = device_class;
  options.budget = {
      .trials = spec.trials(), .minutes = spec.minutes(), .until_gain = spec.until_gain_percent() / 100};
  options.seed = spec.seed();
  options.allowed_numerics = {spec.allowed_numerics().begin(), spec.allowed_numerics().end()};
  options.job_id = job_id;
  return options;
}

}  // namespace tf::service
