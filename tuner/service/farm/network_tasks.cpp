#include "tuner/service/farm/network_tasks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/frontends.h"
#include "compiler/graph/program/program.h"
#include "compiler/recipes/shape/structure.h"
#include "tuner/search/search.h"

namespace tf::service {

absl::StatusOr<std::vector<session::Task>> network_tasks(const std::string& model_path,
                                                         const target::Target& target,
                                                         const frontends::ImportOptions& import) {
  TF_ASSIGN_OR_RETURN(graph::Graph network, frontends::import_file(model_path, import));
  TF_ASSIGN_OR_RETURN(graph::Program program,
                      graph::plan_program(std::move(network), {.lanes = target.fp32_lanes()}));
  std::vector<session::Task> tuned;
  std::move(program.alternatives.begin(), program.alternatives.end(), std::back_inserter(program.tasks));
  for (graph::Task& task : program.tasks) {
    TF_ASSIGN_OR_RETURN(const tensor::Workload bound,
                        tensor::bind(task.kernel.workload, task.kernel.binding));
    if (recipes::computes_nothing(bound)) continue;  // one schedule, and no time
    tuned.push_back({.label = std::move(task.label),
                     .kernel = std::move(task.kernel),
                     .weight = static_cast<double>(task.count)});
  }
  if (!tuned.empty()) return tuned;
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
