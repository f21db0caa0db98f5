#pragma once
// Owns: a cache of expected answers, and the comparison of a candidate's answers with them. Works on plain
// bytes that a child wrote. Does not know: processes, timing.

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker {

// One tensor in row-major order.
struct Tensor {
  int32_t element = 0;  // TF_ELEMENT_*
  std::vector<int64_t> extents;
  std::string bytes;
};

struct Expected {
  sandbox::Job job;  // of the reference: a candidate must have the same ports
  std::vector<Tensor> outputs;
  std::vector<Tensor> magnitudes;  // sum |a||b| of each output
  uint64_t size_bytes() const;
};

// The outputs that a child wrote to `memory`, unpacked: of its checked run, or (`last`) of the run after its
// timed runs.
std::vector<Tensor> read_outputs(const sandbox::Job& job, const uint8_t* memory, bool last);

// True if an element still has the poison pattern of floating-point outputs (sandbox/inputs.h).
bool is_poisoned(const Tensor& tensor);

// FAILED_PRECONDITION if a finite answer has a magnitude that is not finite: every candidate would be correct
// there.
absl::Status check_magnitudes(const Expected& expected);

struct Verdict {
  bool right = true;
  double max_error = 0;  // max |y - ref| / magnitude over elements with a magnitude
  std::string detail;    // the first wrong element and how many there are
};

// `expected` must have passed check_magnitudes. Floating point: |y - ref| <= tolerance * magnitude, plus
// 1e-10 for answers close to zero; NaN and infinities must match the reference. Integers: equal. `names` are
// the names of the outputs, for the detail.
Verdict compare(const std::vector<Tensor>& outputs, const Expected& expected, double tolerance,
                const std::vector<std::string>& names);

// Expected answers by (reference digest, seed). Evicts the least recently used ones when they exceed the
// limit. Not thread-safe.
class AnswerCache {
 public:
  explicit AnswerCache(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  // Null if it is not cached.
  std::shared_ptr<const Expected> find(std::string_view digest, uint64_t seed);
  bool contains(std::string_view digest, uint64_t seed) const;
  // Always keeps the newest, even if it alone is above the limit.
  void insert(std::string_view digest, uint64_t seed, std::shared_ptr<const Expected> expected);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Expected> expected;
  };
  uint64_t limit_bytes_;
  uint64_t used_bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace tf::worker
