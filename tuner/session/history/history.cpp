#include "tuner/session/history/history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"
#include "database/which_count.h"
#include "tuner/session/loop/record_times.h"

namespace tf::session {
namespace {

constexpr size_t kTransferSources = 2;  // the best of a task and machine
constexpr size_t kSeeds = 6;            // of a task that looks back
// Examples of one task: the fastest, and of the others evenly. In all at most kExamples: from so many a prior
// learns in a few seconds, with all that it holds out in turn (2.5 s of CPU time on Zen 4).
constexpr size_t kMostOfATask = 300, kLeastOfATask = 50, kExamples = 6000;
constexpr double kOtherDevice = 1, kOtherTarget = 1, kOtherThreads = 1;

// As the database keeps it; the label is not needed.
absl::StatusOr<Task> task_of(database::Records& records, const tensor::KernelKey& problem) {
  TF_ASSIGN_OR_RETURN(const database::Workload stored, records.find_workload(problem.workload.hex()));
  TF_ASSIGN_OR_RETURN(tensor::KernelSpec kernel, tensor::parse_spec(stored.text, problem));
  return Task{.label = stored.op, .kernel = std::move(kernel)};
}

struct Measured {
  space::Candidate candidate;
  model::Features features;
  double seconds = 0;  // 0: it failed
  bool lower_bound = false;
};

// Each schedule by the measurement that counts, fastest first, failures last.
std::vector<Measured> measured_of(const TaskSpace& space, std::span<const database::Measurement> records) {
  std::vector<Measured> all;
  for (const database::Measurement* record : database::which_count(records)) {
    const std::optional<space::Candidate> candidate = space.candidate_of(*record);
    const std::optional<model::Judgement> judgement =
        candidate ? space.evaluator().judge(*candidate) : std::nullopt;
    if (!judgement) continue;
    const std::optional<Time> time = time_of(*record);
    all.push_back({*candidate, judgement->features, time ? time->seconds : 0, time && time->lower_bound});
  }
  std::stable_sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) {
    return (a.seconds > 0) != (b.seconds > 0) ? a.seconds > 0 : a.seconds < b.seconds;
  });
  return all;
}

// The records of the problem that are history, by the device class and machine that they are of. A failure
// that names no machine is of all.
using ByMachine = std::map<std::pair<std::string, std::string>, std::vector<database::Measurement>>;
absl::StatusOr<ByMachine> by_machine_of(database::Records& records, const tensor::KernelKey& problem,
                                        const Viewpoint& viewpoint) {
  const bool is_own = std::ranges::find(viewpoint.own, problem) != viewpoint.own.end();
  database::Filter filter;
  filter.problem = problem;
  ByMachine by_machine;
  TF_RETURN_IF_ERROR(records.scan(filter, [&](const database::Measurement& record) {
    const auto& [device_class, fingerprint] = std::tie(record.device.device_class, record.device.fingerprint);
    const bool is_of_session = is_own && device_class == viewpoint.device_class &&
                               is_from_here(record, viewpoint.fingerprint, viewpoint.job_id);
    if (!is_of_session) by_machine[{device_class, fingerprint}].push_back(record);
    return absl::OkStatus();
  }));
  for (auto& [machine, measured] : by_machine) {
    const auto of_all = by_machine.find({machine.first, ""});
    if (of_all == by_machine.end() || machine.second.empty()) continue;
    for (const database::Measurement& record : of_all->second)
      if (is_failure(record.outcome)) measured.push_back(record);
  }
  return by_machine;
}

// What candidates that were measured there ran on.
model::MeasuredRates rates_of(const MachineKind& machine, const Viewpoint& viewpoint,
                              const CalibrationRecords& calibration) {
  const model::MeasuredRates known = calibration.rates_of(machine);
  const bool is_like_here = machine.target.text() == viewpoint.target.text();
  return known == model::MeasuredRates() && is_like_here ? viewpoint.measured : known;
}

bool is_like(const target::Target& one, const target::Target& other) {
  return one.arch == other.arch && one.fp32_lanes() == other.fp32_lanes();
}

}  // namespace

std::vector<size_t> few_of(size_t examples, size_t most) {
  const size_t fastest = std::min(examples, most / 2), rest = examples - fastest;
  const size_t others = std::min(rest, most - fastest);
  std::vector<size_t> few;
  for (size_t i = 0; i < fastest + others; ++i)
    few.push_back(i < fastest ? i : fastest + (i - fastest) * rest / others);
  return few;
}

