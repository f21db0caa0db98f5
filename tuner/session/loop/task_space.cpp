#include "tuner/session/loop/task_space.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "compiler/passes/lower.h"
#include "compiler/schedule/schedule.h"
#include "tuner/space/space.h"

namespace tf::session {

absl::StatusOr<TaskSpace> TaskSpace::create(const Task& task, const target::Target& target, int threads,
                                            const schedule::Numerics& allowed,
                                            const model::MeasuredRates& measured) {
  TF_ASSIGN_OR_RETURN(tensor::Workload bound, tensor::bind(task.kernel.workload, task.kernel.binding));
  TaskSpace made;
  made.flops_ = tensor::count_flops(bound);
  made.bytes_ = tensor::count_bytes(bound);
  made.space_ =
      std::make_shared<const space::DesignSpace>(space::generate_space({.workload = std::move(bound),
                                                                        .ports = task.kernel.ports,
                                                                        .target = target,
                                                                        .threads = threads,
                                                                        .allowed = allowed}));
  made.evaluator_ = std::make_shared<const model::Evaluator>(*made.space_, target, threads,
                                                             task.kernel.reuse_distance_bytes, measured);
  for (const space::Sketch& sketch : made.space_->sketches) {
    made.hashes_.push_back(sketch.hash().hex());
    absl::StrAppend(&made.families_, sketch.family, "\n");
  }
  return made;
}

TaskSpace TaskSpace::on(const model::MeasuredRates& measured) const {
  TaskSpace other = *this;
  other.evaluator_ = std::make_shared<const model::Evaluator>(evaluator_->on(measured));
  return other;
}

uint64_t TaskSpace::loops_of(const schedule::Schedule& schedule) const {
  const absl::StatusOr<uint64_t> loops =
      passes::loops_hash(*space_->sketches.front().workload, schedule, space_->ports);
  if (loops.ok()) return *loops;
  // It will not compile; nothing else fails in just that way.
  const Digest text = sha256(schedule::to_string(schedule));
  return std::accumulate(text.bytes.begin(), text.bytes.begin() + 8, uint64_t{0},
                         [](uint64_t all, uint8_t byte) { return all << 8 | byte; });
}

std::optional<space::Candidate> TaskSpace::candidate_of(const database::Measurement& record) const {
  if (record.semantics_version != static_cast<uint32_t>(schedule::kSemanticsVersion)) return std::nullopt;
  return candidate_of(record.sketch_hash, record.choices, record.schedule);
}

std::optional<space::Candidate> TaskSpace::candidate_of(const std::string& sketch_hash,
                                                        const std::vector<int64_t>& choices,
                                                        const std::string& schedule) const {
  for (size_t i = 0; i < hashes_.size(); ++i) {
    if (hashes_[i] != sketch_hash) continue;
    std::optional<space::Point> point = recipes::point_of(space_->sketches[i], choices);
    if (!point) return std::nullopt;
    space::Candidate candidate{static_cast<int>(i), *std::move(point)};
    if (schedule::to_string(space_->schedule_of(candidate)) != schedule) return std::nullopt;
    return candidate;
  }
  return std::nullopt;
}

}  // namespace tf::session
