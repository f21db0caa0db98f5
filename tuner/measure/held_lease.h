#pragma once
// Owns: the lease that a FarmRunner has, and the trials under it: which are unanswered, which answers are
// durable, which trials were lost with it. Does not know: connections, threads, when a lease ends.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "proto/farm/v1/farm.pb.h"
#include "rpc/transfer/sequence_set.h"
#include "tuner/measure/farm_runner.h"
#include "tuner/measure/silence.h"

namespace tf::measure {

struct PendingTrial {
  uint64_t sequence = 0;
  tunefarm::farm::v1::Trial trial;
  uint64_t artifact_bytes = 0;  // of its candidate and its reference
  std::optional<tunefarm::farm::v1::MeasureReply> reply;
  bool lost = false;       // with its lease
  bool made_room = false;  // and the lease ended for another's sake
};

// Not thread-safe: its runner locks.
class HeldLease {
 public:
  using Pending = std::map<uint64_t, std::shared_ptr<PendingTrial>>;  // by sequence

  explicit HeldLease(LeasedDevice first) : lease_(std::move(first)) {}

  const std::optional<LeasedDevice>& lease() const { return lease_; }
  bool is(const LeasedDevice& lease) const { return lease_ && lease_->lease_id == lease.lease_id; }
  void begin(LeasedDevice lease) { lease_ = std::move(lease); }
  // The lease is to end for another's sake: it begins no trial any more.
  void make_room() { making_room_ = true; }
  // It has ended, and what is unanswered is lost with it.
  void drop();

  bool begins_trials() const { return lease_ && !making_room_; }
  bool makes_room() const { return lease_ && making_room_; }
  const Pending& unanswered() const { return pending_; }
  // The most of each that any of them may take.
  LongestTrial longest_unanswered() const;
  // What its run() waits for; numbered after all earlier ones of the lease.
  std::shared_ptr<PendingTrial> add(const tunefarm::farm::v1::Trial& trial, uint64_t artifact_bytes = 0);
  // Nobody waits for it any more.
  void forget(uint64_t sequence) { pending_.erase(sequence); }
  // False: no unanswered trial has its sequence. A failure is durable at once: there is nothing to store. A
  // result takes this lease's and trial's names; one of another artifact becomes a failure of the device.
  bool answer(tunefarm::farm::v1::MeasureReply reply);

  // False: it is of an earlier lease.
  bool set_durable(const tunefarm::farm::v1::TrialResult& result);
  bool is_durable(uint64_t sequence) const { return durable_.contains(sequence); }

 private:
  std::optional<LeasedDevice> lease_;
  bool making_room_ = false;
  // Of the present lease.
  Pending pending_;
  rpc::SequenceSet durable_;
  uint64_t last_sequence_ = 0;
};

}  // namespace tf::measure
