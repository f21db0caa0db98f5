#pragma once
// Owns: how long to wait before the next attempt to reconnect. Pure: neither sleeps nor reads a clock.

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace tf::rpc {

struct BackoffOptions {
  absl::Duration first = absl::Milliseconds(100);
  absl::Duration longest = absl::Seconds(5);
  double growth = 2;
};

// Exponential backoff with full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015):
// uniform in [first/2, cap], the cap growing with each failure, so that a thousand agents do not come back in
// step.
class Backoff {
 public:
  explicit Backoff(uint64_t seed, BackoffOptions options = {});
  // The delay before the next attempt; each call makes the following ones longer.
  absl::Duration next();
  // After a success.
  void reset();

 private:
  BackoffOptions options_;
  absl::Duration cap_;
  std::mt19937_64 random_;
};

// A seed that differs between processes and calls.
uint64_t backoff_seed();

}  // namespace tf::rpc
