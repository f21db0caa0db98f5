#pragma once
// A schedule's answers on this machine, and how far they are from float64.

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::test {

// What the schedule's code gives for these inputs, logical and row-major, of a workload with one output.
std::vector<double> answers(const tensor::Workload& workload, const schedule::Schedule& schedule,
                            const tensor::PortLayouts& ports, int threads, const target::Target& target,
                            const std::vector<std::vector<double>>& inputs);

// The largest |y - y64| / Σ|a||b| for random inputs in [-1, 1].
double relative_error(const tensor::Workload& workload, const schedule::Schedule& schedule,
                      const tensor::PortLayouts& ports, int threads,
                      const target::Target& target = target::host_target());

}  // namespace tf::test
