#pragma once
// Owns: whether a machine is as calm as it can be, from how long one and the same candidate takes time and
// again. Does not know: how that is measured.

#include <algorithm>
#include <vector>

namespace tf::replay {

// What others on the machine do lasts seconds and adds to every time. So the candidate is compared with the
// fourth of its times so far that are the shortest: when recording began in a loud hour, that is noticed once
// the hour is over. Not thread-safe.
class Calm {
 public:
  // Of the time when it is calm. Between processes it differs by a few percent.
  static constexpr double kMost = 1.08;

  // False: others are at work.
  bool hear(double seconds) {
    seconds_.insert(std::upper_bound(seconds_.begin(), seconds_.end(), seconds), seconds);
    return seconds <= kMost * seconds_[(seconds_.size() - 1) / 4];
  }

 private:
  std::vector<double> seconds_;  // in ascending order
};

}  // namespace tf::replay
