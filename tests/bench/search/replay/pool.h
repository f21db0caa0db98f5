#pragma once
// Owns: what is known of one task: each schedule that was ever measured, with all its samples, by replicate.
// A run proposes by first replicates, so that appending changes no proposal, and its final re-measurement
// goes by every second one after that. How fast a schedule is, the replicates between them say, which no run
// sees: nobody is judged by what he chose by. Does not know: strategies, the file.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "database/store.h"

namespace tf::replay {

// Near is what takes at most so many times the best of its pool: of the others, nobody asks which is better.
inline constexpr double kNear = 3;

// Why a candidate was measured. The value is the job that its record belongs to.
enum class Source : uint8_t {
  kRandom = 1,  // drawn at random
  kEarly,       // proposed by a strategy that learns, in the first half of its trials
  kLate,        // in the second half
  kRemembered,  // proposed by a run that starts from other pools, and by no other before
};
constexpr Source kSources[] = {Source::kRandom, Source::kEarly, Source::kLate, Source::kRemembered};
const char* source_name(Source source);

// A process of its own that ran a candidate, at a time of its own.
struct Replicate {
  // Seconds of one run, a value a sample, in the order in which they were taken. Of a hopeless candidate
  // there are fewer than of others.
  std::vector<double> samples;
  double seconds = 0;  // their median: what who made the replicate takes for its time
};

struct Entry {
  std::string schedule;
  std::string sketch_hash;
  std::vector<int64_t> choices;
  Source source = Source::kRandom;
  bool ran = false;                   // it compiled
  std::vector<Replicate> replicates;  // in the order in which they were made; none if it failed
  // The shortest sample of the second, fourth, … replicate, or of the only one: others on the machine only
  // ever add to a time. 0: it failed.
  double seconds = 0;
  std::string code_digest;
};

double shortest_sample(const Replicate& replicate);

// The replicates that runs see: the first, third, fifth, …; counted from 0, fewer than how_many_seen.
size_t how_many_seen(const Entry& entry);
const Replicate& seen_replicate(const Entry& entry, size_t index);

// The trial of a run's final re-measurement, in a round counted from 0: of the replicates that it sees, the
// next after the race's. None: it was not run so often.
std::optional<Replicate> replicate_of_round(const Entry& entry, size_t round);

class Pool {
 public:
  // Takes a record of this compiler's schedules; others change nothing. Of a schedule that is known it is one
  // replicate more, unless one of the two failed.
  void add(const database::Measurement& record);

  // Null if it was never measured. Entries stay where they are.
  const Entry* find(const std::string& schedule) const;
  const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }
  double best_seconds() const;  // 0: nothing has run yet
  int64_t count(Source source) const;

 private:
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, Entry*> by_schedule_;
};

// Errors: the database's.
absl::StatusOr<Pool> read_pool(database::Records& records, const tensor::KernelKey& problem);

// What a pool teaches runs on other tasks: of each schedule the first replicate, but for what such runs
// proposed themselves. So it is the same before they are recorded, and after. Errors: the database's.
absl::StatusOr<std::vector<database::Measurement>> lessons_of(database::Records& records,
                                                              const tensor::KernelKey& problem);

}  // namespace tf::replay
