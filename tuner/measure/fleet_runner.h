#pragma once
// Owns: a Runner over several leased slots: acquires them one after another up to a target, gives them back
// when the target falls, sends each trial to a slot that is free, and repeats elsewhere what a lost slot was
// measuring. Does not know: how a lease is acquired, who sets the target, search.

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tuner/measure/leased_runner.h"

namespace tf::measure {

// Which slots a fleet is to have.
struct FleetTarget {
  size_t slots = 1;                 // how many; 0: none, for now
  std::set<std::string> give_back;  // of those that it has: "DEVICE/SLOT", released even below that number
  bool operator==(const FleetTarget&) const = default;
};

struct FleetOptions {
  // Acquires one more lease, waiting for at most so long; errors as FarmRunner::connect. Called by one thread
  // at a time. What the runner waits for later on it says through `on_wait`, as FarmRunnerOptions::on_wait.
  std::function<absl::StatusOr<std::unique_ptr<LeasedRunner>>(
      absl::Duration wait, const std::function<void(const std::string&)>& on_wait)>
      open;
  absl::Duration first_wait = absl::Seconds(10);  // for the first slot, in connect()
  FleetTarget target;
  absl::Duration away_grace = absl::Seconds(10);  // of a slot whose device is away while others measure
  // Called with what all trials wait for, once it has changed; empty: some slot measures.
  std::function<void(const std::string&)> on_wait = nullptr;
  // Called with the slots that measure, once they have changed. Neither is called by two threads at once.
  std::function<void(const std::vector<LeasedDevice>&)> on_slots = nullptr;
};

// Thread-safe. All slots belong to devices of one kind, by their fingerprint: that of the first slot. Leases
// on other kinds are given back once one of this kind is found, or no other device is free.
//
// A slot leaves the fleet when its lease ends, when its device stays away for `away_grace` while others
// measure, or when the target says so. One that only misses the tracker keeps its lease. Trials of a slot
// that leaves are repeated on other slots; a trial under which three leases end against their holder's will
// is given up as UNAVAILABLE: it may be the reason. A slot that is given back first finishes what it measures
// and waits until its results are acknowledged, because the next holder's results fence off those of this
// lease; it waits for kMostRetiring at most.
//
// slots() is the number of those that measure now: 0 while all are lost. device(), peak_gflops() and gpu_units() are of the first slot.
// run() waits while there is no slot; trials of one `MeasureRequest::bench` go to one slot as long as that is there. The
// destructor releases all.
class FleetRunner : public Runner {
 public:
  static constexpr absl::Duration kMostRetiring = absl::Seconds(60);

  // Acquires the first slot; errors as FarmRunner::connect.
  static absl::StatusOr<std::unique_ptr<FleetRunner>> connect(FleetOptions options);

  virtual void set_target(FleetTarget target) = 0;
};

}  // namespace tf::measure
