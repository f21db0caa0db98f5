#include "tuner/report/job_curves.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "tuner/report/curve.h"

namespace tf::report {
namespace {

namespace pb = tunefarm::tune::v1;

constexpr double kLeastStepS = 1;
constexpr size_t kPointsOfTasks = 100'000, kLeastPointsOfTask = 16;

struct Point {
  double elapsed_s = 0;
  uint32_t trials = 0;
  double ns = 0;
};

// When things happened, on the job's own scale.
class JobTime {
 public:
  JobTime(const Columns& columns, const JobScope& scope)
      : columns_(columns), own_(columns.of_job(scope.job.id)), began_unix_ns_(scope.job.started_unix_ns) {
    if (began_unix_ns_ == 0) began_unix_ns_ = scope.job.created_unix_ns;
    last_unix_ns_ = began_unix_ns_;
    for (const uint32_t entry : own_) {
      const Entry& each = columns.entries()[entry];
      if (began_unix_ns_ == 0 || each.finished_unix_ns < began_unix_ns_)
        began_unix_ns_ = each.finished_unix_ns;
      last_unix_ns_ = std::max(last_unix_ns_, each.finished_unix_ns);
      trials_ += !each.interleaved;
      trials_by_.push_back(trials_);
    }
  }

  double began_unix_s() const { return static_cast<double>(began_unix_ns_) * 1e-9; }
  double last_unix_s() const { return static_cast<double>(last_unix_ns_) * 1e-9; }
  double length_s() const { return static_cast<double>(last_unix_ns_ - began_unix_ns_) * 1e-9; }
  double elapsed_s(uint32_t entry) const {
    const int64_t ns = columns_.entries()[entry].finished_unix_ns - began_unix_ns_;
    return std::clamp(static_cast<double>(ns) * 1e-9, 0.0, length_s());
  }
  // Of the job, up to this entry.
  uint32_t trials(uint32_t entry) const {
    const auto after = std::ranges::upper_bound(own_, entry);
    return after == own_.begin() ? 0 : trials_by_[static_cast<size_t>(after - own_.begin()) - 1];
  }
  bool is_before(uint32_t entry) const { return own_.empty() || entry < own_.front(); }
  uint32_t end() const { return own_.empty() ? 0 : own_.back() + 1; }
  std::span<const uint32_t> own() const { return own_; }

