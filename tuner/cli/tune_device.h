#pragma once
// Owns: what `tuner tune` measures on: which device of this machine stands for a target, and whether it can. Does not
// know: candidates.

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/target/target.h"

namespace tf::tuner_cli {

// "cpu", or a GPU of the target's kind as in "opencl:0": the first one unless `asked` names another. INVALID_ARGUMENT
// where `asked` is no device, or one that does not run the target's code.
absl::StatusOr<std::string> device_for(const target::Target& target, const std::string& asked);

// INVALID_ARGUMENT where this machine cannot stand for the target with so many threads: another processor, too few of
// its `cpus`. Whether a GPU is there is known only once it is opened.
absl::Status check_runs_here(const target::Target& target, int threads, size_t cpus);

bool is_gpu(const target::Target& target);

// Of "opencl:1", 1; 0 of a CPU.
int gpu_number(const std::string& device);

}  // namespace tf::tuner_cli
