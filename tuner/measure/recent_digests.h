#pragma once
// Owns: digests that were in use lately, so many of them: a job that runs for days has ever new ones, and who
// asks for an old one can find out again. Does not know: what they are of.

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <string_view>

namespace tf::measure {

// Not thread-safe.
class RecentDigests {
 public:
  RecentDigests() = default;
  explicit RecentDigests(size_t most) : most_(most) {}
  RecentDigests(RecentDigests&&) = default;  // and no copy: places point into the list

  // Counts as a use.
  bool contains(const std::string& digest) {
    const auto found = places_.find(digest);
    if (found != places_.end()) uses_.splice(uses_.end(), uses_, found->second);
    return found != places_.end();
  }
  // The one that was not used for longest makes room.
  void insert(const std::string& digest) {
    if (contains(digest)) return;
    if (uses_.size() == most_) erase(std::string(uses_.front()));
    const auto place = uses_.insert(uses_.end(), digest);
    places_.emplace(*place, place);
  }
  void erase(const std::string& digest) {
    const auto found = places_.find(digest);
    if (found == places_.end()) return;
    const auto place = found->second;
    places_.erase(found);
    uses_.erase(place);
  }

 private:
  size_t most_ = 4096;
  std::list<std::string> uses_;  // the least recent first
  std::map<std::string_view, std::list<std::string>::iterator> places_;
};

}  // namespace tf::measure
