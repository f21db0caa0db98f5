#pragma once
// Owns: whether a device survives what candidates do: processes that fault, that never end and are killed, and the golden kernel
// after each. Does not know: workers.

#include <string>
#include <vector>

namespace tf::gpu_test {

struct Survival {
  std::string what, how;
  bool good = false;
};

// Starts `program --child …`; in a process that has not opened a device.
std::vector<Survival> try_to_survive(const char* program);
// What such a child does: "golden", "outside", "endless". Its exit code.
int run_child(const char* what);

}  // namespace tf::gpu_test
