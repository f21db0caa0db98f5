#pragma once
// Owns: whether a trial is made again because its device throttled meanwhile. Does not know: how it is made.

#include <set>
#include <string>

namespace tf::session {

inline constexpr int kMaxTries = 3;  // of what could not be measured
inline constexpr char kThrottled[] = "the device throttled meanwhile";

// Not thread-safe.
class Throttling {
 public:
  // Of a trial that was tried so often before, on the device with that fingerprint: whether its time is to be
  // taken again. What throttles always, or for as long as we try, is as fast as it is.
  bool spoils(const std::string& fingerprint, bool throttled, int tries) {
    if (!throttled) steady_.insert(fingerprint);
    return throttled && steady_.contains(fingerprint) && tries + 1 < kMaxTries;
  }

 private:
  std::set<std::string> steady_;  // fingerprints: they have measured without throttling
};

}  // namespace tf::session
