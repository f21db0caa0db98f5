#pragma once
// Owns: how the end of `tuner tune` reads: what a build takes for each kernel, and how the whole network
// stands beside a build without tuning. Pure. Does not know: where that comes from.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tuner/session/network/build_choices.h"
#include "tuner/session/network/network_trial.h"

namespace tf::tuner_cli {

// A row a kernel of the build, for lines of `width` characters (base/cli/text_table.h): the times of the
// untuned schedule and of the one that the build takes, their ratio, which of the two it is and why. Then
// what the words in the column "why" mean, and what the kernels add up to, which is not a measurement of the
// network.
std::string build_table(const std::vector<session::KernelChoice>& kernels, size_t width);
// The same for programs.
nlohmann::json build_json(const std::vector<session::KernelChoice>& kernels);

// "whole network: untuned 8.150 ms, tuned 7.940 ms in 24 rounds; the tuned network is faster: ratio 0.974 (95%:
// 0.961 to 0.988); builds take the fastest records", or why nothing was timed.
std::string trial_text(const session::NetworkTrial& trial);

}  // namespace tf::tuner_cli
