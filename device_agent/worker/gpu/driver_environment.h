#pragma once
// Owns: which environment variables a GPU's driver gets to see: NVIDIA's own, and where libraries lie. Does not know: what they
// mean.

#include <initializer_list>
#include <string_view>

namespace tf::worker {

inline bool is_for_driver(std::string_view variable) {
  for (const std::string_view prefix : {"CUDA_", "LD_LIBRARY_PATH="})
    if (variable.starts_with(prefix) && !variable.starts_with("CUDA_CACHE_PATH=")) return true;
  return false;
}

// Those of `environment` that are, into `out`, at most `room`; how many.
inline int add_for_driver(char* const* environment, char** out, int room) {
  int count = 0;
  for (; *environment != nullptr && count < room; ++environment)
    if (is_for_driver(*environment)) out[count++] = *environment;
  return count;
}

}  // namespace tf::worker
