#include "compiler/target/cuda_arch.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"

namespace tf::target {

bool runs_on_capability(const Target& target, int capability) {
  std::string digits = target.cpu.substr(std::min<size_t>(3, target.cpu.size()));  // behind sm_
  const bool only = digits.ends_with('a'), family = digits.ends_with('f');
  if (only || family) digits.pop_back();
  int built_for = 0;
  if (target.arch != Arch::kCuda || !absl::SimpleAtoi(digits, &built_for)) return false;
  if (only) return capability == built_for;
  return capability >= built_for && (!family || capability / 10 == built_for / 10);
}

}  // namespace tf::target
