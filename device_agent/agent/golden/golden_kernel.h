#pragma once
// Owns: the golden kernel: an artifact that never changes, made by the C compiler together with the agent,
// and how it is run: as any candidate, in the same sandbox on the same CPUs. Does not know: when, or what its
// times mean.

#include <cstdint>
#include <memory>
#include <stop_token>
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

  // A serialized farm.v1.GoldenSample. If the kernel does not end well, which it does on every device that
  // works, cannot be run, or is ended by `end`, the sample has no time and says why.
  std::string sample(uint32_t slot, TrialExecutor& executor, const std::stop_token& end) const;

 private:
  std::string artifact_;
  std::unique_ptr<tunefarm::farm::v1::Trial> trial_;
};

}  // namespace tf::agent
