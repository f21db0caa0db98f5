#pragma once
// Owns: the kernels that say what a machine reaches: how large they are on a target, and how they are
// computed. Does not know: devices, records.

#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "database/record.h"
#include "tuner/model/roofline/measured_rates.h"
#include "tuner/session/task.h"

namespace tf::session {

// One of them, of one thread or a whole GPU: that rate is `amount`, operations or bytes, over the time of a run.
struct CalibrationKernel {
  double model::MeasuredRates::*rate = nullptr;
  Task task;
  std::string schedule;
  double amount = 0;
};

// The peak by a product y[i,j] = Σ_t Σ_k a[k,i] b[k,j] whose operands stay in half of L1 and its sums in
// registers; what each level gives by a stream y[i] = Σ_t Σ_k x[k,i], i a few vectors in registers and x read
// from its first to its last byte: half of L2, half of the cache behind it, and many times that, at most
// 256 MiB. t are turns over the same data, so that a run is long enough to be timed. A level that is hardly
// larger than the one before has none. Those of a GPU: gpu_calibration_kernels.h.
std::vector<CalibrationKernel> calibration_kernels_of(const target::Target& target);

// Whether it is one of them, for whatever target: no kernel of a network.
bool is_calibration(const Digest& workload);
// The workloads of all calibration kernels: sizes are bindings of theirs.
std::vector<Digest> calibration_workloads();

}  // namespace tf::session
