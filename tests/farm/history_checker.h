#pragma once
// Owns: what must be true of every history of a farm, whatever was killed, cut off or stopped in it, and the
// reading of a history from the event log that its processes wrote. Does not know: which faults there were.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tf::farm_test {

// One line of the log. What an event does not have is empty or 0.
struct Event {
  std::string kind;
  std::string process;
  int64_t pid = 0;
  int64_t at_ns = 0;
  std::string lease;
  uint64_t epoch = 0;
  uint64_t sequence = 0;
  std::string slot;
  std::string candidate;
  std::string outcome;
  std::string failpoint;
  uint64_t term_ms = 0;
  uint64_t ns = 0;
};

// A row of the database at the end.
struct StoredRow {
  std::string lease;
  uint64_t epoch = 0;
  uint64_t sequence = 0;
  std::string candidate;
};

// DATA_LOSS: a line that is no event; the log is written with one write a line, so that even a kill leaves
// none.
absl::StatusOr<std::vector<Event>> read_history(const std::string& path);

struct CheckOptions {
  // How long a message from the tracker may be under way to an agent that then believes in its lease so much
  // longer.
  absl::Duration delay = absl::Seconds(1);
  // How long an agent stood still and could end nothing.
  absl::Duration agent_stopped;
  // False: the job was given up on purpose, so that candidates may be left.
  bool job_finished = true;
};

// What is wrong with the history of one database, one sentence each; empty: nothing. The rules:
// - what was acknowledged stands in the database;
// - (lease, epoch, sequence) names one row, and one candidate;
// - a slot has one valid epoch: each is granted once and above all earlier ones, and while a lease is active
//   no other is granted, unless the tracker's state was lost in between; an agent accepts epochs in rising
//   order only;
// - the best time of a task never becomes worse;
// - every candidate that was proposed ends in a terminal state;
// - nothing outlives its lease: no reply of an ended one is relayed, no trial of an expired or superseded one
//   is started, none runs on when its lease has expired, and a slot runs one trial at a time.
std::vector<std::string> check_history(const std::vector<Event>& history, const std::vector<StoredRow>& rows,
                                       const CheckOptions& options = {});

}  // namespace tf::farm_test
