#pragma once
// Seeded random schedules of GPU kernels.

#include <cstdint>
#include <set>
#include <string>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/workload.h"

namespace tf::test {

// A legal schedule of the bound workload: a point of a recipe's sketch of which steps were left out or drawn again, and
// among which others were put, so that every kind of step stands in surroundings that no recipe gives it. It may be
// refused where it is lowered: loops of the grid inside those of a block and the like. The target's sketches decide which
// matrix instructions there are.
schedule::Schedule random_gpu_schedule(const tensor::Workload& workload, const target::Target& target,
                                       uint64_t seed);

// Which kinds of steps it has: "split", "raster" …; a raster of single rows and a pipeline of one tile do not count.
std::set<std::string> words_of(const schedule::Schedule& schedule);

}  // namespace tf::test
