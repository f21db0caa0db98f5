#include "rpc/backoff.h"

#include <algorithm>

namespace tf::rpc {

Backoff::Backoff(uint64_t seed, BackoffOptions options)
    : options_(options), cap_(options.first), random_(seed) {}

absl::Duration Backoff::next() {
  const double low_s = absl::ToDoubleSeconds(options_.first) / 2;
  std::uniform_real_distribution<double> delay_s(low_s, absl::ToDoubleSeconds(cap_));
  const absl::Duration delay = absl::Seconds(delay_s(random_));
  cap_ = std::min(cap_ * options_.growth, options_.longest);
  return delay;
}

void Backoff::reset() {
  cap_ = options_.first;
}

uint64_t backoff_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace tf::rpc
