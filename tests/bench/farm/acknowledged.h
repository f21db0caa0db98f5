#pragma once
// Owns: which results a load was told are durable, what their agents measured, and whether a database holds
// just that. Does not know: how results travel.

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "database/record.h"

namespace tf::database {
class Records;
}

namespace tf::farm_load {

// What the simulated agent of that lease answers that trial: different for any two, so that a row that holds
// another's answer tells. A sample is of ten runs.
inline constexpr uint32_t kSampleIterations = 10;
std::vector<int64_t> simulated_samples_ns(const std::string& lease, uint64_t sequence);

// Thread-safe.
class Acknowledged {
 public:
  // The result of that stamp is durable, as the database says; said again, it still stands there once.
  void add(const database::LeaseStamp& stamp);

  // What is wrong with the rows of the database, and how often; empty: it holds each of these results once,
  // with its agent's answer, and no other. Asked once.
  std::map<std::string, int64_t> faults(database::Records& records);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, uint64_t>, std::set<uint64_t>> sequences_;  // by lease and epoch
};

}  // namespace tf::farm_load
