#include "compiler/driver/measured_layouts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tf::driver {
namespace {

constexpr char kEverything[] = "";
// How much too good estimates may be is not known from fewer.
constexpr size_t kFewestRatios = 8;
constexpr double kUnknownDoubt = 1.25;

std::string computation(const graph::Task& task) {
  return absl::StrCat(tensor::workload_key(task.kernel.workload).hex(), "|",
                      tensor::binding_text(task.kernel.binding));
}

// "conv2d" of "conv2d+bias+relu".
std::string first_operator(const graph::Task& task) {
  return task.kernel.workload.label.substr(0, task.kernel.workload.label.find('+'));
}

// What that share of them lies below.
double quantile(std::vector<double> values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<size_t>(place)];
}
double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

// By how much an estimate that is scaled to the median may be too good, as it is for a quarter of these.
double doubt(const std::vector<double>& ratios) {
  if (ratios.size() < kFewestRatios) return kUnknownDoubt;
  return quantile(ratios, 0.75) / median(ratios);
}

}  // namespace

void MeasuredLayoutCost::expect(const std::vector<graph::Task>& tasks) {
  for (const graph::Task& task : tasks) {
    if (known_.contains(graph::task_key(task))) continue;
    const ScheduleChoice* choice = find(task);
    if (choice == nullptr) continue;
    const double ratio = choice->median_ns / estimate_.nanoseconds(task);
    for (const std::string& key : {computation(task), first_operator(task), std::string(kEverything)})
      ratios_[key].push_back(ratio);
  }
}

double MeasuredLayoutCost::nanoseconds(const graph::Task& task) {
  const double estimated = estimate_.nanoseconds(task);
  if (ratios_.empty()) return estimated;
  if (const ScheduleChoice* choice = find(task)) return choice->median_ns;
  for (const std::string& key : {computation(task), first_operator(task), std::string(kEverything)})
    if (const auto known = ratios_.find(key); known != ratios_.end())
      return doubt(ratios_[kEverything]) * estimated * median(known->second);
  return estimated;
}

const ScheduleChoice* MeasuredLayoutCost::find(const graph::Task& task) {
  const auto [known, missing] = known_.try_emplace(graph::task_key(task), -1);
  if (missing && status_.ok()) {
    const tensor::KernelKey query = tensor::key_for(task.kernel, target_, threads_);
    absl::StatusOr<std::optional<ScheduleChoice>> choice = source_.find(query);
    if (!choice.ok()) {
      status_ = choice.status();
    } else if (choice->has_value() && (*choice)->is_of_network && (*choice)->median_ns > 0) {
      known->second = static_cast<int>(consulted_.size());
      consulted_.push_back({query, task.label, **std::move(choice)});
    }
  }
  return known->second < 0 ? nullptr : &consulted_[static_cast<size_t>(known->second)].choice;
}

}  // namespace tf::driver
