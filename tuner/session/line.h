#pragma once
// Owns: who goes first of those that wait in a queue. Does not know: queues.

#include <algorithm>
#include <deque>
#include <utility>

namespace tf::session {

// Nobody goes before another who came first.
struct AsTheyCame {
  template <typename T>
  bool operator()(const T&, const T&) const {
    return false;
  }
};

// Takes the one that goes before all others by now, or of several such the one that came first.
template <typename Before, typename T>
T take_first(std::deque<T>& line) {
  const auto first = std::ranges::min_element(line, Before());
  T value = std::move(*first);
  line.erase(first);
  return value;
}

}  // namespace tf::session
