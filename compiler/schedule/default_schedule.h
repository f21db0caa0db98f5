#pragma once
// Owns: the schedule of a kernel that nobody has tuned: a heuristic choice, always legal.

#include "compiler/schedule/narrow_factors.h"
#include "compiler/schedule/numerics.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::schedule {

// The workload must be bound. Works for every workload; parallel loops only if threads > 1. Uses no numerics
// but those allowed.
Schedule default_schedule(const tensor::Workload& workload, const tensor::PortLayouts& ports,
                          const target::Target& target, int threads, const Numerics& allowed = {});

// What it is for a workload with an anchor (structure.h) whose factors are stored so: one of storages().
Schedule anchored_schedule(const tensor::Workload& workload, const tensor::PortLayouts& ports,
                           const target::Target& target, int threads, Storage storage);

}  // namespace tf::schedule
