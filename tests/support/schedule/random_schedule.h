#pragma once
// Seeded random schedules: every kind of step, factors that do not divide included.

#include <cstdint>

#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::test {

// A legal schedule of the bound workload of at most `steps` steps; the same seed gives the same schedule on
// every platform.
schedule::Schedule random_schedule(const tensor::Workload& workload, uint64_t seed, int steps = 24);

// Layouts of the ports: row-major or blocked, one axis or two, in any order of axes.
tensor::PortLayouts random_ports(const tensor::Workload& workload, uint64_t seed);

}  // namespace tf::test
