#pragma once
// Owns: who is to blame when a candidate crashes or times out: the candidate, if it does so on two devices;
// the device, if many different candidates do so there in a row. A device that went away says nothing of what
// ran there: the tracker cannot tell it from a line that was cut. Pure. Does not know: what follows for
// either.

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace tf::tracker {

// How a trial came to an end, as far as blame goes.
enum class TrialEnd {
  kMeasured,  // the candidate ran to its end, whatever its answer and time
  kCrashed,
  kTimedOut,
  kNotMeasured,  // the device could not run it
  kOther,        // says nothing of either
};

struct TrialOutcome {
  std::string candidate;  // digest
  TrialEnd end = TrialEnd::kOther;
  absl::Duration run_timeout;  // that the trial was given
  int signal = 0;              // that ended it
  std::string detail;          // for people
};

// A candidate that fails anywhere. It is told to others than those who found out: what a device was like,
// what was printed and timed there is none of their business.
struct Conviction {
  TrialEnd end = TrialEnd::kCrashed;  // or kTimedOut
  std::vector<std::string> devices;
  absl::Duration run_timeout;  // the longest that it has exceeded; meaningful for kTimedOut
  int signal = 0;              // of its last failure, as the next one
  std::string detail;          // one line
};

// Not thread-safe. O(log candidates) an outcome, and O(devices with open failures of the candidate) at its
// conviction.
class Blame {
 public:
  // Candidates remembered; the ones not heard of for longest are forgotten first.
  explicit Blame(size_t most_candidates = 100'000) : most_candidates_(most_candidates) {}

  struct Verdict {
    bool convicted = false;               // the candidate, by this outcome
    std::vector<std::string> exonerated;  // devices on which its failure counts no more
  };
  Verdict observe(const std::string& device, const TrialOutcome& outcome);

  // Why a trial of this candidate need not be run; null: it must be.
  const Conviction* conviction(const std::string& candidate, absl::Duration run_timeout) const;
  // How many different candidates, none of them convicted, have failed here since one was measured.
  size_t failures_in_a_row(const std::string& device) const;
  // It begins with a clean record: it was repaired, readmitted, or shown to be in order.
  void forgive(const std::string& device);

  size_t candidates() const { return candidates_.size(); }

 private:
  struct Candidate {
    std::map<std::string, TrialEnd> failed_on;  // by device, until convicted
    std::optional<Conviction> conviction;
    std::list<std::string>::iterator recency;
  };

  Candidate& touch(const std::string& digest);
  void forget_oldest();

  const size_t most_candidates_;
  std::map<std::string, Candidate> candidates_;
  std::list<std::string> by_recency_;                           // the latest first
  std::map<std::string, std::set<std::string>> open_failures_;  // by device: candidates
};

// The answer to a trial of such a candidate, a serialized farm.v1.MeasureReply: how it ended last, under the
// name of this trial, with the devices on which it failed. (blame_proto.cpp)
std::string convicted_reply(const Conviction& conviction, const std::string& candidate,
                            const std::string& lease_id, uint64_t epoch, uint64_t sequence);

}  // namespace tf::tracker
