#pragma once
// Owns: how often a caller may call: a bucket of tokens each, which fills at a constant rate. Does not know:
// who callers are.

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "rpc/clock.h"

namespace tf::web {

struct RateOptions {
  double per_s = 100;
  double burst = 400;
  size_t most_callers = 4096;
};

// Thread-safe.
class RateLimit {
 public:
  explicit RateLimit(RateOptions options, const rpc::Clock& clock = rpc::real_clock())
      : options_(options), clock_(clock) {}

  // Zero: the caller may call now. Else how long it has to wait.
  absl::Duration take(const std::string& caller);

 private:
  struct Bucket {
    double tokens = 0;
    rpc::Instant at;
  };
  Bucket& filled(const std::string& caller);  // mutex_ is held
  absl::Duration wait_of(const Bucket& bucket) const;
  void forget_full(rpc::Instant now);  // mutex_ is held

  const RateOptions options_;
  const rpc::Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace tf::web
