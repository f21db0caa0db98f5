#include "compiler/records/plan.h"

#include <utility>

#include "base/status.h"
#include "compiler/driver/measured_layouts.h"

namespace tf::records {

absl::StatusOr<Plan> plan_layouts(driver::ScheduleSource& times, graph::Graph graph,
                                  const target::Target& target, int threads) {
  driver::MeasuredLayoutCost cost(times, target, threads);
  Plan plan;
  TF_ASSIGN_OR_RETURN(plan.program, graph::plan_program(std::move(graph), {target.fp32_lanes(), &cost}));
  TF_RETURN_IF_ERROR(cost.status());
  for (const driver::ConsultedRecord& record : cost.consulted())
    plan.layouts.push_back({record.query, record.label, record.choice.record});
  return plan;
}

absl::StatusOr<Plan> plan_network(driver::ScheduleSource& source, graph::Graph graph,
                                  const target::Target& target, int threads) {
  TF_ASSIGN_OR_RETURN(Plan plan, plan_layouts(source, std::move(graph), target, threads));
  TF_ASSIGN_OR_RETURN(plan.choices, driver::choose_schedules(plan.program, target, threads, source));
  return plan;
}

absl::StatusOr<Plan> plan_untuned(graph::Graph graph, const target::Target& target) {
  Plan plan;
  TF_ASSIGN_OR_RETURN(plan.program, graph::plan_program(std::move(graph), {target.fp32_lanes()}));
  plan.choices.resize(plan.program.tasks.size());
  return plan;
}

}  // namespace tf::records
