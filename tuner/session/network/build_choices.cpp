#include "tuner/session/network/build_choices.h"

#include <set>
#include <utility>

#include "base/status.h"
#include "compiler/records/plan.h"
#include "compiler/records/records_source.h"
#include "compiler/schedule/schedule.h"

namespace tf::session {
namespace {

absl::StatusOr<double> untuned_time(database::Records& records, database::BestQuery query,
                                    const database::Measurement& chosen) {
  if (chosen.untuned) return chosen.median_ns().value_or(0);
  query.of = database::BestQuery::Of::kUntuned;
  query.device_class = chosen.device.device_class;
  TF_ASSIGN_OR_RETURN(const std::vector<database::Measurement> untuned, records.top(query, 1));
  // A time at another reuse distance does not compare.
  const bool compares = !untuned.empty() && untuned.front().problem == chosen.problem;
  return compares ? untuned.front().median_ns().value_or(0) : 0;
}

// In place of a kernel for all sizes, the size whose schedule it takes first, unless that has a kernel of its own.
std::vector<graph::Task> tasks_of_one_size(const graph::Program& program) {
  std::set<std::string> known;
  for (const graph::Task& task : program.tasks)
    if (task.at_sizes.empty()) known.insert(graph::task_key(task));
  std::vector<graph::Task> tasks;
  for (graph::Task task : program.tasks) {
    if (!task.at_sizes.empty()) {
      task.kernel = tensor::KernelSpec(task.at_sizes.front());
      if (!known.insert(graph::task_key(task)).second) continue;
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

}  // namespace

absl::StatusOr<std::vector<KernelChoice>> build_choices(const graph::Network& network,
                                                        database::Records& records,
                                                        const target::Target& target, int threads,
                                                        const schedule::Numerics& allowed) {
  TF_ASSIGN_OR_RETURN(const records::Plan plan,
                      records::plan_by_records(records, network, target, threads, std::nullopt, allowed));
  std::vector<KernelChoice> kernels;
  for (const graph::Task& task : tasks_of_one_size(plan.program)) {
    const tensor::KernelKey asked = tensor::key_for(task.kernel, target, threads);
    database::BestQuery query{
        .problem = asked, .allowed_numerics = allowed, .semantics_version = schedule::kSemanticsVersion};
    if (plan.verdict) query.device_class = plan.verdict->device_class;
    if (plan.verdict) query.takes = plan.verdict->takes;
    KernelChoice kernel{
        .label = task.label, .key = asked.workload.hex(), .runs = task.count, .flops = task.flops};
    TF_ASSIGN_OR_RETURN(const std::optional<database::Choice> choice, records.choose(query));
    if (choice) {
      kernel.build_ns = choice->record.median_ns().value_or(0);
      kernel.is_untuned = choice->record.untuned;
      kernel.why = choice->why;
      TF_ASSIGN_OR_RETURN(kernel.untuned_ns, untuned_time(records, query, choice->record));
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace tf::session
