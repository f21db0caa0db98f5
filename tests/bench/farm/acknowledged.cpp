#include "tests/bench/farm/acknowledged.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "database/store.h"

namespace tf::farm_load {

std::vector<int64_t> simulated_samples_ns(const std::string& lease, uint64_t sequence) {
  const auto place =
      static_cast<int64_t>(std::hash<std::string>()(absl::StrCat(lease, " ", sequence)) % 5'000'000);
  std::vector<int64_t> samples_ns;
  for (int64_t i = 0; i < 5; ++i) samples_ns.push_back(5'000'000 + place + i);
  return samples_ns;
}

void Acknowledged::add(const database::LeaseStamp& stamp) {
  const std::scoped_lock lock(mutex_);
  sequences_[{stamp.lease_id, stamp.epoch}].insert(stamp.sequence);
}

std::map<std::string, int64_t> Acknowledged::faults(database::Records& records) {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, int64_t> faults;
  const absl::Status scanned = records.scan({}, [&](const database::Measurement& m) {
    if (!m.lease) {
      ++faults["a row of no lease"];
      return absl::OkStatus();
    }
    std::vector<database::Sample> samples;
    for (const int64_t ns : simulated_samples_ns(m.lease->lease_id, m.lease->sequence))
      samples.push_back({ns, kSampleIterations});
    if (m.samples != samples) ++faults["a row with another answer than its agent's"];
    const auto lease = sequences_.find({m.lease->lease_id, m.lease->epoch});
    if (lease == sequences_.end() || lease->second.erase(m.lease->sequence) == 0)
      ++faults["a row that is there twice, or was never acknowledged"];
    return absl::OkStatus();
  });
  if (!scanned.ok()) ++faults[absl::StrCat("scan: ", std::string(scanned.message()))];
  for (const auto& [lease, left] : sequences_)
    if (!left.empty())
      faults["an acknowledged result that is not there"] += static_cast<int64_t>(left.size());
  return faults;
}

}  // namespace tf::farm_load
