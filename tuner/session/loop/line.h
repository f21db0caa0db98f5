#pragma once
// Owns: who goes first of those that wait in a queue. Does not know: queues.

#include <deque>
#include <optional>
#include <utility>

namespace tf::session {

// Nobody goes before another who came first.
struct AsTheyCame {
  template <typename T>
  bool operator()(const T&, const T&) const {
    return false;
  }
};

// Takes, of those that may go, the one that goes before all others by now, or of several such the one that
// came first; nothing if none may.
template <typename Before, typename T, typename Filter>
std::optional<T> take_first_if(std::deque<T>& line, Filter may_go) {
  auto first = line.end();
  for (auto each = line.begin(); each != line.end(); ++each)
    if (may_go(*each) && (first == line.end() || Before()(*each, *first))) first = each;
  if (first == line.end()) return std::nullopt;
  std::optional<T> value = std::move(*first);
  line.erase(first);
  return value;
}

template <typename Before, typename T>
T take_first(std::deque<T>& line) {
  return *take_first_if<Before>(line, [](const T&) { return true; });
}

}  // namespace tf::session