 private:
  const Columns& columns_;
  const std::span<const uint32_t> own_;
  int64_t began_unix_ns_, last_unix_ns_;
  uint32_t trials_ = 0;
  std::vector<uint32_t> trials_by_;  // after each of its entries
};

// Points of one moment become the last of them.
void append(std::vector<Point>& curve, const Point& point) {
  if (!curve.empty() && curve.back().elapsed_s >= point.elapsed_s && curve.back().trials == point.trials)
    curve.pop_back();
  curve.push_back(point);
  if (curve.size() > 1)  // entries of several devices come a little out of order
    curve.back().elapsed_s = std::max(curve.back().elapsed_s, curve[curve.size() - 2].elapsed_s);
}

pb::Curve curve_of(const std::vector<Point>& points, size_t most) {
  std::vector<double> at_s, values;
  for (const Point& point : points) {
    at_s.push_back(point.elapsed_s);
    values.push_back(point.ns);
  }
  pb::Curve curve;
  for (const size_t i : thinned_changes(at_s, values, most)) {
    curve.add_elapsed_s(points[i].elapsed_s);
    curve.add_trials(points[i].trials);
    curve.add_ns(points[i].ns);
  }
  return curve;
}

// A change of one of several kernels.
struct NetworkChange {
  uint32_t entry = 0;
  size_t kernel = 0;
  double ns = 0;
};

// The sum of weight x best, from where each kernel has one; 0 where one has none any more.
std::vector<Point> network_points(const JobTime& time, const std::vector<double>& weights,
                                  std::vector<NetworkChange> changes) {
  std::ranges::stable_sort(changes, {}, &NetworkChange::entry);
  std::vector<double> best(weights.size());
  size_t missing = weights.size();
  std::vector<Point> points;
  for (const NetworkChange& change : changes) {
    double& known = best[change.kernel];
    if (known == 0 && change.ns > 0) --missing;
    if (known > 0 && change.ns == 0) ++missing;
    known = change.ns;
    if (missing > 0 && (points.empty() || points.back().ns == 0)) continue;
    double sum = 0;
    for (size_t i = 0; missing == 0 && i < best.size(); ++i) sum += weights[i] * best[i];
    const bool before = time.is_before(change.entry);
    append(points, {before ? 0 : time.elapsed_s(change.entry), before ? 0 : time.trials(change.entry), sum});
  }
  return points;
}

void add_rates(const Columns& columns, const JobTime& time, size_t most, pb::JobCurves& out) {
  if (time.own().empty()) return;
  const double step_s = std::max(kLeastStepS, time.length_s() / static_cast<double>(most));
  const size_t steps = std::min(most, static_cast<size_t>(time.length_s() / step_s) + 1);
  std::vector<double> trials(steps), sampled_s(steps);
  for (const uint32_t entry : time.own()) {
    const Entry& each = columns.entries()[entry];
    const size_t step = std::min(steps - 1, static_cast<size_t>(time.elapsed_s(entry) / step_s));
    trials[step] += !each.interleaved;
    sampled_s[step] += each.sampled_s;
  }
  out.set_step_s(step_s);
  for (size_t i = 0; i < steps; ++i) {
    out.add_trials_per_s(trials[i] / step_s);
    out.add_busy_share(sampled_s[i] / step_s);
  }
}

void add_outcomes(const Columns& columns, const JobTime& time, pb::JobCurves& out) {
  std::array<uint32_t, 9> counts{};
  for (const uint32_t entry : time.own()) ++counts[static_cast<size_t>(columns.entries()[entry].outcome)];
  for (size_t i = 1; i < counts.size(); ++i)
    if (counts[i] > 0)
      (*out.mutable_outcomes())[std::string(database::outcome_name(database::Outcome(i)))] = counts[i];
}

// What the job's schedules mean: by the last of them, as it may go on with another version of the program.
uint32_t semantics_of(const Columns& columns, const JobTime& time) {
  if (time.own().empty()) return schedule::kSemanticsVersion;
  return columns.settings()[columns.entries()[time.own().back()].setting].semantics_version;
}

// Of each kernel, how many trials the job made.
std::vector<uint32_t> trials_of(const Columns& columns, const JobTime& time) {
  std::vector<uint32_t> trials(columns.kernels().size());
  for (const uint32_t entry : time.own())
    trials[columns.entries()[entry].kernel] += !columns.entries()[entry].interleaved;
  return trials;
}

}  // namespace

absl::StatusOr<pb::JobCurves> job_curves(View& view, const JobScope& scope, size_t most_points) {
  // A message holds so many.
  const size_t most_of_task = std::min(
      most_points, std::max(kLeastPointsOfTask, kPointsOfTasks / std::max<size_t>(1, scope.kernels.size())));
  const Columns& columns = view.columns;
  const JobTime time(columns, scope);
  pb::JobCurves out;
  out.set_job_id(scope.job.id);
  out.set_began_unix_s(time.began_unix_s());
  out.set_last_unix_s(time.last_unix_s());
  const std::vector<bool> wanted = wanted_settings(columns, scope.asked, semantics_of(columns, time));
  const std::vector<uint32_t> trials = trials_of(columns, time);
  std::vector<double> weights;
  std::vector<NetworkChange> of_network;
  double untuned_ns = 0;
  bool all_untuned = true;
  for (const Subject& kernel : scope.kernels) {
    if (kernel.weight <= 0) continue;
    pb::TaskCurve& task = *out.add_tasks();
    task.set_kernel_id(kernel.id);
    task.set_weight(kernel.weight);
    task.set_label(kernel.label);
    if (kernel.label.empty()) {
      TF_ASSIGN_OR_RETURN(*task.mutable_label(), view.kernels.op(kernel.key));
    }
    TF_ASSIGN_OR_RETURN(const auto standing, view.kernels.standing(kernel.key, scope.asked));
    task.set_best_ns(standing->best_ns());
    task.set_untuned_ns(standing->untuned_ns());
    untuned_ns += kernel.weight * standing->untuned_ns();
    all_untuned &= standing->untuned_ns() > 0;
    std::vector<Point> points;
    if (const uint32_t* number = columns.find_kernel(kernel.id)) {
      task.set_trials(trials[*number]);
      for (const Change& change : changes_of_best(columns, *number, wanted, time.end())) {
        const bool before = time.is_before(change.entry);
        append(points, {before ? 0 : time.elapsed_s(change.entry), before ? 0 : time.trials(change.entry),
                        change.ns});
        of_network.push_back({change.entry, weights.size(), change.ns});
      }
    }
    *task.mutable_best() = curve_of(points, most_of_task);
    weights.push_back(kernel.weight);
  }
  if (all_untuned && !weights.empty()) out.set_untuned_network_ns(untuned_ns);
  *out.mutable_network() = curve_of(network_points(time, weights, std::move(of_network)), most_points);
  add_outcomes(columns, time, out);
  add_rates(columns, time, most_points, out);
  return out;
}

}  // namespace tf::report
