#include "compiler/records/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/driver/measured_layouts.h"
#include "compiler/schedule/schedule.h"

namespace tf::records {

absl::StatusOr<Plan> plan_layouts(driver::ScheduleSource& times, const graph::Network& network,
                                  const target::Target& target, int threads) {
  driver::MeasuredLayoutCost cost(times, target, threads);
  Plan plan;
  TF_ASSIGN_OR_RETURN(plan.program, graph::plan_network(network, graph::layout_options(target, &cost)));
  TF_RETURN_IF_ERROR(cost.status());
  for (const driver::ConsultedRecord& record : cost.consulted())
    plan.layouts.push_back({record.query, record.label, record.choice.record});
  return plan;
}

absl::StatusOr<Plan> plan_network(driver::ScheduleSource& source, const graph::Network& network,
                                  const target::Target& target, int threads) {
  TF_ASSIGN_OR_RETURN(Plan plan, plan_layouts(source, network, target, threads));
  TF_ASSIGN_OR_RETURN(plan.choices, driver::choose_schedules(plan.program, target, threads, source));
  return plan;
}

absl::StatusOr<Plan> plan_untuned(const graph::Network& network, const target::Target& target) {
  Plan plan;
  TF_ASSIGN_OR_RETURN(plan.program, graph::plan_network(network, graph::layout_options(target)));
  plan.choices.resize(plan.program.tasks.size());
  return plan;
}

Digest verdict_key(const graph::Program& untuned, const std::string& device_class,
                   const target::Target& target, int threads, const schedule::Numerics& allowed) {
  std::vector<std::string> parts;
  for (const graph::Task& task : untuned.tasks)
    parts.push_back(absl::StrCat(task.count, " ", graph::task_key(task)));
  std::ranges::sort(parts);
  parts.push_back(absl::StrCat(schedule::kSemanticsVersion, " ", threads, " ", absl::StrJoin(allowed, ",")));
  parts.insert(parts.end(), {target.text(), device_class});
  return sha256(absl::StrJoin(parts, "\n"));
}

absl::StatusOr<Plan> plan_by_records(database::Records& records, const graph::Network& network,
                                     const target::Target& target, int threads,
                                     const std::optional<std::string>& device_class,
                                     const schedule::Numerics& allowed) {
  TF_ASSIGN_OR_RETURN(const std::vector<database::NetworkVerdict> verdicts, records.verdicts());
  Plan untuned;
  if (!verdicts.empty()) {
    TF_ASSIGN_OR_RETURN(untuned, plan_untuned(network, target));
  }
  for (const database::NetworkVerdict& verdict : verdicts) {
    const std::string& device = verdict.device_class;
    if (verdict.key != verdict_key(untuned.program, device, target, threads, allowed)) continue;
    if (device_class && device != *device_class) continue;
    BestSource source(records, device, allowed, verdict.takes);
    Plan plan = std::move(untuned);
    if (verdict.takes == database::NetworkVerdict::Takes::kUntuned) {
      TF_ASSIGN_OR_RETURN(plan.choices, driver::choose_schedules(plan.program, target, threads, source));
    } else {
      TF_ASSIGN_OR_RETURN(plan, plan_network(source, network, target, threads));
    }
    plan.verdict = verdict;
    return plan;
  }
  BestSource source(records, device_class, allowed);
  return plan_network(source, network, target, threads);
}

}  // namespace tf::records
