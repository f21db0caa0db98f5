#pragma once
// Owns: what is known of one task: each schedule that was ever measured, with all its samples. The first
// measurement of a schedule counts, so that appending changes no replay. Does not know: strategies, the file.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "database/store.h"

namespace tf::replay {

// Why a candidate was measured. The value is the job that its record belongs to.
enum class Source : uint8_t {
  kRandom = 1,  // drawn at random
  kEarly,       // proposed by a strategy that learns, in the first half of its trials
  kLate,        // in the second half
};
constexpr Source kSources[] = {Source::kRandom, Source::kEarly, Source::kLate};
const char* source_name(Source source);

struct Entry {
  std::string schedule;
  std::string sketch_hash;
  std::vector<int64_t> slot_values;
  Source source = Source::kRandom;
  bool ran = false;  // it compiled
  // Seconds of one run, a value a sample, in the order in which they were taken; none if it failed. A
  // hopeless candidate has fewer than the others.
  std::vector<double> samples;
  double seconds = 0;  // their median; 0: it failed
  std::string code_digest;
};

class Pool {
 public:
  // Takes a record of this compiler's schedules; others, and schedules that are known, change nothing.
  void add(const database::Measurement& record);

  // Null if it was never measured. Entries stay where they are.
  const Entry* find(const std::string& schedule) const;
  const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }
  double best_seconds() const { return best_seconds_; }  // 0: nothing has run yet
  int64_t count(Source source) const;

 private:
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, const Entry*> by_schedule_;
  double best_seconds_ = 0;
};

// Errors: the database's.
absl::StatusOr<Pool> read_pool(database::Records& records, const database::Problem& problem);

}  // namespace tf::replay
