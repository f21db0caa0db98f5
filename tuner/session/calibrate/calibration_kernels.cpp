#include "tuner/session/calibrate/calibration_kernels.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/recipes/emit/tiling.h"
#include "compiler/schedule/schedule.h"
#include "tuner/model/roofline/rates.h"
#include "tuner/session/calibrate/gpu_calibration_kernels.h"

namespace tf::session {
namespace {

// Dimensions: turns, terms of a turn, then what one term has. No network's kernel adds up the same again.
constexpr char kProduct[] =
    "workload v1\n"
    "dim d0 in 1..16777216\ndim d1 in 1..16777216\ndim d2 in 1..64\ndim d3 in 1..1024\n"
    "input p0: f32[d1, d2]\ninput p1: f32[d1, d3]\n"
    "stage t0: f32[i0 < d2, i1 < d3] = reduce sum[r0 < d0, r1 < d1] p0[r1, i0] * p1[r1, i1]\n"
    "output t0\n";
constexpr char kStream[] =
    "workload v1\n"
    "dim d0 in 1..16777216\ndim d1 in 1..16777216\ndim d2 in 1..1024\n"
    "input p0: f32[d1, d2]\n"
    "stage t0: f32[i0 < d2] = reduce sum[r0 < d0, r1 < d1] p0[r1, i0]\n"
    "output t0\n";

constexpr int64_t kElementBytes = 4;
// Of a run at least: some 70 us of a fast core's arithmetic, 2 ms of a slow one's memory.
constexpr double kFlops = 1 << 24, kBytes = 1 << 24;
constexpr int64_t kMostBytes = 256 << 20;
constexpr int64_t kTimesShared = 16;  // of what comes from memory: the size of that cache is often a guess

tensor::Workload parsed(const char* text) {
  const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(text);
  TF_CHECK(workload.ok()) << workload.status().message();
  return *workload;
}

int64_t turns(double wanted, double of_a_turn) {
  return std::max<int64_t>(1, static_cast<int64_t>(wanted / of_a_turn));
}

// All of the output is one tile, whose sums are in registers.
std::string in_registers(std::vector<recipes::AxisTile> axes, const target::Target& target) {
  recipes::RegisterTile tile{.reduction = "t0.acc",
                             .output = "t0",
                             .vector_axis = static_cast<int>(axes.size()) - 1,
                             .lanes = target.fp32_lanes(),
                             .reduce_inner = {std::nullopt, std::nullopt},
                             .parallel = false};
  tile.axes = std::move(axes);
  schedule::Schedule schedule{{schedule::CacheWrite{"t0"}}};
  recipes::append_register_tile(tile, schedule.steps);
  return schedule::to_string(schedule);
}

CalibrationKernel product(const target::Target& target) {
  // So many sums that none waits for itself, and a column's vectors and a row's value beside them.
  const int64_t rows = target.vector.registers >= 32 ? 12 : 6;
  constexpr int64_t kVectors = 2;
  const int64_t columns = kVectors * target.fp32_lanes();
  const int64_t terms = std::max<int64_t>(8, target.caches.l1_bytes / 2 / ((rows + columns) * kElementBytes));
  const double of_a_turn = 2.0 * static_cast<double>(rows * columns * terms);
  const int64_t count = turns(kFlops, of_a_turn);
  Task task{.label = "calibration: a product in registers", .kernel = {.workload = parsed(kProduct)}};
  task.kernel.binding = {{"d0", count}, {"d1", terms}, {"d2", rows}, {"d3", columns}};
  return {&model::MeasuredRates::flops_per_s, std::move(task),
          in_registers({{.tile = rows}, {.tile = kVectors}}, target), of_a_turn * static_cast<double>(count)};
}

CalibrationKernel stream(double model::MeasuredRates::*rate, int64_t bytes, const target::Target& target) {
  constexpr int64_t kVectors = 8;  // loads wait for no sum, and 16 registers hold all sums
  const int64_t elements = kVectors * target.fp32_lanes();
  const int64_t terms = std::max<int64_t>(1, bytes / (elements * kElementBytes));
  const auto of_a_turn = static_cast<double>(terms * elements * kElementBytes);
  const int64_t count = turns(kBytes, of_a_turn);
  Task task{.label = "calibration: a stream", .kernel = {.workload = parsed(kStream)}};
  task.kernel.binding = {{"d0", count}, {"d1", terms}, {"d2", elements}};
  return {rate, std::move(task), in_registers({{.tile = kVectors}}, target),
          of_a_turn * static_cast<double>(count)};
}

}  // namespace

std::vector<CalibrationKernel> calibration_kernels_of(const target::Target& target) {
  if (target.gpu.block_threads > 0) return gpu_calibration_kernels_of(target);
  if (!target.is_hosted()) return {};
  const int64_t l1 = target.caches.l1_bytes, l2 = target.caches.l2_bytes;
  const auto shared = static_cast<int64_t>(model::shared_cache_bytes(target));
  const int64_t last = std::max({l1, l2, shared});
  std::vector<CalibrationKernel> all = {product(target)};
  if (l2 / 2 > l1) all.push_back(stream(&model::MeasuredRates::l2_bytes_per_s, l2 / 2, target));
  if (shared / 2 > l2) all.push_back(stream(&model::MeasuredRates::shared_bytes_per_s, shared / 2, target));
  all.push_back(
      stream(&model::MeasuredRates::memory_bytes_per_s, std::min(kMostBytes, kTimesShared * last), target));
  return all;
}

std::vector<Digest> calibration_workloads() {
  std::vector<Digest> all = {{tensor::workload_key(parsed(kProduct))},
                             {tensor::workload_key(parsed(kStream))}};
  for (const tensor::Workload& workload : gpu_calibration_workloads())
    all.push_back({tensor::workload_key(workload)});
  return all;
}

bool is_calibration(const Digest& workload) {
  static const std::vector<Digest> all = calibration_workloads();
  return std::ranges::find(all, workload) != all.end();
}

}  // namespace tf::session
