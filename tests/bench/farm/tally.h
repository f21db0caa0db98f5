#pragma once
// Owns: what a run counts, from many threads. Does not know: who counts.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tf::farm_load {

struct Tally {
  std::atomic<int64_t> connected = 0;  // agents that the tracker has greeted and that have a stream now
  std::atomic<int64_t> durable = 0;    // results that stand in the database, each once
  std::atomic<int64_t> grants = 0;
  std::atomic<int64_t> uploads = 0;  // of artifacts
  std::atomic<int64_t> fetches = 0;
  std::atomic<int64_t> errors = 0;

  // Tuners that hold a lease or ask for one. While they are no more than there are agents, whoever asks finds
  // a device that is free.
  std::atomic<int64_t> wanting = 0;

  // During a storm connections are lost; that is no error then.
  std::atomic<bool> storm = false;

  void lost_connection(const std::string& what) {
    if (!storm) error(what);
  }

  void error(const std::string& what, int64_t times = 1) {
    errors += times;
    const std::scoped_lock lock(mutex_);
    kinds_[what] += times;
  }
  std::map<std::string, int64_t> error_kinds() const {
    const std::scoped_lock lock(mutex_);
    return kinds_;
  }

  // From the insert of a result to the word that it is durable.
  void commit_took(double ms) {
    const std::scoped_lock lock(mutex_);
    commits_ms_.push_back(ms);
  }
  // Of those so far, which it forgets.
  std::vector<double> take_commits_ms() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(commits_ms_, {});
  }

  // From the request to the grant.
  struct GrantTimes {
    std::vector<double> free_ms;    // a device was free all the time
    std::vector<double> queued_ms;  // perhaps none was: the wait for another's release is in it
  };
  void grant_took(double ms, bool queued) {
    ++grants;
    const std::scoped_lock lock(mutex_);
    (queued ? grants_.queued_ms : grants_.free_ms).push_back(ms);
  }
  // Of the grants so far, which it forgets.
  GrantTimes take_grants() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(grants_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> kinds_;
  GrantTimes grants_;
  std::vector<double> commits_ms_;
};

}  // namespace tf::farm_load
