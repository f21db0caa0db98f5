#pragma once
// Owns: the golden kernel: an artifact that never changes, made by the C compiler together with the agent, or the same sums in
// a GPU's language; and how it is run: as any candidate, in the same sandbox on the same device. Does not know: when, or what its
// times mean.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace tunefarm::farm::v1 {
class Trial;
}

namespace tf::agent {

class TrialExecutor;

// Immutable; thread-safe.
class GoldenKernel {
 public:
  // For "cpu", or a GPU as in "cuda:0".
  explicit GoldenKernel(std::string_view device = "cpu");
  ~GoldenKernel();

  // A serialized farm.v1.GoldenSample. If the kernel does not end well, which it does on every device that
  // works, cannot be run, or is ended by `end`, the sample has no time and says why.
  std::string sample(uint32_t slot, TrialExecutor& executor, const std::stop_token& end) const;

 private:
  std::string artifact_;
  std::unique_ptr<tunefarm::farm::v1::Trial> trial_;
};

}  // namespace tf::agent
