#pragma once
// Owns: a tuner that speaks the real protocol and searches nothing: one lease after another, a set number of
// trials in each, every result made durable in a real database before it is acknowledged. Does not know: who
// measures.

#include <memory>
#include <string>

#include "rpc/connection/endpoint.h"
#include "tests/bench/farm/alarms.h"
#include "tests/bench/farm/tally.h"

namespace grpc {
class Channel;
}

namespace tf::database {
class Store;
}

namespace tf::farm_load {

class Acknowledged;
class LoadArtifacts;

struct TunerPlan {
  rpc::Endpoint tracker;
  std::string key;
  int devices = 1;  // with this key
  int trials_a_lease = 10;
  int trials_ahead = 2;  // sent before the earlier ones are answered
};

// Lives until the process ends: its streams and alarms point to it.
class SimulatedTuner {
 public:
  // The others must outlive it. Tuners may share a channel. The store knows load_workload().
  SimulatedTuner(int number, const TunerPlan& plan, std::shared_ptr<grpc::Channel> channel,
                 LoadArtifacts& artifacts, database::Store& store, Acknowledged& acknowledged, Alarms& alarms,
                 Tally& tally);
  ~SimulatedTuner();
  // Leases and measures from now on, until stop().
  void start();
  void stop();
  // Results stored so far.
  int64_t stored() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tf::farm_load
