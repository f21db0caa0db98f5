#include "tuner/session/calibrate/gpu_calibration_kernels.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "compiler/schedule/schedule.h"

namespace tf::session {
namespace {

using schedule::Annotate;
using schedule::Annotation;

// Dimensions: turns, terms of a turn, elements, and what each has. Turns make them unlike any network's kernel.
constexpr char kGpuProduct[] =
    "workload v1\n"
    "dim d0 in 1..16777216\ndim d1 in 1..64\ndim d2 in 1..16777216\ndim d3 in 1..64\n"
    "input p0: f32[d1, d2]\ninput p1: f32[d1, d3]\n"
    "stage t0: f32[i0 < d2, i1 < d3] = reduce sum[r0 < d0, r1 < d1] p0[r1, i0] * p1[r1, i1]\n"
    "output t0\n";
constexpr char kGpuStream[] =
    "workload v1\n"
    "dim d0 in 1..16777216\ndim d1 in 1..64\ndim d2 in 1..16777216\n"
    "input p0: f32[d1, d2]\n"
    "stage t0: f32[i0 < d2] = reduce sum[r0 < d0, r1 < d1] p0[r1, i0]\n"
    "output t0\n";

constexpr int64_t kFloatBytes = 4, kThreads = 256;
constexpr int64_t kLeastGpuBytes = 32 << 20, kMostGpuBytes = 256 << 20;
constexpr int64_t kStreamTerms = 16;           // of a stream, loaded at the same time
constexpr int64_t kKnownCacheBytes = 1 << 20;  // a smaller L2 is a guess
constexpr int64_t kTurnsInCache = 8;

tensor::Workload gpu_workload(const char* text) {
  const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(text);
  TF_CHECK(workload.ok()) << workload.status().message();
  return *workload;
}

// Threads along the first axis, each with so many neighbours; sums in registers, turns outside.
std::string in_thread_registers(int64_t neighbours, bool has_columns) {
  const std::string thread = "i0.1";
  schedule::Schedule made{{schedule::CacheWrite{"t0"}}};
  std::vector<schedule::Step>& steps = made.steps;
  std::vector<schedule::Size> factors = {kThreads};
  if (neighbours > 1) factors.push_back(neighbours);
  steps.push_back(schedule::Split{"t0", "i0", std::move(factors)});
  steps.push_back(Annotate{"t0", "i0.0", Annotation::kGridX});
  steps.push_back(Annotate{"t0", thread, Annotation::kThreadX});
  steps.push_back(schedule::ComputeAt{"t0.acc", "t0", thread, tensor::Scope::kRegister});
  std::vector<std::string> order = {"r0", "r1", "i0"};
  if (has_columns) order.emplace_back("i1");
  steps.push_back(schedule::Reorder{"t0.acc", order});
  for (size_t i = 1; i < order.size(); ++i)
    steps.push_back(Annotate{"t0.acc", order[i], Annotation::kUnroll});
  if (neighbours > 1) steps.push_back(Annotate{"t0", "i0.2", Annotation::kUnroll});
  if (has_columns) steps.push_back(Annotate{"t0", "i1", Annotation::kUnroll});
  return schedule::to_string(made);
}

CalibrationKernel gpu_product() {
  constexpr int64_t kTurns = 256, kProductTerms = 4, kRows = 4, kColumns = 16, kAllThreads = 1 << 16;
  Task task{.label = "calibration: a product in registers",
            .kernel = {.workload = gpu_workload(kGpuProduct)}};
  task.kernel.binding = {
      {"d0", kTurns}, {"d1", kProductTerms}, {"d2", kAllThreads * kRows}, {"d3", kColumns}};
  return {&model::MeasuredRates::flops_per_s, std::move(task),
          in_thread_registers(kRows, /*has_columns=*/true),
          2.0 * kTurns * kProductTerms * kAllThreads * kRows * kColumns};
}

CalibrationKernel gpu_stream(double model::MeasuredRates::*rate, int64_t bytes, int64_t turns) {
  const int64_t elements =
      std::max<int64_t>(kThreads, bytes / (kStreamTerms * kFloatBytes) / kThreads * kThreads);
  Task task{.label = "calibration: a stream", .kernel = {.workload = gpu_workload(kGpuStream)}};
  task.kernel.binding = {{"d0", turns}, {"d1", kStreamTerms}, {"d2", elements}};
  return {rate, std::move(task), in_thread_registers(1, /*has_columns=*/false),
          static_cast<double>(turns * kStreamTerms * elements * kFloatBytes)};
}

}  // namespace

std::vector<CalibrationKernel> gpu_calibration_kernels_of(const target::Target& target) {
  const int64_t l2 = target.caches.l2_bytes;
  std::vector<CalibrationKernel> all = {gpu_product()};
  if (l2 > kKnownCacheBytes)
    all.push_back(gpu_stream(&model::MeasuredRates::l2_bytes_per_s, l2 / 4, kTurnsInCache));
  all.push_back(gpu_stream(&model::MeasuredRates::memory_bytes_per_s,
                           std::clamp(4 * l2, kLeastGpuBytes, kMostGpuBytes), 1));
  return all;
}

std::vector<tensor::Workload> gpu_calibration_workloads() {
  return {gpu_workload(kGpuProduct), gpu_workload(kGpuStream)};
}

}  // namespace tf::session
