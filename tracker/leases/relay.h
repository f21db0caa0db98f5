#pragma once
// Owns: the trials of one lease on their way: unanswered, answered but not acknowledged, acknowledged. A pure
// state machine; trials and replies are opaque bytes. Does not know: who carries them.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rpc/transfer/flow_limits.h"
#include "rpc/transfer/sequence_set.h"

namespace tf::tracker {

struct QueuedTrial {
  uint64_t sequence = 0;
  std::string trial;  // serialized farm.v1.Trial
};

// Not thread-safe. Every operation may be repeated and may come late: only the first counts.
class Relay {
 public:
  explicit Relay(const rpc::FlowLimits& limits = {}) : limits_(limits) {}

  // From the holder. False if the sequence is known already.
  bool submit(uint64_t sequence, std::string trial);
  // From the agent: a serialized farm.v1.MeasureReply. False if it was answered before; then it is
  // acknowledged again if it was acknowledged. False also if it is beyond what the window's trials can make:
  // the agent sends it again in its next session.
  bool answer(uint64_t sequence, std::string reply);
  // From the holder: durable there. What is not known here is left, and so is what is too much for an agent
  // that takes none: whoever sends that reply again hears it then.
  void acknowledge(uint64_t sequence);
  // False: the holder leaves out so many sequences that what it has acknowledged cannot be remembered.
  bool is_in_order() const { return done_.runs() <= kMostRuns; }
  // A holder that gives each trial the next number has few but those between which something is on its way,
  // of which there is no more than FlowLimits say.
  static constexpr size_t kMostRuns = 4096;

  // The holder has a new stream: all that is unacknowledged is to be sent on it.
  void rewind_replies();
  // Replies not yet sent on the holder's stream, in order of sequence.
  std::vector<std::string> take_replies();
  // The first unanswered trials, of a limited size; none while the answers are at their limit.
  std::vector<QueuedTrial> window(size_t count) const;
  // Whether a window of so many may lack some of the unanswered trials.
  bool is_beyond_window(size_t count) const {
    return queue_.size() > count || queue_bytes_ > rpc::kWindowBytes;
  }
  // False: read no more trials from the holder until this changes.
  bool takes_trials() const { return queue_.size() < limits_.trials && queue_bytes_ < limits_.trial_bytes; }
  // False: the holder must acknowledge before the device is given more.
  bool takes_replies() const {
    return replies_.size() < limits_.replies && reply_bytes_ < limits_.reply_bytes;
  }
  // Acknowledgements to be passed on to the agent, in order, each once.
  std::vector<uint64_t> take_acknowledged();
  static constexpr size_t kMostAcknowledged = 1024;

  size_t unanswered() const { return queue_.size(); }
  size_t unacknowledged() const { return replies_.size(); }
  uint64_t answered() const { return answered_; }
  // Held here, of trials and of replies.
  uint64_t bytes() const { return queue_bytes_ + reply_bytes_; }

 private:
  void drop_trial(uint64_t sequence);
  void tell_agent(uint64_t sequence);

  rpc::FlowLimits limits_;
  uint64_t queue_bytes_ = 0;
  uint64_t reply_bytes_ = 0;
  std::map<uint64_t, std::string> queue_;
  std::map<uint64_t, std::string> replies_;
  std::set<uint64_t> unsent_;  // subset of replies_
  rpc::SequenceSet done_;      // acknowledged
  std::set<uint64_t> to_agent_;
  uint64_t answered_ = 0;
};

}  // namespace tf::tracker
