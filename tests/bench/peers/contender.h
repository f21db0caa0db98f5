#pragma once
// Owns: what the comparison needs from anyone who computes a kernel. Does not know: any of them.

#include <functional>
#include <span>
#include <string>

namespace tf::peers {

struct Contender {
  std::string name;                                // "tunefarm", "openblas", "onednn winograd"
  std::string note;                                // for people: which code of its it chose
  double tolerance = 0;                            // c of |y - expected| <= c * Σ|a||b|
  std::function<void()> run;                       // one run on the same buffers each time
  std::function<void(std::span<float>)> read_out;  // the answer, row-major
};

}  // namespace tf::peers
