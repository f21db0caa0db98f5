#pragma once
// Owns: the texts that name a kernel in records, queries and messages. Does not know: expressions.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"

namespace tf::tensor {

// A KernelSpec (kernel_spec.h) in canonical texts, its workload by digest. What a schedule is the answer to: a
// computation under a binding, between layouts, on a target with so many threads, in a network of that size.
struct KernelKey {
  Digest workload;                       // SHA-256 of the workload's canonical text
  std::string binding;                   // canonical text, as in "N=1,H=224"; empty if nothing is unbound
  std::vector<std::string> in_layouts;   // one per input that is not constant; empty list: row-major
  std::vector<std::string> out_layouts;  // likewise
  std::string target;                    // canonical text
  uint32_t threads = 1;
  // What the network reads and writes between two runs of the kernel; 0: it runs alone.
  uint64_t reuse_distance_bytes = 0;
  bool operator==(const KernelKey&) const;
};

// Equal but for the reuse distance: a schedule of the one computes the other.
bool same_kernel(const KernelKey& a, const KernelKey& b);

// Orders reuse distances by how near they are to that one, as ratios; of two as near, the longer one first.
std::function<bool(uint64_t, uint64_t)> nearer_to(uint64_t reuse_distance_bytes);

// One text for a list of layouts, equal for equal meaning: a list of only row-major layouts is the empty
// text.
std::string join_layouts(const std::vector<std::string>& layouts);
std::vector<std::string> split_layouts(std::string_view text);

// One line, equal for equal keys: "WORKLOAD|BINDING|IN|OUT|TARGET|THREADS|REUSE".
std::string to_string(const KernelKey& key);

}  // namespace tf::tensor
