#pragma once
// How far a schedule's answers, on this machine, are from float64.

#include "compiler/schedule/ports.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/workload.h"

namespace tf::testing {

// The largest |y - y64| / Σ|a||b| for random inputs in [-1, 1]. All inputs and the output are f32.
double relative_error(const tensor::Workload& workload, const schedule::Schedule& schedule,
                      const schedule::PortLayouts& ports, int threads,
                      const target::Target& target = target::host_target());

}  // namespace tf::testing
