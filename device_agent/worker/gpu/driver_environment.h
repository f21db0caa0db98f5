#pragma once
// Owns: the environment variables that are passed to a GPU's driver: those that select devices and libraries.
// No variable that changes the time of kernels is passed, such as CUDA_LAUNCH_BLOCKING. Does not know: what
// they mean.

#include <iterator>
#include <string_view>

namespace tf::worker {

inline constexpr std::string_view kForDriver[] = {"CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES",
                                                  "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY",
                                                  "LD_LIBRARY_PATH"};
inline constexpr int kMostForDriver = static_cast<int>(std::size(kForDriver));

inline bool is_for_driver(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  for (const std::string_view known : kForDriver)
    if (name == known) return true;
  return false;
}

// Copies the variables of `environment` that are for drivers to `out`, which has room for kMostForDriver.
// Returns their number.
inline int add_for_driver(char* const* environment, char** out) {
  int count = 0;
  for (; *environment != nullptr && count < kMostForDriver; ++environment)
    if (is_for_driver(*environment)) out[count++] = *environment;
  return count;
}

}  // namespace tf::worker
