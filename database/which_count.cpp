#include "database/which_count.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tf::database {
namespace {

bool is_before(const Measurement* one, const Measurement* other) {
  return std::pair(one->finished_unix_ns, one->id) < std::pair(other->finished_unix_ns, other->id);
}

}  // namespace

Program program_of(const Measurement& measurement) {
  const Problem& problem = measurement.problem;
  return {.workload = problem.workload,
          .binding = problem.binding,
          .in_layouts = join_layouts(problem.in_layouts),
          .out_layouts = join_layouts(problem.out_layouts),
          .target = problem.target,
          .threads = problem.threads,
          .reuse_distance_bytes = problem.reuse_distance_bytes,
          .schedule = measurement.schedule,
          .device_class = measurement.device.device_class,
          .semantics_version = measurement.semantics_version,
          .in_network = measurement.cache_mode == CacheMode::kNetwork};
}

bool is_answer(const Measurement& measurement) {
  return measurement.outcome == Outcome::kOk && measurement.median_ns().value_or(0) > 0;
}

bool takes_its_place(const Measurement& later, const Measurement& earlier) {
  if (is_answer(later)) return true;
  if (!is_failure(later.outcome)) return !is_answer(earlier) && !is_failure(earlier.outcome);
  const std::string& machine = later.device.fingerprint;
  return !is_answer(earlier) || machine.empty() || machine == earlier.device.fingerprint;
}

std::vector<const Measurement*> which_count(std::vector<const Measurement*> measurements) {
  std::ranges::stable_sort(measurements, is_before);
  std::map<Program, const Measurement*> counting;
  for (const Measurement* each : measurements) {
    const auto [known, is_new] = counting.try_emplace(program_of(*each), each);
    if (!is_new && takes_its_place(*each, *known->second)) known->second = each;
  }
  std::vector<const Measurement*> in_order;
  for (const auto& [program, measurement] : counting) in_order.push_back(measurement);
  std::ranges::stable_sort(in_order, is_before);
  return in_order;
}

std::vector<const Measurement*> which_count(std::span<const Measurement> measurements) {
  std::vector<const Measurement*> pointers;
  for (const Measurement& each : measurements) pointers.push_back(&each);
  return which_count(std::move(pointers));
}

}  // namespace tf::database
