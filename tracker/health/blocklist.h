#pragma once
// Owns: who is to blame when a candidate crashes or times out: the candidate, if it does so on two boards;
// its user, if his candidates do so on two boards and none is measured anywhere; the device, if many
// different candidates of other users do so there in a row. A device that went away says nothing of what ran
// there: the tracker cannot tell it from a line that was cut. Pure but for its clock. Does not know: what
// follows for any of them.

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "rpc/clock.h"

namespace tf::tracker {

// How a trial came to an end, as far as the blocklist goes.
enum class TrialEnd {
  kMeasured,  // the candidate ran to its end, whatever its answer and time
  kCrashed,
  kTimedOut,
  kNotMeasured,  // the device could not run it
  kOther,        // says nothing of either
};

struct TrialOutcome {
  std::string candidate;  // digest
  std::string user;       // whose trial it was; empty: not known
  TrialEnd end = TrialEnd::kOther;
  absl::Duration run_timeout;  // that the trial was given
  int signal = 0;              // that ended it
  std::string detail;          // for people
};

// What the blocklist needs to know of a trial under way, which is otherwise opaque.
struct TrialFacts {
  std::string candidate;  // digest; empty: unknown
  absl::Duration run_timeout;
  bool shown = false;  // to the agent, in a window
};

// A candidate that fails anywhere. It is told to others than those who found out: what a device was like,
// what was printed and timed there is none of their business.
struct BlockedCandidate {
  TrialEnd end = TrialEnd::kCrashed;  // or kTimedOut
  std::vector<std::string> devices;
  absl::Duration run_timeout;  // the longest that it has exceeded; meaningful for kTimedOut
  int signal = 0;              // of its last failure, as the next one
  std::string detail;          // one line
  rpc::Instant until;          // then it has another chance
};

struct BlocklistBounds {
  size_t candidates = 100'000;    // remembered; the ones not heard of for longest are forgotten first
  size_t open_failures = 10'000;  // of one device; more would change nothing
};

// Not thread-safe. O(log candidates + users with open failures on the device) an outcome, and as much for
// each of its devices when a candidate is blocked.
class Blocklist {
 public:
  // As long as a candidate stays blocked: whoever was wrong about a candidate, it is run again one day.
  static constexpr absl::Duration kBlockedFor = absl::Hours(12);

  // The clock must outlive it.
  explicit Blocklist(BlocklistBounds bounds = {}, const rpc::Clock& clock = rpc::real_clock())
      : bounds_(bounds), clock_(clock) {}

  // True: the candidate is blocked, by this outcome; its failures count against no device any more.
  bool observe(const std::string& device, const TrialOutcome& outcome);

  // Why a trial of this candidate need not be run; null: it must be.
  const BlockedCandidate* blocked_candidate(const std::string& candidate, absl::Duration run_timeout) const;
  // How many different candidates, none of them blocked, have failed here since one was measured; without
  // those of users who are at fault.
  size_t failures_in_a_row(const std::string& device) const;
  // It begins with a clean record: it was repaired, readmitted, or shown to be in order.
  void forgive(const std::string& device);
  // The candidate begins with a clean record; false: it is not known to be bad.
  bool pardon(const std::string& candidate);

  size_t candidates() const { return candidates_.size(); }

 private:
  struct Candidate {
    std::set<std::string> failed_on;  // devices, until blocked
    std::optional<BlockedCandidate> blocked_candidate;
    std::list<std::string>::iterator recency;
  };

  using Candidates = std::set<std::string>;

  Candidate& touch(const std::string& digest);
  void forget(std::map<std::string, Candidate>::iterator candidate);
  void forget_oldest();
  void block(Candidate& candidate, const TrialOutcome& outcome);
  // Notes that a candidate of the user's failed there; true: he is at fault.
  bool fails(const std::string& user, const std::string& device);
  bool is_at_fault(const std::string& user) const;
  void fails_on(const std::string& device, const std::string& user, const std::string& candidate);

  const BlocklistBounds bounds_;
  const rpc::Clock& clock_;
  std::map<std::string, Candidate> candidates_;
  std::list<std::string> by_recency_;                                       // the latest first
  std::map<std::string, std::map<std::string, Candidates>> open_failures_;  // by device and user
  // By user: on which boards his candidates failed, two at most, since one was measured anywhere.
  std::map<std::string, std::set<std::string>> failing_;
};

}  // namespace tf::tracker
