#include "tuner/web/http/rate_limit.h"

#include <algorithm>

#include "absl/time/time.h"

namespace tf::web {

RateLimit::Bucket& RateLimit::filled(const std::string& caller) {
  const rpc::Instant now = clock_.now();
  if (buckets_.size() >= options_.most_callers && !buckets_.contains(caller)) forget_full(now);
  Bucket& bucket = buckets_.try_emplace(caller, Bucket{.tokens = options_.burst, .at = now}).first->second;
  const double tokens = bucket.tokens + absl::ToDoubleSeconds(now - bucket.at) * options_.per_s;
  bucket = {.tokens = std::min(tokens, options_.burst), .at = now};
  return bucket;
}

absl::Duration RateLimit::wait_of(const Bucket& bucket) const {
  return bucket.tokens >= 1 ? absl::ZeroDuration() : absl::Seconds((1 - bucket.tokens) / options_.per_s);
}

absl::Duration RateLimit::take(const std::string& caller) {
  const std::scoped_lock lock(mutex_);
  Bucket& bucket = filled(caller);
  const absl::Duration wait = wait_of(bucket);
  if (wait == absl::ZeroDuration()) bucket.tokens -= 1;
  return wait;
}

// Whoever is not known has a full bucket. Where nobody's is full, all are forgotten: so many callers at once are an attack
// from many addresses, and the connections have their own bound.
void RateLimit::forget_full(rpc::Instant now) {
  std::erase_if(buckets_, [&](const auto& each) {
    return each.second.tokens + absl::ToDoubleSeconds(now - each.second.at) * options_.per_s >=
           options_.burst;
  });
  if (buckets_.size() >= options_.most_callers) buckets_.clear();
}

}  // namespace tf::web
