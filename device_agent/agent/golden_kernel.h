#pragma once
// Owns: the golden kernel: an artifact that never changes, made by the C compiler together with the agent,
// and how it is run: as any candidate, in the same sandbox on the same CPUs. Does not know: when, or what its
// times mean.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace tunefarm::farm::v1 {
class Trial;
}

namespace tf::agent {

class TrialExecutor;

// Immutable; thread-safe.
class GoldenKernel {
 public:
  GoldenKernel();
  ~GoldenKernel();

  // A serialized farm.v1.GoldenSample. One runs at a time, whichever slot asks. If the kernel does not end
  // well, which it does on every device that works, or cannot be run, the sample has no time and says why.
  std::string sample(uint32_t slot, TrialExecutor& executor) const;

 private:
  std::string artifact_;
  std::unique_ptr<tunefarm::farm::v1::Trial> trial_;
  mutable std::mutex running_;
};

}  // namespace tf::agent
