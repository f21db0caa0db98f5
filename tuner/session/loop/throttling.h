#pragma once
// Owns: whether a trial is made again because its device throttled meanwhile. Does not know: how it is made.

#include <set>
#include <string>

#include "tuner/session/loop/pipeline.h"

namespace tf::session {

inline constexpr char kThrottled[] = "the device throttled during the trial";

// Not thread-safe.
class Throttling {
 public:
  // Whether its time is to be taken again. What failed has none: it counts however hot the device was. What
  // throttles always, or for as long as we try, is as fast as it is: so are the next ones on that kind
  // of machine, until one has measured without throttling.
  bool spoils(const Finished& finished);

 private:
  std::set<std::string> steady_;  // fingerprints: they measure without throttling
};

}  // namespace tf::session