absl::Status History::read(database::Records& records, const Viewpoint& viewpoint) {
  TF_ASSIGN_OR_RETURN(std::vector<tensor::KernelKey> problems, records.problems());
  TF_ASSIGN_OR_RETURN(const CalibrationRecords calibration, CalibrationRecords::read(records));
  std::erase_if(problems, [](const tensor::KernelKey& problem) { return is_calibration(problem.workload); });
  const std::string target_text = viewpoint.target.text();
  std::reverse(problems.begin(), problems.end());
  std::stable_partition(problems.begin(), problems.end(),
                        [&](const tensor::KernelKey& problem) { return problem.target == target_text; });
  size_t read = 0;
  for (const tensor::KernelKey& problem : problems) {
    const bool is_own = std::ranges::find(viewpoint.own, problem) != viewpoint.own.end();
    const absl::StatusOr<target::Target> target = target::parse_target(problem.target);
    if (!target.ok() || !is_like(*target, viewpoint.target)) continue;
    if (!is_own && read++ >= kProblems) continue;
    TF_RETURN_IF_ERROR(read_problem(records, problem, *target, viewpoint, calibration));
  }
  return absl::OkStatus();
}

absl::Status History::read_problem(database::Records& records, const tensor::KernelKey& problem,
                                   const target::Target& target, const Viewpoint& viewpoint,
                                   const CalibrationRecords& calibration) {
  TF_ASSIGN_OR_RETURN(const ByMachine by_machine, by_machine_of(records, problem, viewpoint));
  if (by_machine.empty()) return absl::OkStatus();
  const absl::StatusOr<Task> task = task_of(records, problem);
  if (!task.ok()) return absl::OkStatus();
  const auto threads = static_cast<int>(problem.threads);
  const absl::StatusOr<TaskSpace> space =
      TaskSpace::create(*task, target, threads, viewpoint.allowed_numerics);
  if (!space.ok()) return absl::OkStatus();
  for (const auto& [machine, measured] : by_machine) {
    const model::MeasuredRates there =
        rates_of({target, machine.first, machine.second}, viewpoint, calibration);
    double remoteness = threads == viewpoint.threads ? 0 : kOtherThreads;
    if (problem.target != viewpoint.target.text()) remoteness += kOtherTarget;
    if (machine != std::pair(viewpoint.device_class, viewpoint.fingerprint)) remoteness += kOtherDevice;
    add(space->on(there), measured, remoteness);
  }
  return absl::OkStatus();
}

void History::add(const TaskSpace& space, std::span<const database::Measurement> records, double remoteness) {
  const std::vector<Measured> all = measured_of(space, records);
  const auto best = std::find_if(all.begin(), all.end(),
                                 [](const Measured& each) { return each.seconds > 0 && !each.lower_bound; });
  if (best == all.end()) return;
  const int group =
      groups_.try_emplace(records.front().problem.workload, static_cast<int>(groups_.size())).first->second;
  std::vector<model::Example>& lesson = lessons_.emplace_back();
  for (const Measured& each : all)
    lesson.push_back({each.features, each.seconds > 0 ? std::min(1.0, best->seconds / each.seconds) : 0, 0,
                      each.lower_bound, group});
  size_t sources = 0;
  for (auto each = best; each != all.end() && sources < kTransferSources; ++each) {
    if (each->lower_bound || each->seconds == 0) continue;
    sources_.push_back({space.space().sketches[static_cast<size_t>(each->candidate.sketch)],
                        each->candidate.point, remoteness});
    ++sources;
  }
}

void History::append_examples(std::vector<model::Example>& examples) const {
  if (lessons_.empty()) return;
  const size_t most = std::clamp(kExamples / lessons_.size(), kLeastOfATask, kMostOfATask);
  int task = examples.empty() ? 0 : examples.back().task + 1;
  for (const std::vector<model::Example>& lesson : lessons_) {
    for (const size_t i : few_of(lesson.size(), most)) {
      examples.push_back(lesson[i]);
      examples.back().task = task;
    }
    ++task;
  }
}

std::vector<space::Candidate> History::seeds_for(const TaskSpace& task) const {
  return carried_over(sources_, task, kSeeds);
}

std::shared_ptr<const model::CostModel> prior_of(const History& history,
                                                 const model::XGBoostOptions& options) {
  std::vector<model::Example> examples;
  history.append_examples(examples);
  model::XGBoostOptions of_others = options;
  of_others.for_others = true;
  auto model = std::make_shared<model::XGBoostModel>(of_others);
  // Without it costs speed of search, not correctness.
  if (!model->train(examples).ok() || !model->is_trained()) return nullptr;
  return model;
}

}  // namespace tf::session
